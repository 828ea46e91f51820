package lower

import (
	"cmp"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// sums is a workspace with a place for each element. An array is allocated once, and cleared before each use that doesn't write it all. A tile is declared
// by each use: it is a scalar, or an array whose size is known at compile time, and the C compiler keeps it in registers.
type sums struct {
	tensor *index.Tensor
	tile   bool
	// A tile of order zero is a scalar, anything else has vals; there is neither where entries are counted.
	vals   *ir.Array
	scalar *ir.Var
	// set is nil unless it decides whether there is a result.
	set *ir.Var
}

func newTile(_ *lowerer, t *index.Tensor, _ env) workspace { return sums{tensor: t, tile: true} }

func newArray(l *lowerer, t *index.Tensor, e env) workspace {
	w := sums{tensor: t}
	if e.phase != counting {
		w.vals = l.Array(t.Name, t.Elem)
		e.region.local(w.vals, ir.AtLeastOne(l.elements(t)), false)
	}
	return w
}

func (w sums) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	if l.decides(s, e) {
		w.set = l.Scalar(w.tensor.Name+"_set", dtype.Bool)
		before = append(before, ir.Declare(w.set, ir.Bool(false)))
	}
	if e.phase != counting {
		before = append(before, w.start(l, s, e)...)
	}
	v = &view{element: w.element, set: w.set}
	e.views = e.views.with(w.tensor, v)
	return v, append(before, l.produce(s, w, e)...), nil
}

// start declares a tile, and sets all elements to the identity of the reduction.
func (w *sums) start(l *lowerer, s *cin.Where, e env) (out []ir.Stmt) {
	t, value := w.tensor, l.startOf(s)
	if w.tile && l.format(t).Order() == 0 {
		w.scalar = l.Scalar(t.Name, t.Elem)
		return []ir.Stmt{ir.Declare(w.scalar, value)}
	}
	size := l.elements(t)
	if w.tile {
		size = ir.Const(1)
		for level, of := range cin.Written(s.Producer).Vars {
			size = ir.Mul(size, (&view{}).storage(l, of, level, e).Extent)
		}
		size, w.vals = ir.SimplifyExpr(size), l.Array(t.Name, t.Elem)
		out = append(out, &ir.Alloc{Array: w.vals, Size: size})
	}
	if !w.tile && l.overwrites(s.Producer) {
		return out
	}
	q := l.Index("q")
	loop := ir.Count(q, size, &ir.Store{Array: w.vals, Index: q, Value: value})
	loop.Kind = ir.Simd
	return append(out, loop)
}

// overwrites reports whether a statement copies a dense operand to every element of a workspace: one loop for each of its variables visits
// all coordinates, or all of a strip where strips are whole.
func (l *lowerer) overwrites(s cin.Stmt) bool {
	var copied []index.Var
	for f, ok := s.(*cin.Forall); ok; f, ok = s.(*cin.Forall) {
		if !l.lattices.Loop(f).Dense() {
			return false
		}
		copied, s = append(copied, l.program.Original(f.Var)), f.Body
	}
	a, ok := s.(*cin.Assign)
	if !ok || a.Reduce != "" || len(copied) != len(a.LHS.Vars) {
		return false
	}
	read, ok := a.RHS.(*index.Access)
	if !ok || read.Windowed() || !slices.Contains(l.program.Source.Tensors(), read.Tensor) || !l.format(read.Tensor).Dense() {
		return false
	}
	return !slices.ContainsFunc(copied, func(v index.Var) bool { return !slices.Contains(a.LHS.Vars, v) || !l.whole(v) })
}

// whole reports whether loops over v visit as many coordinates wherever they stand: all, or those of a strip of an extent that is a multiple,
// or whose last strips are shifted inwards.
func (l *lowerer) whole(v index.Var) bool {
	switch r := l.program.Derivation(v).(type) {
	case nil:
		return true
	case *cin.Split:
		if r.Tail > 0 { // strips of one loop are equally long, and those of the tail, whose workspace is as narrow, too
			return v == r.Inner && l.program.Derivation(r.Parent) == nil
		}
		n, known := l.extent(r.Parent).(*ir.Int)
		return known && v == r.Inner && r.Factor > 0 && n.Value%r.Factor == 0 && l.program.Derivation(r.Parent) == nil
	default:
		return false
	}
}

// startOf is the value that the sums of s start with.
func (l *lowerer) startOf(s *cin.Where) ir.Expr {
	t := cin.Written(s.Producer).Tensor
	op := cmp.Or(reduction(s.Producer), reduction(s.Consumer), handedOn(s.Producer))
	if a, ok := cin.Value(s.Consumer).(*index.Access); ok && a.Tensor == t {
		op = l.program.Source.Reduce // copied to what is reduced elsewhere, or to what has this fill value
	}
	return identity(op, t.Elem)
}

func (w sums) element(l *lowerer, a *index.Access, e env) ir.Expr {
	if w.scalar != nil {
		return w.scalar
	}
	return byPosition(w.vals)(l, a, e)
}

func (w sums) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	var out []ir.Stmt
	if w.set != nil {
		out = append(out, ir.Set(w.set, ir.Bool(true)))
	}
	if e.phase == counting {
		return out
	}
	t := a.LHS.Tensor.Elem
	value, op := l.value(a.RHS, t, e), scalarOp(a.Reduce, t)
	if w.scalar != nil {
		return append(out, &ir.Assign{Var: w.scalar, Reduce: op, Value: value})
	}
	return append(out, ir.Update(w.vals, l.elementAt(a.LHS, e), op, value))
}
