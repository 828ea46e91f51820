package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Parallelize divides the iterations of the outermost loop among threads. The loop has to be over a variable of the
// result, so that each thread owns what it writes.
type Parallelize struct{ Var index.Var }

func (c Parallelize) String() string { return fmt.Sprintf("parallelize(%s, threads)", c.Var) }

// Apply implements Command.
func (c Parallelize) Apply(p *cin.Program) (*cin.Program, error) {
	f, ok := p.Body.(*cin.Forall)
	if !ok || f.Var != c.Var {
		return nil, failf(c, "%s is not the outermost loop", c.Var)
	}
	if !slices.Contains(p.Source.LHS.Vars, p.Root(c.Var)) {
		return nil, failf(c, "%s is reduced over, so threads would write the same element", c.Var)
	}
	return unit(c, p, c.Var, cin.Threads)
}

// Vectorize runs the iterations of an innermost loop in vector lanes.
type Vectorize struct{ Var index.Var }

func (c Vectorize) String() string { return fmt.Sprintf("vectorize(%s)", c.Var) }

// Apply implements Command.
func (c Vectorize) Apply(p *cin.Program) (*cin.Program, error) {
	return unit(c, p, c.Var, cin.Lanes)
}

func unit(c Command, p *cin.Program, v index.Var, u cin.Unit) (*cin.Program, error) {
	q := p.Clone()
	body, ok := mark(p.Body, v, u)
	if !ok {
		return nil, failf(c, "there is no loop over %s", v)
	}
	q.Body = body
	return q, nil
}

// mark sets the unit of every loop over v: a workspace's consumer and producer each have one.
func mark(s cin.Stmt, v index.Var, u cin.Unit) (cin.Stmt, bool) {
	return rewrite(s, v, func(f *cin.Forall) cin.Stmt {
		return &cin.Forall{Var: v, Unit: u, Body: f.Body}
	})
}
