package libsparse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lower"
)

// program is one compiled request with data: what the four meanings of an expression are compared on.
type program struct {
	state   *State
	extents map[index.Var]int
	shape   []int // of the result
	data    map[*index.Tensor]*index.Dense
	stored  []*format.Data // by operand, in the format that the kernel wants
	perms   [][]int64      // by operand: where its values are
}

// sizes are the extents of the variables, and of modes that are accessed through windows, by tensor and mode.
type sizes struct {
	vars  map[index.Var]int
	modes map[string]int
}

func (z sizes) shape(acc *index.Access) []int {
	shape := make([]int, len(acc.Vars))
	for m, v := range acc.Vars {
		shape[m] = z.vars[v]
		if acc.Window(m) != nil {
			shape[m] = z.modes[modeName(acc.Tensor.Name, m)]
		}
	}
	return shape
}

func modeName(tensor string, mode int) string { return fmt.Sprint(tensor, mode) }

// newProgram compiles a request and makes operands of the given density, unless given has them.
func newProgram(t testing.TB, r *Request, z sizes, density float64, rng *rand.Rand, given map[string]*index.Dense) *program {
	t.Helper()
	s, err := Lower(r, 32)
	if err != nil {
		t.Fatalf("%s: %v", describe(r), err)
	}
	p := &program{state: s, extents: z.vars, data: map[*index.Tensor]*index.Dense{}, stored: make([]*format.Data, len(s.Operands)), perms: make([][]int64, len(s.Operands))}
	p.shape = z.shape(s.Assignment.LHS)
	for _, a := range s.Program {
		for _, acc := range index.Accesses(a.RHS) {
			if slices.Contains(s.Operands, acc.Tensor) {
				p.fill(acc.Tensor, z.shape(acc), density, rng, given[acc.Tensor.Name])
			}
		}
	}
	return p
}

func describe(r *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s", r.Spec, r.Expr)
	for _, o := range r.Operands {
		fmt.Fprintf(&b, " %s:%s%v", o.Name, o.Format, o.Shape)
	}
	fmt.Fprintf(&b, " -> %q", r.Output.Format)
	return b.String()
}

func (p *program) fill(t *index.Tensor, shape []int, density float64, rng *rand.Rand, given *index.Dense) {
	if t.Format.Dense() {
		density = 1
	}
	d := index.NewDense(shape)
	if t.SamePattern != nil {
		copy(d.Stored, p.data[t.Owner()].Stored)
	}
	var entries []format.Entry
	for at := range d.Vals {
		if t.SamePattern == nil {
			d.Stored[at] = rng.Float64() < density
		}
		if given != nil {
			d.Stored[at] = given.Stored[at]
		}
		if !d.Stored[at] {
			continue
		}
		d.Vals[at] = float64(rng.IntN(7) - 3)
		if given != nil {
			d.Vals[at] = given.Vals[at]
		}
		coord := make([]int, len(shape))
		for m, rest := len(shape)-1, at; m >= 0; m-- {
			coord[m], rest = rest%shape[m], rest/shape[m]
		}
		entries = append(entries, format.Entry{Coord: coord, Value: d.Vals[at]})
	}
	p.data[t] = d
	for i, o := range p.state.Operands {
		if o == t {
			p.stored[i] = format.Pack(t.Format, shape, entries)
			for _, e := range p.stored[i].Entries() {
				d.Stored[d.At(e.Coord)] = true // a dense level below a sparse one stores whole blocks
			}
			p.shuffle(i, t, rng)
		}
	}
}

// shuffle puts the values of a permuted operand in an order of their own.
func (p *program) shuffle(i int, t *index.Tensor, rng *rand.Rand) {
	if !t.Permuted {
		return
	}
	vals := p.stored[i].Vals
	shuffled := make([]float64, len(vals))
	for at, to := range rng.Perm(len(vals)) {
		p.perms[i] = append(p.perms[i], int64(to))
		shuffled[to] = vals[at]
	}
	p.stored[i].Vals = shuffled
}

