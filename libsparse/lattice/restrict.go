package lattice

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// Restrict is e at a point of the lattice of v: what needs an iterator that the point doesn't have is gone. It returns
// nil where nothing is left.
func Restrict(e index.Expr, v index.Var, p Point) index.Expr {
	return Without(e, func(a *index.Access) bool {
		for _, it := range access(a, v).Points[0].Iterators {
			if !p.Has(it.Key) {
				return true
			}
		}
		return false
	}, func(a *index.Access) bool { return last(a, v) })
}

// last reports whether v is the innermost variable that a stores sparsely, or none is: below it every element has a
// value.
func last(a *index.Access, v index.Var) bool {
	f := a.Tensor.Format
	for l := f.Order() - 1; l >= 0; l-- {
		if !f.Levels[l].Props().Full {
			return a.Vars[f.ModeOrder[l]] == v
		}
	}
	return true
}

// Without is e where the accesses that gone names have no value, or nil where e has none. known says of an access that
// is left that it has a value for certain; a nil known says so of none.
func Without(e index.Expr, gone, known func(*index.Access) bool) index.Expr {
	r, _ := without(e, gone, known)
	return r
}

func without(e index.Expr, gone, known func(*index.Access) bool) (rest index.Expr, certain bool) {
	switch e := e.(type) {
	case *index.Access:
		if gone(e) {
			return nil, false
		}
		return e, known != nil && known(e)
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
	missing := 0
	for _, a := range args {
		if a == nil {
			missing++
		}
	}
	sure = c.Region.Holds(certain...)
	switch {
	case missing == 0 && (c.Region != index.One || !(certain[0] && certain[1])):
		return &index.Call{Op: c.Op, Args: args, Region: c.Region}, sure
	case c.Region == index.Every, c.Region == index.Left && args[0] == nil, c.Region == index.One && missing != 1,
		c.Region == index.Some && missing == len(args):
		return nil, false
	}
	return zeroed(c, args), sure
}

// zeroed is a call with the missing arguments marked as such; sums become simpler.
func zeroed(c *index.Call, args []index.Expr) index.Expr {
	switch {
	case len(args) != 2:
	case c.Op == dtype.Add && args[0] == nil, c.Op == dtype.Or && args[0] == nil:
		return args[1]
	case args[1] == nil && (c.Op == dtype.Add || c.Op == dtype.Sub || c.Op == dtype.Or):
		return args[0]
	case c.Op == dtype.Sub && args[0] == nil:
		return index.NewCall(dtype.Neg, args[1])
	}
	for i, a := range args {
		if a == nil {
			args[i] = &index.Missing{}
		}
	}
	return &index.Call{Op: c.Op, Args: args, Region: c.Region}
}
