package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// overlaid lowers a loop over all coordinates, of which operands store some, into two: the first writes to every element of a dense result what
// it is where nothing is stored, in lanes, and the second writes over that where something is. One loop would compare each coordinate with the next
// one that is stored, which takes ten times as long as copying an element. ok is false where an element may not be written twice.
func (l *lowerer) overlaid(f *cin.Forall, lat lattice.Lattice, e env) (stmts []ir.Stmt, ok bool) {
	last := len(lat.Points) - 1
	unwritten := func(p lattice.Point) bool { return len(p.Located) > 0 || l.restrict(f, p, e) == nil } // some of its coordinates, or all
	if !l.writesOnce(f, e) || len(lat.Points[last].Iterators) > 0 || slices.ContainsFunc(lat.Points, unwritten) {
		return nil, false
	}
	all := l.dense(f, lat.Points[last], e, ir.Simd)
	if ir.Divides(ir.Do(all...)) { // by zero, perhaps, where something else is stored
		return nil, false
	}
	partly := l.partly
	stored := lattice.Lattice{Points: lat.Points[:last]}
	if last == 1 && len(stored.Iterators()) == 1 {
		stmts = l.walk(f, stored, e, ir.Serial)
	} else {
		stmts = l.merge(f, stored, e)
	}
	l.partly = partly // every element has been written
	return append(all, stmts...), true
}

// writesOnce reports whether the loop of f assigns one element of a dense result at each coordinate, so that writing some again changes nothing else.
func (l *lowerer) writesOnce(f *cin.Forall, e env) bool {
	a, ok := f.Body.(*cin.Assign)
	t := l.program.Source.LHS.Tensor
	sparse := func(level format.Level) bool { return level != format.Dense{} }
	return ok && a.Reduce == "" && a.LHS.Tensor == t && e.phase == computing && slices.Contains(a.LHS.Vars, f.Var) &&
		!slices.ContainsFunc(l.format(t).Levels, sparse)
}
