package lower

import (
	"cmp"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// An Array is made once and cleared before each use.

func (w *workspace) makeArray(l *lowerer) {
	if l.phase == counting {
		return
	}
	w.vals = w.array(l, "", w.tensor.Elem)
	w.scope.allocs = append(w.scope.allocs, ir.NewArray(w.vals, ir.AtLeastOne(w.room(l))))
	w.scope.frees = append(w.scope.frees, &ir.Free{Array: w.vals})
}

// room is the number of elements of an Array.
func (w *workspace) room(l *lowerer) ir.Expr {
	n := ir.Expr(ir.Const(1))
	for _, v := range l.held(w.tensor) {
		n = ir.Mul(n, l.count(v))
	}
	return n
}

func (w *workspace) clear(l *lowerer, start ir.Expr) ir.Stmt {
	q := l.Index("q")
	body := ir.Do(&ir.Store{Array: w.vals, Index: q, Value: start})
	return &ir.For{Var: q, Lo: ir.Const(0), Hi: w.room(l), Step: 1, Kind: ir.Simd, Body: body}
}

// A Tile is a scalar, or an array whose size is known at compile time: the C compiler keeps it in registers.

func (w *workspace) beginTile(l *lowerer, s *cin.Where, e env) []ir.Stmt {
	t := w.tensor
	w.scalar, w.set = nil, nil
	if w.storage == cin.Tile {
		w.vals = nil
	}
	var out []ir.Stmt
	if l.entry(s) {
		w.set = l.Scalar(t.Name+"_set", dtype.Bool)
		out = append(out, ir.Declare(w.set, ir.Bool(false)))
	}
	if l.phase == counting {
		return out
	}
	op := cmp.Or(reduction(s.Producer), reduction(s.Consumer), handedOn(s.Producer))
	if a, ok := cin.Value(s.Consumer).(*index.Access); ok && a.Tensor == t {
		op = l.program.Source.Reduce // copied to what is reduced elsewhere, or to what has this fill value
	}
	start := zero(t.Elem)
	if op != "" {
		start = identity(op, t.Elem)
	}
	if w.storage == cin.Array {
		return append(out, w.clear(l, start))
	}
	if t.Order() == 0 {
		w.scalar = l.Scalar(t.Name, t.Elem)
		return append(out, ir.Declare(w.scalar, start))
	}
	w.vals = w.array(l, "", t.Elem)
	size := w.size(l, cin.Written(s.Producer).Vars, e)
	k := l.Index("q")
	return append(out,
		&ir.Alloc{Array: w.vals, Size: size},
		&ir.For{
			Var: k, Lo: ir.Const(0), Hi: size, Step: 1, Kind: ir.Simd,
			Body: ir.Do(&ir.Store{Array: w.vals, Index: k, Value: start}),
		})
}

// entry reports whether s fills one entry of the result, which exists only if a term does.
func (l *lowerer) entry(s *cin.Where) bool {
	if !l.result.appends() && (len(l.masks()) == 0 || l.phase == counting) {
		return false
	}
	w := cin.Written(s.Producer)
	if w.Tensor.Order() == 0 && !l.result.denseTail() {
		return true
	}
	alike := !l.result.appends() && !slices.ContainsFunc(w.Vars, func(v index.Var) bool {
		return slices.ContainsFunc(l.program.Roots(v), func(root index.Var) bool { return index.Varies(cin.Value(s.Producer), root) })
	})
	return (alike || l.inTail(w.Vars)) && l.whole(s.Producer, w.Vars) && !l.certain(s.Producer) && !divided(s.Producer)
}

func (w *workspace) size(l *lowerer, vars []index.Var, e env) ir.Expr {
	n := int64(1)
	for level, v := range vars {
		extent, ok := w.storageOf(l, v, level, e).Extent.(*ir.Int)
		if !ok {
			panic("BUG: tile " + w.tensor.Name + " has no constant size")
		}
		n *= extent.Value
	}
	return ir.Const(n)
}

func (w *workspace) writeTile(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	var out []ir.Stmt
	if w.set != nil {
		out = append(out, ir.Set(w.set, ir.Bool(true)))
	}
	if l.phase == counting {
		return out
	}
	value, op := l.value(a.RHS, w.tensor.Elem, e), scalarOp(a.Reduce, w.tensor.Elem)
	if w.scalar != nil {
		return append(out, &ir.Assign{Var: w.scalar, Reduce: op, Value: value})
	}
	at := l.position(a.LHS, w.tensor.Order()-1, e).Lo
	return append(out, &ir.Store{Array: w.vals, Index: at, Reduce: op, Value: value})
}
