package libsparse

import (
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/lower"
	"libsparse/libsparse/schedule"
)

// Nest is one assignment on its way to a kernel: what each stage of NestStages leaves for those after it.
type Nest struct {
	Assignment bind.Assignment
	Operands   []*index.Tensor // in the order of the request, or of a step's text
	Output     Output
	// Schedule is the caller's, as text; where it is empty, autoschedule chooses.
	Schedule string
	Machine  autoschedule.Machine
	Backend  backend.Backend
	// Inferred says that the result has a format of its own, and not everywhere a value.
	Inferred bool

	fused   bool     // it computes two steps, of which the second is an epilogue
	rowwise *rowwise // the steps that it computes row by row, nil where they have a nest each

	Naive     *cin.Program
	Decision  *autoschedule.Decision
	Script    *schedule.Script // of the caller's schedule, or nil
	Scheduled *cin.Program
	Lattices  *lattice.Table // of the loops of Scheduled
	Kernel    *lower.Kernel
	Loops     *ir.Module // after the passes
	Source    string
}

// packs reports whether a is a copy into a format that is laid out as a whole, which isn't scheduled.
func packs(a bind.Assignment) bool {
	_, ok := lower.Conversion(a)
	return ok
}

func concretize(n *Nest) error {
	switch {
	case n.fused:
		n.Naive = n.epilogue().program(n.Assignment)
	case n.rowwise != nil:
		n.Naive = n.rowwise.program(n.Assignment)
	default:
		n.Naive = cin.Concretize(n.Assignment)
	}
	if n.Naive == nil {
		return diag.Errorf(diag.Unsupported, "%s: the sum does not visit every element of the result", n.Assignment)
	}
	return nil
}

// decide chooses the commands, or reads those of the caller.
func decide(n *Nest) error {
	if n.Schedule != "" {
		return n.readSchedule()
	}
	if level, ok := lower.Conversion(n.Assignment); ok {
		n.Decision = &autoschedule.Decision{Summary: fmt.Sprintf("positions are copied, and level %d is laid out", level)}
		return nil
	}
	if lower.Gather(n.Assignment) {
		n.Decision = &autoschedule.Decision{Summary: "rows are copied"}
		return nil
	}
	if n.Assignment.Pooling() != nil {
		n.Decision = autoschedule.OnePass(n.Assignment)
		return nil
	}
	if slices.ContainsFunc(n.Assignment.Tensors(), func(t *index.Tensor) bool { return n.Assignment.Of(t).Format.Equal(format.Selection) }) {
		return diag.Errorf(diag.Unsupported, "%s: a selection (dq) selects rows of a matrix with compressed rows, in the format of that", n.Assignment)
	}
	var err error
	switch {
	case n.fused:
		n.Decision, err = autoschedule.DecideInPlace(n.epilogue().sum, n.Machine)
	case n.rowwise != nil:
		n.Decision = n.rowwise.decide(n)
	default:
		n.Decision, err = autoschedule.DecideFor(n.Assignment, n.Machine)
	}
	if err == nil {
		n.convert()
	}
	return err
}

// convert describes operands as the decision wants them stored.
func (n *Nest) convert() {
	if len(n.Decision.Conversions) == 0 {
		return
	}
	n.Assignment = autoschedule.Convert(n.Assignment, n.Decision.Conversions)
	_ = concretize(n) // apply refuses a nest without a program
}

func (n *Nest) readSchedule() error {
	script, err := schedule.Parse(n.Schedule)
	if err != nil {
		return err
	}
	n.Script = script
	n.Decision = &autoschedule.Decision{Summary: "the schedule is the caller's", Commands: script.Commands}
	for _, c := range script.Commands {
		if c, ok := c.(schedule.Convert); ok {
			t, err := c.Of(n.Assignment)
			if err != nil {
				return err
			}
			n.Decision.Conversions = append(n.Decision.Conversions, autoschedule.Conversion{Tensor: t, To: c.To, Values: c.Values})
		}
	}
	n.convert()
	return nil
}

func apply(n *Nest) (err error) {
	if n.fused {
		return n.applyBeforeEpilogue()
	}
	naive := *n.Naive
	naive.Team = autoschedule.Team(n.Assignment, n.Machine)
	naive.RowsTogether = autoschedule.RowsTogether(n.Assignment, n.Machine)
	if n.Script != nil {
		n.Scheduled, err = n.Script.Apply(&naive)
		return err
	}
	if n.Scheduled, err = schedule.Apply(&naive, n.Decision.Commands); err == nil {
		n.Scheduled = termsApart(n.Scheduled, n.Machine)
	}
	return err
}

func buildLattices(n *Nest) error {
	n.Lattices = lattice.Of(n.Scheduled)
	return nil
}

func lowerLoops(n *Nest) error {
	k, err := lower.Lower(n.Scheduled, n.Lattices)
	if err != nil {
		return err
	}
	k.Module.Doc = n.doc()
	n.Kernel = k
	return nil
}

// doc is the header of the generated C.
func (n *Nest) doc() []string {
	lines := []string{n.Assignment.String()}
	lines = append(lines, strings.Split(strings.TrimSpace(n.Formats()), "\n")...)
	for _, c := range n.Decision.Commands {
		lines = append(lines, c.String())
	}
	return append(lines, n.Decision.Notes...)
}

func optimize(n *Nest) error {
	n.Loops = ir.Optimize(n.Kernel.Module, n.Backend)
	return nil
}

func emit(n *Nest) (err error) {
	n.Source, err = n.Backend.Emit(n.Loops)
	return err
}
