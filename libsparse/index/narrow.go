package index

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// A loop over a union of n operands has a case for every nonempty set of operands that may be stored at a coordinate, 2^n - 1 of them,
// and in each case the loops below have as many again. If that would be too much code, parts of the expression become steps.

// Narrow splits an assignment so that no loop has too many cases. The parts before the last compute temporaries; their names are
// added to names. sparse is the number of levels of a tensor that don't store every coordinate.
func (a *Assignment) Narrow(names map[string]bool, sparse func(*Tensor) int) []*Assignment {
	s := &splitter{assignment: a, names: names, sparse: sparse}
	rhs, _ := s.narrow(a.RHS, s.mostCases(a.RHS))
	return append(s.steps, &Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: rhs})
}

// cases counts the cases of a loop in which an expression has a value, and those in which it has none.
type cases struct{ some, none int }

// mostCases is the number of cases that a loop may have; it is lower the more sparse levels there are, since their cases multiply.
func (s *splitter) mostCases(e Expr) int {
	levels := 0
	for _, a := range Accesses(e) {
		levels = max(levels, s.sparse(a.Tensor))
	}
	switch {
	case levels <= 1:
		return 15 // four operands
	case levels == 2:
		return 7
	default:
		return 3
	}
}

// narrow replaces the widest parts of e by temporaries until it has few cases.
func (s *splitter) narrow(e Expr, most int) (Expr, cases) {
	c, ok := e.(*Call)
	if !ok {
		return e, s.casesOf(e)
	}
	c = s.grouped(c, most)
	args, ways := make([]Expr, len(c.Args)), make([]cases, len(c.Args))
	for i, arg := range c.Args {
		args[i], ways[i] = s.narrow(arg, most)
	}
	for {
		all := c.combined(ways)
		widest := -1
		for i, w := range ways {
			// A part with a value at coordinates where nothing is stored would need a dense temporary.
			part, ok := args[i].(*Call)
			if !ok || part.Region.Has(0) || len(Uses(part)) > len(Vars(part)) {
				continue
			}
			if w.some > 1 && w.none > 0 && (widest < 0 || w.some > ways[widest].some) {
				widest = i
			}
		}
		if all.some <= most || widest < 0 {
			return c.With(args), all
		}
		access := &Access{Tensor: NewTemporary(s.names, s.assignment), Vars: Vars(args[widest])}
		s.steps = append(s.steps, &Assignment{LHS: access, Reduce: dtype.Add, RHS: args[widest]})
		args[widest], ways[widest] = access, cases{some: 1, none: 1}
	}
}

// grouped is c; if that is a product with more than most cases, with the factors at the entries of its first sparse one before the others, so that a
// part of it that becomes a step has no more variables than these.
func (s *splitter) grouped(c *Call, most int) *Call {
	if !c.Multiplies() || s.casesOf(c).some <= most {
		return c
	}
	all := Factors(c)
	first := slices.IndexFunc(all, func(f Expr) bool { a, ok := f.(*Access); return ok && s.sparse(a.Tensor) > 0 })
	if first < 0 {
		return c
	}
	entries := Vars(all[first])
	beyond := func(f Expr) int {
		if slices.ContainsFunc(Uses(f), func(v Var) bool { return !slices.Contains(entries, v) }) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(x, y Expr) int { return beyond(x) - beyond(y) })
	return Product(all).(*Call)
}

func (s *splitter) casesOf(e Expr) cases {
	switch e := e.(type) {
	case *Call:
		ways := make([]cases, len(e.Args))
		for i, arg := range e.Args {
			ways[i] = s.casesOf(arg)
		}
		return e.combined(ways)
	case *Access:
		if s.sparse(e.Tensor) == 0 {
			return cases{some: 1}
		}
		return cases{some: 1, none: 1}
	case *Missing:
		return cases{none: 1}
	default:
		return cases{some: 1}
	}
}

// combined counts the cases of a call, given those of its arguments.
func (c *Call) combined(ways []cases) (out cases) {
	for set := range uint(1) << len(ways) {
		n := 1
		for i, w := range ways {
			if set&(1<<i) != 0 {
				n = min(n*w.some, 1<<20)
			} else {
				n *= w.none
			}
		}
		if c.Region.Has(set) {
			out.some = min(out.some+n, 1<<20)
		} else {
			out.none = min(out.none+n, 1)
		}
	}
	return out
}