// args fills the slots of the kernel for the given phase; counts come from the assemble function.
func (p *program) args(counts map[int]int) []ir.Arg {
	k := p.state.Kernel
	operands := p.state.Assignment.Tensors()
	args := make([]ir.Arg, len(k.Layout))
	for i, slot := range k.Layout {
		var src *format.Data
		var perm []int64
		if slot.Operand >= 0 && slot.Operand < len(operands) {
			for j, o := range p.state.Operands {
				if o == operands[slot.Operand] {
					src, perm = p.stored[j], p.perms[j]
				}
			}
		}
		switch {
		case slot.Kind == "threads":
			args[i] = ir.ScalarArg(2)
		case slot.Kind == "extent":
			args[i] = ir.ScalarArg(int64(p.extents[index.Var(slot.Index)]))
		case slot.Kind == "mode" && slot.Operand == lower.Result:
			args[i] = ir.ScalarArg(int64(p.shape[slot.Level]))
		case slot.Kind == "mode":
			args[i] = ir.ScalarArg(int64(src.Shape[slot.Level]))
		case slot.Kind == "count":
			args[i] = ir.ScalarArg(int64(counts[slot.Level]))
		case slot.Operand == lower.Result:
			args[i] = ir.ArrayArg(ir.NewBuffer(k.Module.Slots[i].Array.Elem, p.room(slot, counts)))
		case slot.Kind == "vals":
			args[i] = ir.ArrayArg(values(k.Module.Slots[i].Array.Elem, src.Vals))
		case slot.Kind == "perm":
			args[i] = ir.ArrayArg(ir.Ints(k.Module.Slots[i].Array.Elem, perm...))
		case slot.Kind == "pos":
			args[i] = ir.ArrayArg(ir.Ints(k.Module.Slots[i].Array.Elem, src.Pos[slot.Level]...))
		default:
			args[i] = ir.ArrayArg(ir.Ints(k.Module.Slots[i].Array.Elem, src.Crd[slot.Level]...))
		}
	}
	return args
}

func values(t dtype.T, v []float64) *ir.Buffer {
	if t.IsFloat() {
		return ir.Floats(t, v...)
	}
	b := ir.NewBuffer(t, len(v))
	for i, x := range v {
		b.Int[i] = int64(x)
	}
	return b
}

