// Package execute calls lowered kernels on packed tensors: it fills the slots, runs the two phases, and reads the result.
// The interpreters, the tests and the command line share it; Python does the same for torch's tensors.
//
// It must not know how a function is run: that is the caller's Runner.
package execute

import (
	"fmt"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lower"
)

// Runner runs one function of a kernel on args and returns its status.
type Runner func(fn string, args []ir.Arg) (int64, error)

// Call is a kernel with its operands.
type Call struct {
	Assignment bind.Assignment
	Kernel     *lower.Kernel
	Extents    map[index.Var]int
	// Shape is that of the result.
	Shape   []int
	Threads int
	// Stored holds the operands in the formats that the kernel wants, Perms where the values of permuted ones are.
	Stored map[*index.Tensor]*format.Data
	Perms  map[*index.Tensor][]int64
}

// Status is the error that a kernel returned in place of a result.
type Status struct {
	Function string
	Code     int64
}

func (s *Status) Error() string { return fmt.Sprintf("%s: status %d", s.Function, s.Code) }

// Result runs the kernel.
func (c *Call) Result(run Runner) (*format.Data, error) {
	args := c.args()
	if c.Kernel.Bounded {
		if err := c.phase(run, lower.BoundName, "bound", args); err != nil {
			return nil, err
		}
	}
	if c.Kernel.Assembled {
		if err := c.phase(run, lower.AssembleName, "assemble", args); err != nil {
			return nil, err
		}
	}
	if err := c.phase(run, lower.ComputeName, "compute", args); err != nil {
		return nil, err
	}
	if c.Kernel.Revalued {
		if err := c.revalue(run, args); err != nil {
			return nil, err
		}
		coded := slices.IndexFunc(c.Kernel.Layout, func(s lower.Slot) bool { return s.Kind == "coded" })
		if coded >= 0 {
			args[coded] = ir.ScalarArg(1)
			if err := c.revalue(run, args); err != nil {
				return nil, err
			}
		}
	}
	return c.unpack(args), nil
}

// revalue computes the values once more, and compares them: what repeats a call has the same bits.
func (c *Call) revalue(run Runner, args []ir.Arg) error {
	at := slices.IndexFunc(c.Kernel.Layout, func(s lower.Slot) bool { return s.Operand == lower.Result && s.Kind == "vals" })
	first := args[at].Array
	args[at] = ir.ArrayArg(ir.NewBuffer(first.Elem, first.Len()))
	for i, slot := range c.Kernel.Layout {
		if slot.Before == "revalue" && args[i].Array.Len() == 0 {
			args[i] = ir.ArrayArg(ir.NewBuffer(c.Kernel.Module.Slots[i].Array.Elem, first.Len()))
		}
	}
	status, err := run(lower.RevalueName, args)
	if err != nil {
		return fmt.Errorf("revalue: %w", err)
	}
	if status != ir.OK {
		return &Status{lower.RevalueName, status}
	}
	for i := range first.Len() {
		if again := args[at].Array.At(i); fmt.Sprint(again) != fmt.Sprint(first.At(i)) {
			return fmt.Errorf("revalue: value %d is %v, and %v when it is computed again", i, first.At(i), again)
		}
	}
	return nil
}

// phase makes the arrays that a function is the first to need, and runs it.
func (c *Call) phase(run Runner, fn, name string, args []ir.Arg) error {
	lengths := map[int]int{}
	for i, slot := range c.Kernel.Layout {
		if slot.Before == name {
			n, err := c.Kernel.Len(i, args)
			if err != nil {
				return err
			}
			lengths[i] = n
		}
	}
	for i, n := range lengths {
		args[i] = ir.ArrayArg(ir.NewBuffer(c.Kernel.Module.Slots[i].Array.Elem, n))
	}
	status, err := run(fn, args)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if status != ir.OK {
		return &Status{name, status}
	}
	return nil
}

// args fills the slots, those of the result's arrays with empty ones.
func (c *Call) args() []ir.Arg {
	operands := c.Assignment.Tensors()
	args := make([]ir.Arg, len(c.Kernel.Layout))
	for i, slot := range c.Kernel.Layout {
		var t *index.Tensor
		if slot.Operand >= 0 && slot.Operand < len(operands) {
			t = operands[slot.Operand]
		}
		array := c.Kernel.Module.Slots[i].Array
		switch {
		case slot.Kind == "threads":
			args[i] = ir.ScalarArg(int64(c.Threads))
		case slot.Kind == "streamed":
			args[i] = ir.ScalarArg(1)
		case slot.Kind == "extent":
			args[i] = ir.ScalarArg(int64(c.Extents[index.Var(slot.Index)]))
		case slot.Kind == "mode" && slot.Operand == lower.Result:
			args[i] = ir.ScalarArg(int64(c.Shape[slot.Level]))
		case slot.Kind == "mode":
			args[i] = ir.ScalarArg(int64(c.Stored[t].Shape[slot.Level]))
		case slices.Contains([]string{"count", "bound", "coded"}, slot.Kind):
			args[i] = ir.ScalarArg(0)
		case slot.Operand == lower.Result:
			args[i] = ir.ArrayArg(ir.NewBuffer(array.Elem, 0))
		case slot.Kind == "vals":
			args[i] = ir.ArrayArg(values(array.Elem, c.Stored[t].Vals))
		default:
			args[i] = ir.ArrayArg(ir.Ints(array.Elem, c.structure(t, slot)...))
		}
	}
	return args
}

// structure is one of the arrays beside its values that a kernel reads of an operand.
func (c *Call) structure(t *index.Tensor, slot lower.Slot) []int64 {
	switch slot.Kind {
	case "perm":
		return c.Perms[t]
	case "order":
		return byLength(c.Stored[t].Pos[1])
	case "pos":
		return c.Stored[t].Pos[slot.Level]
	default:
		return c.Stored[t].Crd[slot.Level]
	}
}

// byLength is the numbers of the rows between positions, the longest first.
func byLength(pos []int64) []int64 {
	rows := make([]int64, len(pos)-1)
	for i := range rows {
		rows[i] = int64(i)
	}
	slices.SortStableFunc(rows, func(a, b int64) int { return int(pos[b+1] - pos[b] - pos[a+1] + pos[a]) })
	return rows
}

func values(t dtype.T, v []dtype.Value) *ir.Buffer {
	b := ir.NewBuffer(t, len(v))
	for i, x := range v {
		b.Set(i, x)
	}
	return b
}

func (c *Call) unpack(args []ir.Arg) *format.Data {
	s := c.Assignment.Result()
	d := &format.Data{Format: s.Format, Shape: c.Shape, Pos: make([][]int64, s.Format.Order()), Crd: make([][]int64, s.Format.Order())}
	if s.SamePattern != nil {
		owner := c.Stored[c.Assignment.Owner(s.SamePattern)]
		copy(d.Pos, owner.Pos)
		copy(d.Crd, owner.Crd)
	}
	if first, laid := lower.Conversion(c.Assignment); laid {
		above := c.Stored[c.Assignment.Tensors()[0]]
		copy(d.Pos[:first], above.Pos)
		copy(d.Crd[:first], above.Crd)
	}
	for i, slot := range c.Kernel.Layout {
		if slot.Operand != lower.Result || args[i].Array == nil {
			continue
		}
		b := args[i].Array
		switch slot.Kind {
		case "pos":
			d.Pos[slot.Level] = b.Int
		case "crd":
			d.Crd[slot.Level] = b.Int
		case "vals":
			d.Vals = make([]dtype.Value, b.Len())
			for k := range d.Vals {
				d.Vals[k] = b.At(k)
			}
		}
	}
	return d
}
