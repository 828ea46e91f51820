package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Gather has sums in lanes read eight float32 elements at coordinates of the loop over Var by one instruction, where vectors have so many lanes and
// the processor has it: those since AVX2, some of which take longer for it than for eight loads. Where two vectors of four lanes take turns, they
// become one of eight, whose lanes are added up in the order of such a vector.
type Gather struct{ Var index.Var }

func (c Gather) String() string { return fmt.Sprintf("gather(%s)", c.Var) }

// Apply implements Command.
func (c Gather) Apply(p *cin.Program) (*cin.Program, error) {
	return mark(c, p, c.Var, func(f *cin.Forall) { f.Gather = true })
}
