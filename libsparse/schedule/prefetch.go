package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Prefetch brings near what a loop reads by its coordinates Distance iterations later, where it walks a level whose positions tell
// those coordinates; elsewhere it does nothing. Of each row that is read it is the Begin alone, a quarter, for processors that read on by
// themselves.
type Prefetch struct {
	Var      index.Var
	Distance int64
	Begin    bool
}

func (c Prefetch) String() string {
	if c.Begin {
		return fmt.Sprintf("prefetch(%s, %d, begin)", c.Var, c.Distance)
	}
	return fmt.Sprintf("prefetch(%s, %d)", c.Var, c.Distance)
}

// maxDistance is how far ahead a loop may look: what comes later would be gone again.
const maxDistance = 256

// Apply implements Command.
func (c Prefetch) Apply(p *cin.Program) (*cin.Program, error) {
	if c.Distance < 1 || c.Distance > maxDistance {
		return nil, failf(c, "the distance has to be from 1 to %d", maxDistance)
	}
	return mark(c, p, c.Var, func(f *cin.Forall) { f.Prefetch, f.Begins = c.Distance, c.Begin })
}
