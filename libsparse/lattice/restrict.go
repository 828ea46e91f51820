package lattice

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// Restrict is e at a point: what needs an iterator that the point doesn't have is gone. It returns nil where nothing
// is left.
func Restrict(e index.Expr, v index.Var, p Point) index.Expr {
	return Without(e, func(a *index.Access) bool {
		for _, it := range access(a, v).Points[0].Iterators {
			if !p.Has(it.Key) {
				return true
			}
		}
		return false
	})
}

// Without is e where the accesses that gone names are not stored, or nil where nothing is left.
func Without(e index.Expr, gone func(*index.Access) bool) index.Expr {
	switch e := e.(type) {
	case *index.Access:
		if gone(e) {
			return nil
		}
		return e
	case *index.Call:
		args := make([]index.Expr, len(e.Args))
		missing := 0
		for i, a := range e.Args {
			if args[i] = Without(a, gone); args[i] == nil {
				missing++
			}
		}
		switch {
		case missing == 0:
			return &index.Call{Op: e.Op, Args: args}
		case missing == len(args) || !index.IsUnion(e.Op):
			return nil
		case args[1] == nil:
			return args[0]
		case e.Op == dtype.Sub:
			return &index.Call{Op: dtype.Neg, Args: args[1:]}
		default:
			return args[1]
		}
	default:
		return e
	}
}
