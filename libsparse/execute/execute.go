// Package execute calls lowered kernels on packed tensors: it fills the slots, runs the two phases, and reads the result.
// It is what the interpreters, the tests and the command line share; Python does the same for torch's tensors.
//
// It must not know how a function is run: that is the caller's Runner.
package execute

import (
	"fmt"

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
	Assignment *index.Assignment
	Kernel     *lower.Kernel
	Extents    map[index.Var]int
	// Shape is that of the result.
	Shape   []int
	Threads int
	// Stored holds the operands in the formats that the kernel wants, Perms where the values of permuted ones are.
	Stored map[*index.Tensor]*format.Data
	Perms  map[*index.Tensor][]int64
}

// Status is what a kernel returned in place of a result.
type Status struct {
	Function string
	Code     int64
}

func (s *Status) Error() string { return fmt.Sprintf("%s: status %d", s.Function, s.Code) }

// Result runs the kernel.
func (c *Call) Result(run Runner) (*format.Data, error) {
	counts := map[int]int{}
	early := c.args(counts)
	if c.Kernel.Assembled {
		status, err := run(lower.AssembleName, early)
		if err != nil {
			return nil, fmt.Errorf("assemble: %w", err)
		}
		if status != ir.OK {
			return nil, &Status{"assemble", status}
		}
		for i, slot := range c.Kernel.Layout {
			if slot.Kind == "count" {
				counts[slot.Level] = int(*early[i].Scalar)
			}
		}
	}
	args := c.args(counts)
	for i, slot := range c.Kernel.Layout {
		if slot.Before == "assemble" {
			args[i] = early[i]
		}
	}
	status, err := run(lower.ComputeName, args)
	if err != nil {
		return nil, fmt.Errorf("compute: %w", err)
	}
	if status != ir.OK {
		return nil, &Status{"compute", status}
	}
	return c.unpack(args), nil
}

// args fills the slots; counts come from the assemble function.
func (c *Call) args(counts map[int]int) []ir.Arg {
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
		case slot.Kind == "extent":
			args[i] = ir.ScalarArg(int64(c.Extents[index.Var(slot.Index)]))
		case slot.Kind == "mode" && slot.Operand == lower.Result:
			args[i] = ir.ScalarArg(int64(c.Shape[slot.Level]))
		case slot.Kind == "mode":
			args[i] = ir.ScalarArg(int64(c.Stored[t].Shape[slot.Level]))
		case slot.Kind == "count":
			args[i] = ir.ScalarArg(int64(counts[slot.Level]))
		case slot.Operand == lower.Result:
			args[i] = ir.ArrayArg(ir.NewBuffer(array.Elem, c.room(slot, counts)))
		case slot.Kind == "vals":
			args[i] = ir.ArrayArg(values(array.Elem, c.Stored[t].Vals))
		case slot.Kind == "perm":
			args[i] = ir.ArrayArg(ir.Ints(array.Elem, c.Perms[t]...))
		case slot.Kind == "pos":
			args[i] = ir.ArrayArg(ir.Ints(array.Elem, c.Stored[t].Pos[slot.Level]...))
		default:
			args[i] = ir.ArrayArg(ir.Ints(array.Elem, c.Stored[t].Crd[slot.Level]...))
		}
	}
	return args
}

func values(t dtype.T, v []dtype.Value) *ir.Buffer {
	b := ir.NewBuffer(t, len(v))
	for i, x := range v {
		b.Set(i, x)
	}
	return b
}

// positions is how many positions a level of the result has; a group's count is that of its first level.
func (c *Call) positions(level int, counts map[int]int) int {
	t := c.Assignment.LHS.Tensor
	n := 1
	first, laid := lower.Conversion(c.Assignment)
	for l := 0; l <= level; l++ {
		if laid && l < first { // as in the operand
			d := c.Stored[c.Assignment.Tensors()[0]]
			_, n = t.Format.Levels[l].Unpack(d.Pos[l], d.Crd[l], c.geometry(l, n))
			continue
		}
		if t.Format.Levels[l].Props().Locate {
			n *= c.Shape[t.Format.ModeOrder[l]]
			continue
		}
		if kind, ok := t.Format.Levels[l].(format.Layouter); ok {
			n = kind.Places(counts[l], n)
			continue
		}
		for _, g := range t.Format.Groups() {
			if g.First <= l && l <= g.Last {
				n = counts[g.First]
			}
		}
	}
	return n
}

// geometry is what surrounds a level of the result.
func (c *Call) geometry(level, parents int) format.Geometry {
	order := c.Assignment.LHS.Tensor.Format.ModeOrder
	g := format.Geometry{Extent: c.Shape[order[level]], Rows: 1, Parents: parents}
	if level > 0 {
		g.Rows = c.Shape[order[level-1]]
	}
	return g
}

func (c *Call) room(slot lower.Slot, counts map[int]int) int {
	t := c.Assignment.LHS.Tensor
	switch {
	case slot.Kind == "starts":
		return slot.Length
	case slot.Kind == "pos" && t.Format.Levels[slot.Level].Props().ConversionOnly && t.SamePattern == nil:
		g := c.geometry(slot.Level, c.positions(slot.Level-1, counts))
		return t.Format.Levels[slot.Level].(format.Layouter).PosLen(g)
	case slot.Kind == "crd" && t.Format.Levels[slot.Level].Props().ConversionOnly && !t.Format.Levels[slot.Level].Props().Locate && t.SamePattern == nil:
		return counts[slot.Level]
	case slot.Kind == "pos":
		return c.positions(slot.Level-1, counts) + 1
	case slot.Kind == "crd":
		return c.positions(slot.Level, counts)
	case t.SamePattern != nil:
		return len(c.Stored[t.Owner()].Vals)
	default:
		return c.positions(t.Order()-1, counts)
	}
}

func (c *Call) unpack(args []ir.Arg) *format.Data {
	t := c.Assignment.LHS.Tensor
	d := &format.Data{Format: t.Format, Shape: c.Shape, Pos: make([][]int64, t.Order()), Crd: make([][]int64, t.Order())}
	if t.SamePattern != nil {
		owner := c.Stored[t.Owner()]
		d.Pos, d.Crd = owner.Pos, owner.Crd
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
