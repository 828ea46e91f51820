package libsparse

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/execute"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// program is one compiled request with data: what the four meanings of an expression are compared on.
type program struct {
	unit    *Compilation
	nest    *Nest // the last one
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
	s, err := Lower(r, avx2)
	undefined := func(o Operand) bool { // a pattern without values counts as bool beside a comparison
		return !dtype.T(o.Dtype).IsFloat() || o.PatternOnly && strings.Contains(err.Error(), "not defined for bool")
	}
	if err != nil && diag.From(err).Kind == diag.Dtype && slices.ContainsFunc(r.Operands, undefined) {
		t.Skip(err) // complex values have no order, booleans no difference, integers no sine
	}
	if err != nil {
		t.Fatalf("%s: %v", describe(r), err)
	}
	p := &program{unit: s, nest: s.Nests[len(s.Nests)-1], extents: z.vars, data: map[*index.Tensor]*index.Dense{}, stored: make([]*format.Data, len(s.Operands)), perms: make([][]int64, len(s.Operands))}
	p.shape = z.shape(s.Result())
	for _, a := range s.Program {
		for _, acc := range index.Accesses(a.RHS) {
			if slices.Contains(s.Operands, acc.Tensor) {
				p.fill(t, acc.Tensor, z.shape(acc), density, rng, given[acc.Tensor.Name])
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
	fmt.Fprintf(&b, " -> %q %s", r.Output.Format, r.Schedule)
	return b.String()
}

func (p *program) fill(tb testing.TB, t *index.Tensor, shape []int, density float64, rng *rand.Rand, given *index.Dense) {
	s := p.unit.Storage.Of(t)
	if s.Format.Dense() {
		density = 1
	}
	d := index.NewDense(shape)
	if s.SamePattern != nil {
		copy(d.Stored, p.data[p.unit.Storage.Owner(t)].Stored)
	}
	var entries []format.Entry
	for at := range d.Vals {
		if s.SamePattern == nil {
			d.Stored[at] = rng.Float64() < density
		}
		if given != nil {
			d.Stored[at] = given.Stored[at]
		}
		if !d.Stored[at] {
			continue
		}
		d.Vals[at] = randomValue(rng, t.Elem, p.nest.Assignment.LHS.Tensor.Elem)
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
	for i, o := range p.unit.Operands {
		if o == t {
			if len(p.unit.Nests) == 1 {
				s = p.nest.Assignment.Of(t) // as it is converted
			}
			asked := format.MustParse(p.unit.Request.Operands[i].Format)
			entries = format.Pack(asked, shape, entries).Entries() // a dense level below a sparse one stores whole blocks
			for _, e := range entries {
				d.Stored[d.At(e.Coord)] = true
			}
			p.stored[i] = format.Pack(s.Format, shape, entries)
			for _, e := range p.stored[i].Entries() {
				if !d.Stored[d.At(e.Coord)] && p.nest.Script == nil {
					tb.Fatalf("%s: converted from %q to %q, %s stores %v too", p.nest.Assignment, asked, s.Format, t.Name, e.Coord)
				}
				d.Stored[d.At(e.Coord)] = true
			}
			p.shuffle(i, s, rng)
		}
	}
}

// shuffle puts the values of a permuted operand in an order of their own.
func (p *program) shuffle(i int, s *bind.Storage, rng *rand.Rand) {
	if !s.Permuted {
		return
	}
	vals := p.stored[i].Vals
	shuffled := make([]dtype.Value, len(vals))
	for at, to := range rng.Perm(len(vals)) {
		p.perms[i] = append(p.perms[i], int64(to))
		shuffled[to] = vals[at]
	}
	p.stored[i].Vals = shuffled
}

// call is a call of the kernel.
func (p *program) call() *execute.Call {
	n := p.nest
	call := &execute.Call{
		Assignment: n.Assignment, Kernel: n.Kernel, Extents: p.extents, Shape: p.shape, Threads: 2,
		Stored: map[*index.Tensor]*format.Data{}, Perms: map[*index.Tensor][]int64{},
	}
	for i, t := range n.Operands {
		call.Stored[t], call.Perms[t] = p.stored[i], p.perms[i]
	}
	return call
}

// result runs the kernel and returns what it computed, with every stored element marked.
func (p *program) result(run execute.Runner) (*index.Dense, error) {
	d, err := p.call().Result(run)
	if err != nil {
		return nil, err
	}
	out := index.NewDense(d.Shape)
	for _, e := range d.Entries() {
		out.Set(e.Coord, e.Value)
	}
	return out, nil
}

// filled is d with the elements that are not stored set to what they mean: the identity of the reduction.
func filled(a *index.Assignment, d *index.Dense) *index.Dense {
	identity := identityOf(a.Reduce, a.LHS.Tensor.Elem)
	for i, stored := range d.Stored {
		if !stored {
			d.Vals[i] = identity
		}
	}
	return d
}

// compiledCheck compares the C of a kernel with the meaning that the interpreters have agreed on. It is kept until many kernels
// can be compiled as one unit.
type compiledCheck struct {
	module *ir.Module
	verify func(t testing.TB, run execute.Runner)
}

// runAll compiles the kernels of checks as one unit and makes the checks.
func runAll(t testing.TB, checks []compiledCheck, opts crun.Options) {
	t.Helper()
	modules := make([]*ir.Module, len(checks))
	for k, c := range checks {
		modules[k] = c.module
	}
	unit := crun.CompileUnit(t, modules, opts)
	for k, c := range checks {
		c.verify(t, unit.Runner(t, k))
	}
	if err := unit.Close(); err != nil {
		t.Fatal(err)
	}
}

// agree compares the meanings of a program: dense evaluator, concrete index notation, loop IR before and after the
// passes. It returns what is left to compare, the C.
func (p *program) agree(t testing.TB, r *Request) compiledCheck {
	t.Helper()
	fill := func(d *index.Dense) *index.Dense { return filled(p.nest.Assignment.Assignment, d) }
	elem := p.nest.Assignment.LHS.Tensor.Elem
	exact := p.nest.Evaluate(p.extents, p.shape, p.data)
	want := fill(exact)
	scheduled := fill(p.nest.Scheduled.Evaluate(p.extents, p.shape, p.data))
	if scheduled.DividedByZero != want.DividedByZero {
		t.Fatalf("%s: concrete index notation: divided by zero: %v, want %v\n%s", describe(r), scheduled.DividedByZero, want.DividedByZero, p.nest.Scheduled)
	}
	if diff := different(elem, elem.Wide(), scheduled, want); diff != "" && !want.DividedByZero {
		t.Fatalf("%s: concrete index notation: %s\n%s", describe(r), diff, p.nest.Scheduled)
	}
	check := func(t testing.TB, stage string, m *ir.Module, run execute.Runner) {
		t.Helper()
		got, err := p.result(run)
		if status := (*execute.Status)(nil); want.DividedByZero {
			if !errors.As(err, &status) || status.Code != ir.DividedByZero {
				t.Fatalf("%s: %s: error %v, want a division by zero\n%s\n%s", describe(r), stage, err, p.nest.Scheduled, m)
			}
			return
		}
		if err != nil {
			t.Fatalf("%s: %s: %v\n%s\n%s", describe(r), stage, err, p.nest.Scheduled, m)
		}
		if diff := different(elem, elem, fill(got), want); diff != "" {
			t.Fatalf("%s: %s: %s\n%s\n%s", describe(r), stage, diff, p.nest.Scheduled, m)
		}
		if diff := p.storedElsewhere(got.Stored, exact.Stored); diff != "" {
			t.Fatalf("%s: %s: %s\n%s\n%s", describe(r), stage, diff, p.nest.Scheduled, m)
		}
	}
	for stage, m := range map[string]*ir.Module{"loops": p.nest.Kernel.Module, "passes": p.nest.Loops} {
		check(t, stage, m, func(fn string, args []ir.Arg) (int64, error) {
			return ir.RunWith(m, fn, args, ir.RunOptions{Shuffle: 1}) // threads take iterations in any order
		})
	}
	return compiledCheck{p.nest.Loops, func(t testing.TB, run execute.Runner) { check(t, "C", p.nest.Loops, run) }}
}

// storedElsewhere says where a result stores what it shouldn't, or the other way round: what has a term, and in the blocks of dense
// levels below the last one that says so, what stands beside it.
func (p *program) storedElsewhere(got, terms []bool) string {
	f := p.nest.Assignment.Result().Format
	if strings.ContainsAny(f.String(), "ko") || p.nest.Assignment.Result().SamePattern != nil {
		return "" // blocks and diagonals hold what stands beside entries too, and patterns what no term reaches
	}
	kept := slices.Clone(f.ModeOrder)
	for len(kept) > 0 && f.Levels[len(kept)-1].Props().Full {
		kept = kept[:len(kept)-1]
	}
	block := func(at int) (out int) {
		coord := make([]int, len(p.shape))
		for m := len(p.shape) - 1; m >= 0; m-- {
			coord[m], at = at%p.shape[m], at/p.shape[m]
		}
		for _, m := range kept {
			out = out*p.shape[m] + coord[m]
		}
		return out
	}
	held := map[int]bool{}
	for at, has := range terms {
		held[block(at)] = held[block(at)] || has
	}
	for at, has := range got {
		if want := held[block(at)] || len(kept) == 0; has != want {
			return fmt.Sprintf("element %d of %v: stored %t, want %t", at, p.shape, has, want)
		}
	}
	return ""
}
