package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// Assemble says how the entries of a result whose pattern is found get their places. Appending, they come in storage
// order. With Insert the entries of a rowwise result are put into their rows as the loops produce them: the counting
// phase finds how long each row is, so that the order of the rows doesn't matter. Each element has to be produced once,
// so nothing may be reduced into it. It is TACO's assemble with the strategies Append and Insert.
//
// With Bounded the entries of a rowwise result are appended without being counted before: to room for as many entries as
// the rows may have, which follows from the operands' positions. What was written is then moved together.
type Assemble struct{ Insert, Bounded bool }

func (c Assemble) String() string {
	switch {
	case c.Insert:
		return "assemble(insert)"
	case c.Bounded:
		return "assemble(bounded)"
	default:
		return "assemble(append)"
	}
}

// Apply implements Command.
func (c Assemble) Apply(p *cin.Program) (*cin.Program, error) {
	lhs := p.Source.LHS
	s := p.Source.Result()
	if len(lhs.Vars) == 0 {
		return nil, failf(c, "%s is a single value, so there is nothing to assemble", lhs)
	}
	if !s.Discovered() {
		return nil, failf(c, "the pattern of %s in format %q is known, so there is nothing to assemble", lhs, s.Format)
	}
	if _, ok := s.Format.Inserted(); c.Insert && !ok {
		return nil, failf(c, "%s in format %q has no rows to insert into", lhs, s.Format)
	}
	if c.Bounded && !s.Format.Listed() {
		return nil, failf(c, "%s in format %q has no rows of single entries", lhs, s.Format)
	}
	q := p.Clone()
	q.Insert, q.Bounded = c.Insert, c.Bounded
	return q, nil
}

// check refuses loops that produce an element twice, or a row not in ascending order.
func (c Assemble) check(p *cin.Program) error {
	if c.Bounded && p.Bounded {
		return c.checkBounded(p)
	}
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
	if got, want := visiting(p, a.LHS, f.ModeOrder[g.First:g.Last+1], loops); !slices.Equal(got, want) {
		return failf(c, "a row of %s has to be produced in order, by loops %v, not %v", a.LHS, want, got)
	}
	return nil
}

// visiting lists the loops over modes of an access, as they stand, and as they have to stand for entries to come in the order of the modes.
func visiting(p *cin.Program, a *index.Access, modes []int, loops []index.Var) (got, want []index.Var) {
	for _, m := range modes {
		for _, leaf := range p.Leaves(a.Vars[m], loops) {
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
	return got, want
}

// checkBounded refuses loops that don't visit the rows in order, one after the other, and those with more than rows in a workspace.
func (c Assemble) checkBounded(p *cin.Program) error {
	lhs, modes := p.Source.LHS, p.Source.Result().Format.ModeOrder
	loops := consuming(p.Body)
	if _, ok := p.Body.(*cin.Forall); !ok || lhs.Windowed() {
		return failf(c, "%s is not written by loops over rows, or through a window", lhs)
	}
	if got, want := visiting(p, lhs, modes, loops); !slices.Equal(got, want) {
		return failf(c, "entries of %s have to be produced in order, by loops %v, not %v", lhs, want, got)
	}
	for _, f := range cin.Loops(p.Body) {
		v, ok := p.Walked(f.Var)
		if f.Unit == cin.Threads && p.Body != f {
			return failf(c, "threads have to divide the outermost loop, not the one over %s", f.Var)
		}
		if ok && slices.Contains(lhs.Vars, v) && cin.Written(f.Body).Tensor == lhs.Tensor && !lattice.Loop(p.Source.Table, cin.Value(f.Body), v).Ordered() {
			return failf(c, "the loop over %s meets coordinates in no order", f.Var)
		}
	}
	for t, storage := range p.Workspaces {
		if s := p.Source.Of(t); sparse(storage) && (s.Format.Order() != 1 || p.Divided(lhs.Vars[modes[len(modes)-1]])) {
			return failf(c, "the workspace %s holds more than a row of %s", t.Name, lhs)
		}
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
