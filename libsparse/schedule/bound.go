package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Bound states that Var has from Least to Most coordinates, which the kernel then checks when it is called.
type Bound struct {
	Var         index.Var
	Least, Most int64
}

// Exactly states that a variable has n coordinates.
func Exactly(v index.Var, n int64) Bound { return Bound{Var: v, Least: n, Most: n} }

func (c Bound) String() string {
	if c.Least == c.Most {
		return fmt.Sprintf("bound(%s, %d)", c.Var, c.Least)
	}
	return fmt.Sprintf("bound(%s, %d, %d)", c.Var, c.Least, c.Most)
}

// Apply implements Command.
func (c Bound) Apply(p *cin.Program) (*cin.Program, error) {
	v := p.Original(c.Var)
	switch n, known := p.Bounds[v]; {
	case c.Least < 0:
		return nil, failf(c, "an extent is at least 0")
	case c.Least > c.Most:
		return nil, failf(c, "the least extent comes first")
	case p.Derivation(v) != nil:
		return nil, failf(c, "%s is derived from %v; bound those", c.Var, p.Roots(c.Var))
	case !slices.Contains(p.Source.Vars(), v):
		return nil, failf(c, "there is no variable %s; the variables are %v", c.Var, p.Source.Vars())
	case known && n != cin.Bounds{Least: c.Least, Most: c.Most}:
		return nil, failf(c, "%s is already bound to %s", c.Var, n)
	}
	q := p.Clone()
	q.Bounds[v] = cin.Bounds{Least: c.Least, Most: c.Most}
	return q, nil
}
