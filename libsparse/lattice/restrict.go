package lattice

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// Restrict is e at a point of the lattice of v: what needs an iterator that the point doesn't have is gone; of located ones
// nothing is known yet. bound says of a variable whether a loop outside of that of v has matched it. It returns nil where
// nothing is left.
func Restrict(e index.Expr, v index.Var, p Point, bound func(index.Var) bool) index.Expr {
	located := Point{Iterators: p.Located}
	return Without(e, func(a *index.Access) bool {
		return slices.ContainsFunc(access(a, v).Points[0].Iterators, func(it Iterator) bool {
			return !p.Has(it.Key) && !located.Has(it.Key)
		})
	}, func(a *index.Access) bool {
		return found(a, v, bound) && !slices.ContainsFunc(access(a, v).Points[0].Iterators, func(it Iterator) bool {
			return located.Has(it.Key)
		})
	})
}

// found reports whether every level that a stores sparsely is matched by the loop over v or one outside: then it has a
// value at the coordinates that are visited inside.
func found(a *index.Access, v index.Var, bound func(index.Var) bool) bool {
	f := a.Tensor.Format
	for l, m := range f.ModeOrder {
		if w := a.Vars[m]; !f.Levels[l].Props().Full && w != v && !bound(w) {
			return false
		}
	}
	return true
}

// Without is e where the accesses that gone names have no value, or nil where e has none. known says of an access that
// is left that it has a value for certain. A nil gone or known says so of none.
func Without(e index.Expr, gone, known func(*index.Access) bool) index.Expr {
	r, _ := without(e, gone, known)
	return r
}

func without(e index.Expr, gone, known func(*index.Access) bool) (rest index.Expr, certain bool) {
	switch e := e.(type) {
	case *index.Access:
		if gone != nil && gone(e) {
			return nil, false
		}
		return e, known != nil && known(e)
	case *index.Missing:
		return nil, false
	case *index.Call:
		args, certain := make([]index.Expr, len(e.Args)), make([]bool, len(e.Args))
		for i, a := range e.Args {
			args[i], certain[i] = without(a, gone, known)
		}
		return restrictCall(e, args, certain)
	default:
		return e, true
	}
}

// restrictCall is a call of which some arguments are gone (nil), the others there for certain or perhaps.
func restrictCall(c *index.Call, args []index.Expr, certain []bool) (rest index.Expr, sure bool) {
	possible := make([]bool, len(args))
	for k, a := range args {
		possible[k] = a != nil
	}
	always, ever := c.Region.Between(certain, possible)
	switch {
	case !ever:
		return nil, false
	case !slices.Contains(possible, false):
		return c.With(args), always
	}
	if e := simpler(c, args); e != nil {
		return e, always
	}
	for k, a := range args {
		if a == nil {
			args[k] = &index.Missing{}
		}
	}
	return c.With(args), always
}

// simpler is a sum of which one argument is gone, if it has a value where the other argument has one; else nil.
func simpler(c *index.Call, args []index.Expr) index.Expr {
	if len(args) != 2 || c.Function != nil || c.Op != dtype.Add && c.Op != dtype.Sub || c.Region.Has(0) {
		return nil
	}
	for k, arg := range args {
		if arg != nil && !c.Region.Has(1<<k) {
			return nil
		}
	}
	switch {
	case args[1] == nil:
		return args[0]
	case c.Op == dtype.Add:
		return args[1]
	default:
		return index.NewCall(dtype.Neg, args[1])
	}
}
