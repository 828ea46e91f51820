package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Loops that only bound how many entries a row may have: the innermost ones are not run, but add up the lengths of the segments that they
// would walk.

// terms is a workspace of a row while entries are bounded: it counts what would be written to it.
type terms struct{ count *ir.Var }

func (t terms) write(*lowerer, *cin.Assign, env) []ir.Stmt { return []ir.Stmt{ir.Increment(t.count)} }

// flat reports whether s, the body of a loop, writes one entry at most.
func flat(l *lowerer, s cin.Stmt) bool {
	switch s := s.(type) {
	case *cin.Assign:
		return true
	case *cin.Where:
		return workspaces[l.program.Workspaces[cin.Written(s.Producer).Tensor]].dense && flat(l, s.Consumer)
	default:
		return false
	}
}

// boundLoop adds the number of coordinates that f visits at most to the count of what it writes. A coordinate that is visited is stored by
// every level that all points of the lattice walk, else by one of the levels.
func (l *lowerer) boundLoop(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	var count *ir.Var
	var measured *usedPlaces
	switch w := e.writers.get(cin.Written(f.Body).Tensor).(type) {
	case terms:
		count = w.count
	case reach:
		count, measured = w.count, w.used
	default:
		count = e.cursor.get(newPattern(l).groups[0].First)
	}
	length := func(n ir.Expr) ir.Expr { return n }
	if _, part := e.span.lookup(f.Var); part { // the last parts may begin behind the end
		length = func(n ir.Expr) ir.Expr { return ir.Max(ir.Const(0), n) }
	}
	if lat.Full() {
		if measured != nil {
			measured.all = true
		}
		return []ir.Stmt{ir.Increase(count, length(l.window(f.Var, e).count))}
	}
	var out []ir.Stmt
	var all, shared []ir.Expr
	for _, it := range lat.Iterators() {
		before, r := l.narrowed(it, f.Var, e)
		n := length(ir.Sub(r.Hi, r.Lo))
		out, all = append(out, before...), append(all, n)
		if measured != nil {
			out = append(out, l.reaches(measured, f, it, r, e)...)
		}
		if !slices.ContainsFunc(lat.Points, func(p lattice.Point) bool { return !p.Has(it.Key) }) {
			shared = append(shared, n)
		}
	}
	if shared != nil {
		return append(out, ir.Increase(count, fold(dtype.Min, shared)))
	}
	return append(out, ir.Increase(count, fold(dtype.Add, all)))
}

// fold combines expressions by an operator.
func fold(op dtype.Op, xs []ir.Expr) ir.Expr {
	out := xs[0]
	for _, x := range xs[1:] {
		out = ir.Apply(op, out, x)
	}
	return out
}

// boundWhere bounds the entries that the consumer of s writes. A workspace that lists elements has as many as it gets terms, and no more than places.
func (l *lowerer) boundWhere(s *cin.Where, e env) []ir.Stmt {
	t := cin.Written(s.Producer).Tensor
	if workspaces[l.program.Workspaces[t]].dense {
		return l.stmt(s.Consumer, e)
	}
	w, inner := terms{l.Index(t.Name + "_terms")}, e
	inner.writers = e.writers.with(t, writer(w))
	out := append([]ir.Stmt{ir.Declare(w.count, ir.Const(0))}, l.stmt(s.Producer, inner)...)
	out = append(out, ir.Set(w.count, ir.Min(w.count, l.elements(t))))
	e.views = e.views.with(t, &view{crd: make([]*ir.Array, 1), entries: listed(w.count)})
	return append(out, l.stmt(s.Consumer, e)...)
}
