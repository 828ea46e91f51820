package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Split divides the loop over Var into a loop over tiles of Factor coordinates and one inside a tile. The remainder
// runs in tiles of width Tail, the last of which is shifted inwards.
type Split struct {
	Var, Outer, Inner index.Var
	Factor, Tail      int64
}

func (c Split) String() string {
	return fmt.Sprintf("split(%s, %s, %s, %d, tail=%d)", c.Var, c.Outer, c.Inner, c.Factor, c.Tail)
}

// Apply implements Command.
func (c Split) Apply(p *cin.Program) (*cin.Program, error) {
	if c.Tail < 1 || c.Factor%c.Tail != 0 {
		return nil, failf(c, "the tail has to divide the factor")
	}
	q := p.Clone()
	body, ok := rewrite(p.Body, c.Var, func(f *cin.Forall) cin.Stmt {
		return &cin.Forall{Var: c.Outer, Unit: f.Unit, Body: &cin.Forall{Var: c.Inner, Body: f.Body}}
	})
	if !ok {
		return nil, failf(c, "there is no loop over %s", c.Var)
	}
	q.Body = body
	q.Splits = append(q.Splits, cin.Split{Parent: c.Var, Outer: c.Outer, Inner: c.Inner, Factor: c.Factor, Tail: c.Tail})
	return q, nil
}

// Bound states that Var has exactly Extent coordinates, which the kernel then checks when it is called.
type Bound struct {
	Var    index.Var
	Extent int64
}

func (c Bound) String() string { return fmt.Sprintf("bound(%s, %d)", c.Var, c.Extent) }

// Apply implements Command.
func (c Bound) Apply(p *cin.Program) (*cin.Program, error) {
	q := p.Clone()
	q.Exact[c.Var] = c.Extent
	return q, nil
}
