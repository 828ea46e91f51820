package schedule

import (
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Reorder puts the loops of a perfect nest in the order of Vars, which names all of them.
type Reorder struct{ Vars []index.Var }

func (c Reorder) String() string {
	names := make([]string, len(c.Vars))
	for i, v := range c.Vars {
		names[i] = string(v)
	}
	return fmt.Sprintf("reorder(%s)", strings.Join(names, ", "))
}

// Apply implements Command.
func (c Reorder) Apply(p *cin.Program) (*cin.Program, error) {
	loops, body := nest(p.Body)
	if _, ok := body.(*cin.Assign); !ok {
		return nil, failf(c, "the loops have to be directly nested; reorder before precompute")
	}
	if len(loops) != len(c.Vars) {
		return nil, failf(c, "the nest has the loops %v", vars(loops))
	}
	ordered := make([]*cin.Forall, len(loops))
	for i, v := range c.Vars {
		at := slices.Index(vars(loops), v)
		if at < 0 || slices.Contains(c.Vars[:i], v) {
			return nil, failf(c, "the nest has the loops %v", vars(loops))
		}
		ordered[i] = loops[at]
	}
	q := p.Clone()
	q.Body = rebuild(ordered, body)
	return q, nil
}
