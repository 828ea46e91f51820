package libsparse

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// TestAssemblyOnThreads compares results whose patterns are found by one thread with those found by several, bit for bit,
// on operands that are large enough for a team.
func TestAssemblyOnThreads(t *testing.T) {
	matrix := func(name, f string) Operand {
		return Operand{Name: name, Format: f, Dtype: "f32", Shape: []int64{256, 256}, NNZ: 1 << 18}
	}
	for _, c := range []struct{ expr, a, b, out, want string }{
		{"C(i,k) = A(i,j) * B(j,k)", "ss", "ds", "ss", "parallelize(i, threads)"},
		{"C(i,k) = A(i,j) * B(j,k)", "ds", "ds", "uq", "parallelize(i, threads)"},
		{"C(i,j) = A(i,j) * B(i,j)", "ss", "ss", "ss", "parallelize(i0, threads)"},
		{"C(i,j) = A(i,j) + B(i,j)", "ss", "ss", "ss", "parallelize(i0, threads)"},
		{"C(i,j) = A(i,j) + B(i,j)", "ss", "ds", "sd", "parallelize(i0, threads)"},
		{"C(i,j) = A(i,j) + B(i,j)", "ss", "ss", "ds", "parallelize(i0, threads)"},
		{"C(i,j,k) = A(i,j) * B(j,k)", "ss", "ds", "dss", "parallelize(i, threads)"},
		{"C(i,j) = A(i,j)", "ds", "", "ds:1,0", "parallelize(i, threads)"},
		{"C(i,j) = A(i,j)", "ss", "", "ds:1,0", "parallelize(i, threads)"},
		{"C(i,j) = A(j,i)", "ds", "", "ss:1,0", "parallelize(j, threads)"},
		{"C(i,j) = A(i,j)", "ds", "", "ss:1,0", "assemble(insert)"},
		{"C(i,j) = A(i,j)", "ds", "", "uq:1,0", "parallelize(i, threads)"}, // a list
		{"C(i,k) = A(i,j) * B(j,k)", "ds:1,0", "ds", "ss", listed},
	} {
		t.Run(c.expr+" "+c.a+" "+c.b+" "+c.out, func(t *testing.T) {
			t.Parallel()
			r := &Request{Expr: c.expr, Operands: []Operand{matrix("A", c.a)}, Output: Output{Format: c.out}}
			if c.b != "" {
				r.Operands = append(r.Operands, matrix("B", c.b))
			}
			if c.want == listed {
				r.Schedule = listed
			}
			z := sizes{vars: map[index.Var]int{"i": 420, "j": 300}}
			if strings.Contains(c.expr, "k") {
				z.vars = map[index.Var]int{"i": 70, "j": 60, "k": 50}
			}
			sameOnThreads(t, newProgram(t, r, z, 0.6, rand.New(rand.NewPCG(1, 1)), nil), c.want)
		})
	}
}

// listed sums terms in a list that holds the whole result.
const listed = "reorder(j, i, k); precompute(all, w, at=0, list); parallelize(j, threads)"

func sameOnThreads(t *testing.T, p *program, want string) {
	found := p.unit.Request.Schedule != ""
	for _, c := range p.nest.Decision.Commands {
		found = found || c.String() == want
	}
	if !found {
		t.Errorf("the schedule is %v, want %s in it", p.nest.Decision.Commands, want)
	}
	compiled := crun.Compile(t, p.nest.Loops, crun.Options{Warnings: true})
	run := func(threads int) *format.Data {
		call := p.call()
		call.Threads = threads
		d, err := call.Result(func(fn string, args []ir.Arg) (int64, error) { return compiled.Run(t, []string{fn}, args), nil })
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one := run(1)
	for _, threads := range []int{2, 3, 7} {
		if !reflect.DeepEqual(run(threads), one) {
			t.Errorf("the result of %d threads differs from that of one", threads)
		}
	}
	got := index.NewDense(p.shape)
	for _, e := range one.Entries() {
		got.Set(e.Coord, e.Value)
	}
	a := p.nest.Assignment
	elem := a.LHS.Tensor.Elem
	if diff := different(elem, elem, filled(a.Assignment, got), filled(a.Assignment, a.Evaluate(p.extents, p.shape, p.data))); diff != "" {
		t.Error(diff)
	}
}