// positions is how many positions a level of the result has; a group's count is that of its first level.
func (p *program) positions(level int, counts map[int]int) int {
	t := p.state.Assignment.LHS.Tensor
	n := 1
	for l := 0; l <= level; l++ {
		if t.Format.Levels[l].Props().Locate {
			n *= p.shape[t.Format.ModeOrder[l]]
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

func (p *program) room(slot lower.Slot, counts map[int]int) int {
	t := p.state.Assignment.LHS.Tensor
	switch {
	case slot.Kind == "pos":
		return p.positions(slot.Level-1, counts) + 1
	case slot.Kind == "crd":
		return p.positions(slot.Level, counts)
	case t.SamePattern != nil:
		for i, o := range p.state.Operands {
			if o == t.Owner() {
				return len(p.stored[i].Vals)
			}
		}
	}
	return p.positions(t.Order()-1, counts)
}

// runner runs one function of a module on args.
type runner func(fns []string, args []ir.Arg) (int64, error)

// result runs the kernel and returns what it computed, with every stored element marked.
func (p *program) result(run runner) (*index.Dense, error) {
	k := p.state.Kernel
	counts := map[int]int{}
	fns := []string{lower.ComputeName}
	early := p.args(counts)
	if k.Assembled {
		status, err := run([]string{lower.AssembleName}, early)
		if err != nil || status != 0 {
			return nil, fmt.Errorf("assemble: status %d: %w", status, err)
		}
		for i, slot := range k.Layout {
			if slot.Kind == "count" {
				counts[slot.Level] = int(*early[i].Scalar)
			}
		}
	}
	args := p.args(counts)
	for i, slot := range k.Layout {
		if slot.Before == "assemble" {
			args[i] = early[i]
		}
	}
	status, err := run(fns, args)
	if err != nil || status != 0 {
		return nil, fmt.Errorf("compute: status %d: %w", status, err)
	}
	return p.unpack(args), nil
}

func (p *program) unpack(args []ir.Arg) *index.Dense {
	t, shape := p.state.Assignment.LHS.Tensor, p.shape
	d := &format.Data{Format: t.Format, Shape: shape, Pos: make([][]int64, t.Order()), Crd: make([][]int64, t.Order())}
	if t.SamePattern != nil {
		for i, o := range p.state.Operands {
			if o == t.Owner() {
				d.Pos, d.Crd = p.stored[i].Pos, p.stored[i].Crd
			}
		}
	}
	for i, slot := range p.state.Kernel.Layout {
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
			d.Vals = b.Float
			if !b.Elem.IsFloat() {
				for _, x := range b.Int {
					d.Vals = append(d.Vals, float64(x))
				}
			}
		}
	}
	out := index.NewDense(shape)
	for _, e := range d.Entries() {
		out.Set(e.Coord, e.Value)
	}
	return out
}

// different says where two results differ; elements that are not stored count as zero.
func different(got, want *index.Dense) string {
	for i := range want.Vals {
		if got.Vals[i] == want.Vals[i] || math.IsNaN(got.Vals[i]) && math.IsNaN(want.Vals[i]) {
			continue // infinities among them
		}
		if math.Abs(got.Vals[i]-want.Vals[i]) > 1e-4*(1+math.Abs(want.Vals[i])) || math.IsNaN(got.Vals[i]) {
			return fmt.Sprintf("element %d of %v: got %g, want %g", i, want.Shape, got.Vals[i], want.Vals[i])
		}
	}
	return ""
}

// filled is d with the elements that are not stored set to what they mean: the identity of the reduction.
func filled(a *index.Assignment, d *index.Dense) *index.Dense {
	if len(a.Reduced()) == 0 {
		return d
	}
	identity, _ := a.Reduce.Identity()
	for i, stored := range d.Stored {
		if !stored {
			d.Vals[i] = identity
		}
	}
	return d
}

// agree compares the meanings of a program: dense evaluator, concrete index notation, loop IR before and after the
// passes, and C where compiled is set.
func (p *program) agree(t testing.TB, r *Request, compiled bool) {
	t.Helper()
	fill := func(d *index.Dense) *index.Dense { return filled(p.state.Assignment, d) }
	want := fill(p.state.Assignment.Evaluate(p.extents, p.shape, p.data))
	if diff := different(fill(p.state.Scheduled.Evaluate(p.extents, p.shape, p.data)), want); diff != "" {
		t.Fatalf("%s: concrete index notation: %s\n%s", describe(r), diff, p.state.Scheduled)
	}
	check := func(stage string, m *ir.Module, run runner) {
		got, err := p.result(run)
		if err != nil {
			t.Fatalf("%s: %s: %v\n%s\n%s", describe(r), stage, err, p.state.Scheduled, m)
		}
		if diff := different(fill(got), want); diff != "" {
			t.Fatalf("%s: %s: %s\n%s\n%s", describe(r), stage, diff, p.state.Scheduled, m)
		}
	}
	for stage, m := range map[string]*ir.Module{"loops": p.state.Kernel.Module, "passes": p.state.Loops} {
		check(stage, m, func(fns []string, args []ir.Arg) (status int64, err error) {
			for _, fn := range fns {
				if status, err = ir.Run(m, fn, args); err != nil || status != 0 {
					break
				}
			}
			return status, err
		})
	}
	if compiled {
		prog := crun.Compile(t, p.state.Loops, crun.Options{Warnings: true, Sanitize: true})
		check("C", p.state.Loops, func(fns []string, args []ir.Arg) (int64, error) { return prog.Run(t, fns, args), nil })
	}
}
