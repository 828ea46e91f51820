package index

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Apart replaces sums by temporaries that steps before the assignment compute, where they don't depend on all variables for which the terms beside
// them are summed: y(i) = A(i,j) * x(j) + c(j) would add up c for each i, and y(i,j) = A(i,j) - sum(A(i,l)) * stored(A(i,j)) a row for each of its
// entries. The names of temporaries are added to names.
func (a *Assignment) Apart(names map[string]bool) (steps []*Assignment, rest *Assignment) {
	if a.Reduce != dtype.Add && a.Reduce != "" || a.Pooling() != nil {
		return nil, a
	}
	s := &splitter{assignment: a, names: names, term: a.RHS}
	rhs := s.apart(a.RHS, a.LHS.Vars)
	if len(s.steps) == 0 {
		return nil, a
	}
	return s.steps, &Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: rhs}
}

// apart is e with temporaries. kept are the variables that are used outside e, over which it isn't reduced.
func (s *splitter) apart(e Expr, kept []Var) Expr {
	c, ok := e.(*Call)
	if !ok || !c.additive() && !c.distributes() && !c.sums() {
		return e
	}
	args := slices.Clone(c.Args)
	for i, arg := range c.Args {
		switch {
		case c.Op == dtype.Div && i == 1:
		case c.additive():
			args[i] = s.once(s.apart(arg, kept), kept)
		case c.sums():
			args[i] = s.apart(arg, kept)
		default:
			args[i] = s.apart(arg, append(slices.Clone(kept), besides(c, i)...))
		}
	}
	return c.With(args)
}

// once is the additive term e with a temporary for those factors that it is summed over, if they don't have all variables in kept.
func (s *splitter) once(e Expr, kept []Var) Expr {
	if c, ok := e.(*Call); ok {
		switch {
		case c.sums():
			return s.once(c.Args[0], kept)
		case c.Op == dtype.Neg && c.distributes():
			return c.With([]Expr{s.once(c.Args[0], kept)})
		case c.Op == dtype.Div && c.distributes() && len(s.summed(c.Args[1], kept)) == 0:
			return c.With([]Expr{s.once(c.Args[0], append(slices.Clone(kept), Uses(c.Args[1])...)), c.Args[1]})
		}
	}
	inner, outer := s.innerFactors(e, kept)
	if !s.isApart(inner, kept) {
		return e
	}
	return Product(append([]Expr{s.temporary(Product(inner), kept)}, outer...))
}

// innerFactors are the factors of e that it is summed over, and the others.
func (s *splitter) innerFactors(e Expr, kept []Var) (inner, outer []Expr) {
	for _, f := range Factors(e) {
		c, ok := f.(*Call)
		switch {
		case len(s.summed(f, kept)) == 0:
			outer = append(outer, f)
		case ok && c.sums():
			inner = append(inner, c.Args[0])
		default:
			inner = append(inner, f)
		}
	}
	return inner, outer
}

// isApart reports whether the sum of a product of factors doesn't depend on all variables in kept.
func (s *splitter) isApart(inner []Expr, kept []Var) bool {
	used := Uses(inner...)
	lacks := slices.ContainsFunc(kept, func(v Var) bool { return !slices.Contains(used, v) })
	return len(inner) > 0 && lacks && len(used) == len(Vars(inner...))
}

// sums reports whether c is a sum that is written out.
func (c *Call) sums() bool { return c.Op == dtype.Sum && c.Function == nil }

// Distributed has terms of a factor that is a sum multiplied by themselves, where the products are sums that don't depend on all variables for which a
// is summed, and worth agrees: (A(i,j) - d(j)) * X(j,k) becomes A(i,j) * X(j,k) + -d(j) * X(j,k). The other terms stay together.
func (a *Assignment) Distributed(worth func(product Expr, terms []Expr) bool) *Assignment {
	if a.Reduce != dtype.Add && a.Reduce != "" || a.Pooling() != nil {
		return a
	}
	rhs := mapTerms(a.RHS, func(e Expr) Expr { return a.distributed(e, worth) })
	if rhs == a.RHS {
		return a
	}
	return &Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: rhs}
}

// distributed is the additive term e with terms of one of its factors multiplied by themselves.
func (a *Assignment) distributed(e Expr, worth func(product Expr, terms []Expr) bool) Expr {
	s := &splitter{assignment: a}
	inner, outer := s.innerFactors(e, a.LHS.Vars)
	for i, f := range inner {
		others := slices.Delete(slices.Clone(inner), i, i+1)
		var together, apart []Expr
		for _, term := range added(f) {
			p := Product(append([]Expr{term}, others...))
			if summed, _ := s.innerFactors(p, a.LHS.Vars); len(others) > 0 && s.isApart(summed, a.LHS.Vars) {
				apart = append(apart, p)
			} else {
				together = append(together, term)
			}
		}
		if len(apart) == 0 || len(apart)+len(together) < 2 {
			continue
		}
		if len(together) > 0 {
			apart = append([]Expr{Product(append([]Expr{sum(together)}, others...))}, apart...)
		}
		if worth(Product(inner), apart) {
			return Product(append(outer, sum(apart)))
		}
	}
	return e
}

// added are the terms that e adds up: itself if it is no sum.
func added(e Expr) []Expr {
	c, ok := e.(*Call)
	if !ok || !c.additive() {
		return []Expr{e}
	}
	if c.Op == dtype.Sub {
		return append(added(c.Args[0]), negated(added(c.Args[1]))...)
	}
	return append(added(c.Args[0]), added(c.Args[1])...)
}
