package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Unroll asks for Factor iterations of a loop to be written out one after the other.
type Unroll struct {
	Var    index.Var
	Factor int64
}

func (c Unroll) String() string { return fmt.Sprintf("unroll(%s, %d)", c.Var, c.Factor) }

// MaxUnroll is how many iterations may be written out: more makes C that takes long to compile and runs no faster.
const MaxUnroll = 64

// Apply implements Command.
func (c Unroll) Apply(p *cin.Program) (*cin.Program, error) {
	if c.Factor < 2 || c.Factor > MaxUnroll {
		return nil, failf(c, "the factor has to be from 2 to %d", MaxUnroll)
	}
	q := p.Clone()
	body, ok := rewrite(p.Body, c.Var, func(f *cin.Forall) cin.Stmt {
		g := f.With(f.Body)
		g.Unroll = c.Factor
		return g
	})
	if !ok {
		return nil, missing(c, p, c.Var)
	}
	q.Body = body
	return q, nil
}
