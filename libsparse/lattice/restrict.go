package lattice

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// Restrict is the body of f, a loop of the table's program, at a point of its lattice, without the terms that need an iterator which ran out. given says of a
// variable whether it has a value there. It returns nil where nothing is left to do.
func (t *Table) Restrict(f *cin.Forall, p Point, given func(index.Var) bool) cin.Stmt {
	// The value of a variable may be known before its levels have been searched, as in a fused loop.
	bound := func(w index.Var) bool {
		return given(w) && !slices.ContainsFunc(cin.Loops(f.Body), func(f *cin.Forall) bool { return f.Var == w })
	}
	return without(f.Body, func(e index.Expr) index.Expr { return restrict(t.program.Source.Table, e, f.Var, p, bound) })
}

// without rewrites the right-hand sides of s and drops what loses its own. What doesn't change stays the same statement.
func without(s cin.Stmt, f func(index.Expr) index.Expr) cin.Stmt {
	switch s := s.(type) {
	case *cin.Forall:
		switch body := without(s.Body, f); body {
		case nil:
		case s.Body:
			return s
		default:
			return s.With(body)
		}
	case *cin.Assign:
		switch rhs := f(s.RHS); rhs {
		case nil:
		case s.RHS:
			return s
		default:
			return &cin.Assign{LHS: s.LHS, Reduce: s.Reduce, RHS: rhs}
		}
	case *cin.Where:
		return withoutIn(s, f)
	}
	return nil
}

// withoutIn is a statement with a workspace: without what produces it, or without both where the consumer reads it no more.
func withoutIn(s *cin.Where, f func(index.Expr) index.Expr) cin.Stmt {
	consumer, producer, held := without(s.Consumer, f), without(s.Producer, f), cin.Written(s.Producer).Tensor
	switch {
	case consumer == nil || !reads(consumer, held):
		return consumer
	case producer == nil:
		gone := func(a *index.Access) bool { return a.Tensor == held }
		return without(consumer, func(e index.Expr) index.Expr { return Without(e, gone, nil) })
	case consumer == s.Consumer && producer == s.Producer:
		return s
	default:
		return &cin.Where{Consumer: consumer, Producer: producer}
	}
}

// reads reports whether s reads t.
func reads(s cin.Stmt, t *index.Tensor) bool {
	return cin.Some(s, func(s cin.Stmt) bool {
		a, ok := s.(*cin.Assign)
		return ok && slices.ContainsFunc(index.Accesses(a.RHS), func(a *index.Access) bool { return a.Tensor == t })
	})
}

// restrict is e at a point of the lattice of v: what needs an iterator that the point doesn't have is gone; of located ones
// nothing is known yet. bound says of a variable whether a loop outside of that of v has matched it. It returns nil where
// nothing is left.
func restrict(b *bind.Table, e index.Expr, v index.Var, p Point, bound func(index.Var) bool) index.Expr {
	located := Point{Iterators: p.Located}
	return Without(e, func(a *index.Access) bool {
		return slices.ContainsFunc(access(b, a, v).Points[0].Iterators, func(it Iterator) bool {
			return !p.Has(it.Key) && !located.Has(it.Key)
		})
	}, func(a *index.Access) bool {
		return found(b, a, v, bound) && !slices.ContainsFunc(access(b, a, v).Points[0].Iterators, func(it Iterator) bool {
			return located.Has(it.Key)
		})
	})
}

// found reports whether every level that a stores sparsely is matched by the loop over v or one outside: then it has a
// value at the coordinates that are visited inside.
func found(b *bind.Table, a *index.Access, v index.Var, bound func(index.Var) bool) bool {
	f := b.Of(a.Tensor).Format
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
	r, _ := certainly(e, gone, known)
	return r
}

func certainly(e index.Expr, gone, known func(*index.Access) bool) (rest index.Expr, certain bool) {
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
			args[i], certain[i] = certainly(a, gone, known)
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
		return c.Restricted(args), always
	}
	if e := simpler(c, args); e != nil {
		return e, always
	}
	for k, a := range args {
		if a == nil {
			args[k] = &index.Missing{}
		}
	}
	return c.Restricted(args), always
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
