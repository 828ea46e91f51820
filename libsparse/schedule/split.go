package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// Split divides the loop over Var into a loop over strips of Factor values and one inside a strip. The last strip ends
// where the values do. With a Tail, the remainder runs in strips of that width, the last of which is shifted inwards:
// every strip has a constant width then, but elements are written twice. Joined says that there is one strip of either width, and that
// loops inside which both run are run once: such as those over the entries of a row, where the strips are of a dense operand.
type Split struct {
	Var, Outer, Inner index.Var
	Factor, Tail      int64
	Joined            bool
}

const (
	maxFactor = 1 << 40 // bounds the width of a strip
	maxParts  = 1 << 20 // bounds the number of strips, empty ones among them
)

func (c Split) String() string {
	switch {
	case c.Tail == 0:
		return fmt.Sprintf("split(%s, %s, %s, %d)", c.Var, c.Outer, c.Inner, c.Factor)
	case c.Joined:
		return fmt.Sprintf("split(%s, %s, %s, %d, tail=%d, joined)", c.Var, c.Outer, c.Inner, c.Factor, c.Tail)
	default:
		return fmt.Sprintf("split(%s, %s, %s, %d, tail=%d)", c.Var, c.Outer, c.Inner, c.Factor, c.Tail)
	}
}

// Apply implements Command.
func (c Split) Apply(p *cin.Program) (*cin.Program, error) {
	switch {
	case c.Factor < 1 || c.Factor > maxFactor:
		return nil, failf(c, "the factor has to be at least 1 and at most %d", int64(maxFactor))
	case c.Tail < 0 || c.Tail > 0 && c.Factor%c.Tail != 0:
		return nil, failf(c, "the tail has to divide the factor")
	case c.Joined && c.Tail == 0:
		return nil, failf(c, "strips are joined with those of a tail; name its width")
	case c.Tail > 0 && p.Derivation(p.Original(c.Var)) != nil:
		return nil, failf(c, "%s is derived from %v, so its last strip can't be shifted; leave tail out", c.Var, p.Roots(c.Var))
	}
	return cut(c, p, &cin.Split{Parent: c.Var, Outer: c.Outer, Inner: c.Inner, Factor: c.Factor, Tail: c.Tail, Joined: c.Joined})
}

// check refuses shifted strips of what is stored sparsely, and of sums: what overlaps would count twice. They have no number,
// only a beginning, which the loop over them has to find first.
func (c Split) check(p *cin.Program) (err error) {
	if c.Tail == 0 {
		return nil
	}
	if p.Divided(c.Outer) || p.Divided(c.Inner) {
		return failf(c, "shifted strips can't be divided again; leave tail out")
	}
	loopsOver(p, c.Inner, func(f *cin.Forall, outside []*cin.Forall) {
		if p.Leaves(c.Outer, vars(outside)) == nil {
			err = failf(c, "the loop over %s has to stand outside the one over %s; else leave tail out", c.Outer, f.Var)
		}
		if !lattice.Build(p.Source.Table, cin.Value(f.Body), p.Original(c.Var)).Dense() {
			err = failf(c, "%s is stored sparsely, so its last strip can't be shifted; leave tail out", c.Var)
		}
	})
	loopsOver(p, c.Outer, func(f *cin.Forall, _ []*cin.Forall) {
		if a := innermost(f.Body); a.Reduce != "" || p.Source.Of(a.LHS.Tensor).Discovered() {
			err = failf(c, "%s is reduced into, so strips that overlap would count twice; leave tail out", a.LHS)
		}
		if c.Joined && f.Unit != cin.Serial {
			err = failf(c, "the strips of %s are joined, so that no units can share them", c.Var)
		}
	})
	return err
}

// innermost is the assignment that s ends in: that of the consumer of a Where.
func innermost(s cin.Stmt) *cin.Assign {
	switch s := s.(type) {
	case *cin.Forall:
		return innermost(s.Body)
	case *cin.Where:
		return innermost(s.Consumer)
	default:
		return s.(*cin.Assign)
	}
}

// cut replaces the loop over a variable by one over strips and one inside them.
func cut(c Command, p *cin.Program, s *cin.Split) (*cin.Program, error) {
	q := p.Clone()
	body, ok := rewrite(p.Body, s.Parent, func(f *cin.Forall) cin.Stmt {
		outer := f.With(&cin.Forall{Var: s.Inner, Body: f.Body})
		outer.Var = s.Outer
		return outer
	})
	if !ok {
		return nil, missing(c, p, s.Parent)
	}
	if err := fresh(c, p, s.Outer, s.Inner); err != nil {
		return nil, err
	}
	q.Body = body
	q.Relations = append(q.Relations, s)
	return q, nil
}

// Divide divides the loop over Var into a loop over Parts strips and one inside a strip.
type Divide struct {
	Var, Outer, Inner index.Var
	Parts             int64
}

func (c Divide) String() string {
	return fmt.Sprintf("divide(%s, %s, %s, %d)", c.Var, c.Outer, c.Inner, c.Parts)
}

// Apply implements Command.
func (c Divide) Apply(p *cin.Program) (*cin.Program, error) {
	if c.Parts < 1 || c.Parts > maxParts {
		return nil, failf(c, "the number of parts has to be at least 1 and at most %d", maxParts)
	}
	return cut(c, p, &cin.Split{Parent: c.Var, Outer: c.Outer, Inner: c.Inner, Parts: c.Parts})
}
