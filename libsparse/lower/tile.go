package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// A Tile is a scalar, or an array whose size is known at compile time: the C compiler keeps it in registers.

func (w *workspace) beginTile(l *lowerer, s *cin.Where, e env) []ir.Stmt {
	w.scalar, w.set, w.vals = nil, nil, nil
	t := w.tensor
	var out []ir.Stmt
	if l.result.appends() && !l.result.denseTail() && t.Order() == 0 {
		w.set = &ir.Var{Name: l.names.fresh(t.Name + "_set"), T: ir.Scalar(dtype.Bool)}
		out = append(out, declare(w.set, &ir.Int{T: dtype.Bool}))
	}
	if l.phase == counting {
		return out
	}
	start := zero(t.Elem)
	if op := reduction(s.Producer); op != "" {
		start = identity(op, t.Elem)
	}
	if t.Order() == 0 {
		w.scalar = &ir.Var{Name: l.names.fresh(t.Name), T: ir.Scalar(t.Elem)}
		return append(out, declare(w.scalar, start))
	}
	w.vals = w.array(l, "", t.Elem)
	size := w.size(l, cin.Written(s.Producer).Vars, e)
	k := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}
	return append(out,
		&ir.Alloc{Array: w.vals, Size: size},
		&ir.For{
			Var: k, Lo: integer(0), Hi: size, Step: 1, Kind: ir.Simd,
			Body: block(&ir.Store{Array: w.vals, Index: k, Value: start}),
		})
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
	return integer(n)
}

func (w *workspace) writeTile(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	var out []ir.Stmt
	if w.set != nil {
		out = append(out, set(w.set, &ir.Int{Value: 1, T: dtype.Bool}))
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
