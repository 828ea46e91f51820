package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// stmt lowers a statement at a place in the nest.
func (l *lowerer) stmt(s cin.Stmt, e env) []ir.Stmt {
	switch s := s.(type) {
	case *cin.Forall:
		return l.forall(s, e)
	case *cin.Where:
		return l.where(s, e)
	case *cin.Assign:
		return l.assign(s, e)
	default:
		panic("BUG: unknown statement")
	}
}

// assign writes one element, of a workspace or of the result.
func (l *lowerer) assign(a *cin.Assign, e env) []ir.Stmt {
	if w := e.writers.get(a.LHS.Tensor); w != nil {
		return w.write(l, a, e)
	}
	return append(l.result.assign(l, a, e), l.leave(a, e)...)
}

// restrict is the body of f at a point of its lattice, nil where nothing is left to do.
func (l *lowerer) restrict(f *cin.Forall, p lattice.Point, e env) cin.Stmt {
	return l.lattices.Restrict(f, p, func(v index.Var) bool { return e.coord.get(v) != nil })
}
