package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Order has a loop over all rows of a sparse operand visit rows of similar length one after the other, so that processors foresee how long each
// is. The order is worked out once for a pattern; where the loop has to visit rows as they come, the command does nothing.
type Order struct {
	Var index.Var
	Of  string
}

func (c Order) String() string { return fmt.Sprintf("order(%s, %s)", c.Var, c.Of) }

// Apply implements Command.
func (c Order) Apply(p *cin.Program) (*cin.Program, error) {
	accesses := index.Accesses(p.Source.RHS)
	at := slices.IndexFunc(accesses, func(a *index.Access) bool { return a.Tensor.Name == c.Of })
	if at < 0 {
		return nil, failf(c, "there is no operand %s", c.Of)
	}
	if !cin.HasRows(p.Source, accesses[at], c.Var) {
		return nil, failf(c, "%s is stored as %q and not by rows over %s, as in \"ds\"", accesses[at], p.Source.Of(accesses[at].Tensor).Format, c.Var)
	}
	return mark(c, p, c.Var, func(f *cin.Forall) { f.Order = accesses[at].Tensor })
}
