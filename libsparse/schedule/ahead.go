package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Ahead brings the entries of an operand near, Distance of them before a loop walks them: processors foresee streams by themselves, but no farther than the end of a
// page, and not while a loop waits for what it reads by coordinates. Where the loop doesn't walk them one after the other, it does nothing.
type Ahead struct {
	Var      index.Var
	Of       string
	Distance int64
}

func (c Ahead) String() string { return fmt.Sprintf("ahead(%s, %s, %d)", c.Var, c.Of, c.Distance) }

// maxAhead is how many entries ahead a loop may look: more would leave a near cache before they are read.
const maxAhead = 1 << 12

// Apply implements Command.
func (c Ahead) Apply(p *cin.Program) (*cin.Program, error) {
	if c.Distance < 1 || c.Distance > maxAhead {
		return nil, failf(c, "the distance has to be from 1 to %d", maxAhead)
	}
	accesses := index.Accesses(p.Source.RHS)
	at := slices.IndexFunc(accesses, func(a *index.Access) bool { return a.Tensor.Name == c.Of })
	if at < 0 {
		return nil, failf(c, "there is no operand %s", c.Of)
	}
	if !cin.Walks(p.Source, accesses[at], c.Var) {
		return nil, failf(c, "%s, stored as %q, has no entries over %s that follow each other, as in \"ds\"", accesses[at], p.Source.Of(accesses[at].Tensor).Format, c.Var)
	}
	return mark(c, p, c.Var, func(f *cin.Forall) { f.Ahead, f.Distance = accesses[at].Tensor, c.Distance })
}
