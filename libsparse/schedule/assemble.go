package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Assemble says how the entries of a result whose pattern is found get their places. Appending, they come in storage
// order. With Insert the entries of a rowwise result are put into their rows as the loops produce them: the counting
// phase finds how long each row is, so that the order of the rows doesn't matter. Each element has to be produced once,
// so nothing may be reduced into it. It is TACO's assemble with the strategies Append and Insert.
type Assemble struct{ Insert bool }

func (c Assemble) String() string {
	if c.Insert {
		return "assemble(insert)"
	}
	return "assemble(append)"
}

// Apply implements Command.
func (c Assemble) Apply(p *cin.Program) (*cin.Program, error) {
	lhs := p.Source.LHS
	s := p.Source.Result()
	if !s.Discovered() {
		return nil, failf(c, "the pattern of %s in format %q is known, so there is nothing to assemble", lhs, s.Format)
	}
	if _, ok := s.Format.Inserted(); c.Insert && !ok {
		return nil, failf(c, "%s in format %q has no rows to insert into", lhs, s.Format)
	}
	q := p.Clone()
	q.Insert = c.Insert
	return q, nil
}

// check refuses loops that produce an element twice, or a row not in ascending order.
func (c Assemble) check(p *cin.Program) error {
	if !c.Insert || !p.Insert {
		return nil
	}
	a := innermost(p.Body)
	if a.Reduce != "" {
		return failf(c, "%s sums over %s, so an element may be produced twice; precompute the sum", a.LHS, fmt.Sprint(p.Source.Reduced()))
	}
	stored := p.Source.Of(a.LHS.Tensor).Format
	f, _ := stored.Inserted()
	g := f.Groups()[0]
	loops := consuming(p.Body)
	if _, ok := p.Body.(*cin.Forall); !ok && !stored.Rowwise() {
		return failf(c, "rows of %s in format %q are counted first, by the loops that fill them, which a workspace around them prevents",
			a.LHS, stored)
	}
	var want, got []index.Var
	for _, m := range f.ModeOrder[g.First : g.Last+1] {
		for _, leaf := range p.Leaves(a.LHS.Vars[m], loops) {
			if !slices.Contains(want, leaf) {
				want = append(want, leaf)
			}
		}
	}
	for _, v := range loops {
		if slices.Contains(want, v) {
			got = append(got, v)
		}
	}
	if !slices.Equal(got, want) {
		return failf(c, "a row of %s has to be produced in order, by loops %v, not %v", a.LHS, want, got)
	}
	return nil
}

// consuming lists the loops around the assignment to the result.
func consuming(s cin.Stmt) []index.Var {
	switch s := s.(type) {
	case *cin.Forall:
		return append([]index.Var{s.Var}, consuming(s.Body)...)
	case *cin.Where:
		return consuming(s.Consumer)
	default:
		return nil
	}
}
