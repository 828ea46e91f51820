package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Adjacent says that neighbouring rows, which are summed in lanes, mostly have neighbouring coordinates at each step of the loop over Var, as on diagonals and in
// bands: their elements of a dense operand are then one load, after a test. Where rows aren't summed in lanes, it does nothing.
type Adjacent struct{ Var index.Var }

func (c Adjacent) String() string { return fmt.Sprintf("adjacent(%s)", c.Var) }

// Apply implements Command.
func (c Adjacent) Apply(p *cin.Program) (*cin.Program, error) {
	return mark(c, p, c.Var, func(f *cin.Forall) { f.Adjacent = true })
}
