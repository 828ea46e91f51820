package lower

import (
	"slices"

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
	return l.result.assign(l, a, e)
}

// restrict is s at a point of the lattice of v without the terms that need an iterator which ran out. It is nil where nothing is
// left to do.
func restrict(s cin.Stmt, v index.Var, p lattice.Point, e env) cin.Stmt {
	// The value of a variable may be known before its levels have been searched, as in a fused loop.
	bound := func(w index.Var) bool { return e.coord.get(w) != nil && !visits(s, w) }
	return without(s, func(x index.Expr) index.Expr { return lattice.Restrict(x, v, p, bound) })
}

// visits reports whether s has a loop over v.
func visits(s cin.Stmt, v index.Var) bool {
	return slices.ContainsFunc(cin.Loops(s), func(f *cin.Forall) bool { return f.Var == v })
}

// without rewrites the right-hand sides of s and drops what loses its own.
func without(s cin.Stmt, f func(index.Expr) index.Expr) cin.Stmt {
	switch s := s.(type) {
	case *cin.Forall:
		if body := without(s.Body, f); body != nil {
			return s.With(body)
		}
	case *cin.Assign:
		if rhs := f(s.RHS); rhs != nil {
			return &cin.Assign{LHS: s.LHS, Reduce: s.Reduce, RHS: rhs}
		}
	case *cin.Where:
		consumer, producer, held := without(s.Consumer, f), without(s.Producer, f), cin.Written(s.Producer).Tensor
		switch {
		case consumer == nil || !reads(consumer, held):
			return consumer
		case producer == nil:
			gone := func(a *index.Access) bool { return a.Tensor == held }
			return without(consumer, func(x index.Expr) index.Expr { return lattice.Without(x, gone, nil) })
		default:
			return &cin.Where{Consumer: consumer, Producer: producer}
		}
	}
	return nil
}

// reads reports whether s reads t.
func reads(s cin.Stmt, t *index.Tensor) bool {
	return cin.Some(s, func(s cin.Stmt) bool {
		a, ok := s.(*cin.Assign)
		return ok && slices.ContainsFunc(index.Accesses(a.RHS), func(a *index.Access) bool { return a.Tensor == t })
	})
}
