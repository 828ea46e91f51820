package asymptotic

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// parse reads an assignment; formats is "B:ds C:ds", what it doesn't name is dense.
func parse(t testing.TB, text, formats string) bind.Assignment {
	t.Helper()
	given := map[string]string{}
	for _, part := range strings.Fields(formats) {
		name, f, _ := strings.Cut(part, ":")
		given[name] = f
	}
	return bindtest.Parse(t, text, given)
}

// kernels is figure 6 of the paper, and the kernel of its artifact that figure 6 leaves out. docs/asymptotic.md says why
// 20, 352 and 20 aren't 24, 384 and 23.
var kernels = []struct {
	name, text, formats                            string
	universe, frontier, tacoUniverse, tacoFrontier int
}{
	{"SpMV", "a(i) = B(i,j) * c(j)", "B:ds", 8, 4, 4, 4},
	{"SpMV2", "a(i) = B(i,j) * C(j,k) * d(k)", "B:ds C:ds", 144, 28, 20, 20},
	{"SpGEMM", "A(i,j) = B(i,k) * C(j,k)", "A:ds B:ds C:ds", 96, 12, 16, 4},
	{"SpGEMM2", "A(i,j) = B(i,k) * C(k,l) * D(j,l)", "A:ds B:ds C:ds D:ds", 20736, 292, 32, 4},
	{"SpGEMMH", "A(i,j) = B(i,k) * C(j,k) * D(j,k)", "A:ds B:ds C:ds D:ds", 102272, 204, 144, 4},
	{"SpMTTKRP", "A(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "A:ds B:dss C:ds D:ds", 3631104, 30, 352, 20},
	{"SSpGEMM", "A(i,j) = B(i,j) * C(i,k) * D(j,k)", "A:ds B:ds C:ds D:ds", 119296, 20, 0, 0},
}

// large is the universe from which on a kernel is a slow test, with LIBSPARSE_SLOW=1.
const large = 1_000_000

func TestTable(t *testing.T) {
	for _, k := range kernels {
		t.Run(k.name, func(t *testing.T) {
			a := parse(t, k.text, k.formats)
			check := func(o Options, universe, frontier int) {
				f, err := Explore(a, o)
				if err != nil {
					t.Fatal(err)
				}
				if f.Universe != int64(universe) || f.Programs() != frontier {
					t.Errorf("%+v: %d programs, %d on the frontier; want %d and %d", o, f.Universe, f.Programs(), universe, frontier)
				}
			}
			if k.universe < large || os.Getenv("LIBSPARSE_SLOW") != "" {
				check(Options{}, k.universe, k.frontier)
			}
			if k.tacoUniverse > 0 {
				check(Options{TACO: true}, k.tacoUniverse, k.tacoFrontier)
			}
		})
	}
}

// TestWorkersAgree explores with one worker and with several.
func TestWorkersAgree(t *testing.T) {
	a := parse(t, "A(i,j) = B(i,k) * C(j,k) * D(j,k)", "A:ds B:ds C:ds D:ds")
	var want string
	for _, workers := range []int{1, 2, 3} {
		f, err := Explore(a, Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, c := range f.Classes {
			for _, p := range c.Programs {
				got.WriteString(p.String() + "\n")
			}
		}
		if want == "" {
			want = got.String()
		}
		if got.String() != want {
			t.Errorf("%d workers find another frontier", workers)
		}
	}
}

// TestPruning compares every program with every other, without memory between them, and expects the same frontier.
func TestPruning(t *testing.T) {
	for _, k := range kernels[:3] {
		a := parse(t, k.text, k.formats)
		f, err := Explore(a, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newProblem(a)
		if err != nil {
			t.Fatal(err)
		}
		e := newEnumerator(p, false)
		m := newMeter(p, e.store)
		var costs []costID
		for _, g := range p.groupings() {
			if at := (placing{g: g, vars: p.all(), depth: f.Depth}); p.depth(at) <= f.Depth {
				for _, n := range e.expand(at) {
					m.known = map[situation]outcome{}
					costs = append(costs, m.total(n))
				}
			}
		}
		left := 0
		for _, c := range costs {
			dominated := false
			for _, d := range costs {
				dominated = dominated || m.dominates(c, d)
			}
			if !dominated {
				left++
			}
		}
		if len(costs) != k.universe || left != k.frontier {
			t.Errorf("%s: %d programs, %d not dominated; want %d and %d", k.name, len(costs), left, k.universe, k.frontier)
		}
	}
}

// TestMeaning runs the programs of each frontier, and the kernels that they become, on dense data.
func TestMeaning(t *testing.T) {
	for _, k := range append(kernels[:5:5], kernels[6]) {
		a := parse(t, k.text, k.formats)
		f, err := Explore(a, Options{})
		if err != nil {
			t.Fatal(err)
		}
		extents := map[index.Var]int{"i": 2, "j": 3, "k": 4, "l": 2}
		data := map[*index.Tensor]*index.Dense{}
		rng := rand.New(rand.NewPCG(1, 2))
		for _, acc := range index.Accesses(a.RHS) {
			data[acc.Tensor] = randomDense(acc.Vars, extents, rng)
		}
		shape := shapeOf(a.LHS.Vars, extents)
		want := a.Evaluate(extents, shape, data)
		for _, c := range f.Classes {
			for _, p := range c.Programs {
				program := &cin.Program{Source: a, Body: p.Body, Workspaces: map[*index.Tensor]cin.Storage{}}
				for _, w := range p.Workspaces {
					program.Workspaces[w] = cin.Row
				}
				if err := program.Verify(); err != nil {
					t.Fatalf("%s: %v", p, err)
				}
				same(t, k.name+" "+p.String(), program.Evaluate(extents, shape, data), want)
			}
		}
		converted := 0
		for p, ks := range f.Schedules() {
			converted++
			same(t, k.name+" "+p.String(), run(t, ks, extents, data), want)
		}
		if converted == 0 {
			t.Errorf("%s: no program of the frontier becomes a schedule", k.name)
		}
	}
}

// run evaluates kernels one after the other; operands are found by name.
func run(t *testing.T, ks []Kernel, extents map[index.Var]int, data map[*index.Tensor]*index.Dense) *index.Dense {
	t.Helper()
	byName := map[string]*index.Dense{}
	for tensor, d := range data {
		byName[tensor.Name] = d
	}
	var out *index.Dense
	for _, k := range ks {
		own := map[*index.Tensor]*index.Dense{}
		for _, tensor := range k.Assignment.Tensors() {
			own[tensor] = byName[tensor.Name]
		}
		p, err := schedule.Apply(cin.Concretize(k.Assignment), k.Commands)
		if err != nil {
			t.Fatal(err)
		}
		out = p.Evaluate(extents, shapeOf(k.Assignment.LHS.Vars, extents), own)
		byName[k.Assignment.LHS.Tensor.Name] = out
	}
	return out
}

func shapeOf(vars []index.Var, extents map[index.Var]int) []int {
	shape := make([]int, len(vars))
	for i, v := range vars {
		shape[i] = extents[v]
	}
	return shape
}

func randomDense(vars []index.Var, extents map[index.Var]int, rng *rand.Rand) *index.Dense {
	d := index.NewDense(shapeOf(vars, extents))
	for i := range d.Vals {
		d.Vals[i], d.Stored[i] = dtype.Float(dtype.F64, float64(rng.IntN(9)-4)), true
	}
	return d
}

func same(t *testing.T, name string, got, want *index.Dense) {
	t.Helper()
	for i := range want.Vals {
		if got.Vals[i] != want.Vals[i] {
			t.Errorf("%s: element %d is %v, want %v", name, i, got.Vals[i], want.Vals[i])
			return
		}
	}
}

func TestRefused(t *testing.T) {
	if _, err := Explore(parse(t, "a(i) = B(i,j) * c(j) + d(i)", "B:ds"), Options{}); err == nil || !strings.Contains(err.Error(), "each step") {
		t.Errorf("terms summed over different indices: %v", err)
	}
	if _, err := Explore(parse(t, "A(i,j) = B(i,k) * C(j,k) * D(j,k)", "B:ds C:ds D:ds"), Options{Limit: 1000}); err == nil || !strings.Contains(err.Error(), "102272 programs, more than 1000") {
		t.Errorf("too many programs: %v", err)
	}
}

// TestDistribution finds the sum of products that a product of sums is.
func TestDistribution(t *testing.T) {
	f, err := Explore(parse(t, "a(i) = B(i,j) * (c(j) + d(j))", "B:ds c:s d:s"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := newProblem(f.Assignment)
	if forms := p.forms(); len(forms) != 2 || f.Programs() == 0 {
		t.Errorf("%d forms, %d programs on the frontier", len(forms), f.Programs())
	}
}

func BenchmarkExplore(b *testing.B) {
	for _, k := range kernels {
		b.Run(k.name, func(b *testing.B) {
			a := parse(b, k.text, k.formats)
			for b.Loop() {
				if _, err := Explore(a, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
