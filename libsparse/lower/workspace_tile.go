package lower

import (
	"cmp"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// tile is a scalar, or an array whose size is known at compile time: the C compiler keeps it in registers.
type tile struct{ tensor *index.Tensor }

// array is allocated once and cleared before each use.
type array struct {
	tensor *index.Tensor
	vals   *ir.Array
}

func newArray(l *lowerer, t *index.Tensor, e env) workspace {
	if e.phase == counting {
		return array{tensor: t}
	}
	w := array{t, l.Array(t.Name, t.Elem)}
	e.region.local(w.vals, ir.AtLeastOne(l.elements(t)), false)
	return w
}

func (w array) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	return sums{vals: w.vals}.fill(l, s, e, func(start ir.Expr) []ir.Stmt { return []ir.Stmt{l.clear(w.vals, l.elements(w.tensor), start)} })
}

func (w tile) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	t := w.tensor
	switch {
	case e.phase == counting:
		return sums{}.fill(l, s, e, nil)
	case t.Order() == 0:
		u := sums{scalar: l.Scalar(t.Name, t.Elem)}
		return u.fill(l, s, e, func(start ir.Expr) []ir.Stmt { return []ir.Stmt{ir.Declare(u.scalar, start)} })
	}
	u := sums{vals: l.Array(t.Name, t.Elem)}
	return u.fill(l, s, e, func(start ir.Expr) []ir.Stmt {
		size := int64(1)
		for level, of := range cin.Written(s.Producer).Vars {
			extent, ok := (&view{}).storage(l, of, level, e).Extent.(*ir.Int)
			if !ok {
				panic("BUG: tile " + t.Name + " has no constant size")
			}
			size *= extent.Value
		}
		return []ir.Stmt{&ir.Alloc{Array: u.vals, Size: ir.Const(size)}, l.clear(u.vals, ir.Const(size), start)}
	})
}

// sums is one use of a tile or an array. It is a scalar or has vals; set is nil unless it decides whether there is a result.
type sums struct {
	vals        *ir.Array
	scalar, set *ir.Var
}

// fill sets the elements to the identity of the reduction and runs the producer.
func (u sums) fill(l *lowerer, s *cin.Where, e env, clear func(start ir.Expr) []ir.Stmt) (v *view, before, done []ir.Stmt) {
	t := cin.Written(s.Producer).Tensor
	v = &view{element: u.element}
	if l.decides(s, e) {
		u.set = l.Scalar(t.Name+"_set", dtype.Bool)
		v.set = u.set
		before = append(before, ir.Declare(u.set, ir.Bool(false)))
	}
	if e.phase == computing {
		before = append(before, clear(l.startOf(s))...)
	}
	e.views = e.views.with(t, v)
	return v, append(before, l.produce(s, u, e)...), nil
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

func (l *lowerer) clear(vals *ir.Array, size, start ir.Expr) ir.Stmt {
	q := l.Index("q")
	loop := ir.Count(q, size, &ir.Store{Array: vals, Index: q, Value: start})
	loop.Kind = ir.Simd
	return loop
}

func (u sums) element(l *lowerer, a *index.Access, e env) ir.Expr {
	if u.scalar != nil {
		return u.scalar
	}
	return byPosition(u.vals)(l, a, e)
}

func (u sums) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	var out []ir.Stmt
	if u.set != nil {
		out = append(out, ir.Set(u.set, ir.Bool(true)))
	}
	if e.phase == counting {
		return out
	}
	t := a.LHS.Tensor.Elem
	value, op := l.value(a.RHS, t, e), scalarOp(a.Reduce, t)
	if u.scalar != nil {
		return append(out, &ir.Assign{Var: u.scalar, Reduce: op, Value: value})
	}
	return append(out, &ir.Store{Array: u.vals, Index: l.elementAt(a.LHS, e), Reduce: op, Value: value})
}
