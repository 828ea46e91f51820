package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Bound states that Var has exactly Extent coordinates, which the kernel then checks when it is called.
type Bound struct {
	Var    index.Var
	Extent int64
}

func (c Bound) String() string { return fmt.Sprintf("bound(%s, %d)", c.Var, c.Extent) }

// Apply implements Command.
func (c Bound) Apply(p *cin.Program) (*cin.Program, error) {
	v := p.Original(c.Var)
	switch n, known := p.Exact[v]; {
	case c.Extent < 0:
		return nil, failf(c, "an extent is at least 0")
	case p.Derivation(v) != nil:
		return nil, failf(c, "%s is derived from %v; bound those", c.Var, p.Roots(c.Var))
	case !slices.Contains(p.Source.Vars(), v):
		return nil, failf(c, "there is no variable %s; the variables are %v", c.Var, p.Source.Vars())
	case known && n != c.Extent:
		return nil, failf(c, "%s is already bound to %d", c.Var, n)
	}
	q := p.Clone()
	q.Exact[v] = c.Extent
	return q, nil
}
