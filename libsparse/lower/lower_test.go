package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/lower"
	"libsparse/libsparse/schedule"
)

// program applies commands to the naive nest of an expression; formats are by name, dense where they are not given.
func naive(t *testing.T, text string, formats map[string]string) *cin.Program {
	t.Helper()
	return cin.Concretize(bindtest.Parse(t, text, formats))
}

func program(t *testing.T, text string, formats map[string]string, commands ...schedule.Command) *cin.Program {
	t.Helper()
	p, err := schedule.Apply(naive(t, text, formats), commands)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lowered lowers p as the pipeline does.
func lowered(p *cin.Program) (*lower.Kernel, error) { return lower.Lower(p, lattice.Of(p)) }

func reorder(text string) schedule.Command {
	var r schedule.Reorder
	for _, v := range strings.Fields(text) {
		r.Vars = append(r.Vars, index.Var(v))
	}
	return r
}

type formats = map[string]string

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		in         formats
		commands   []schedule.Command
		want       string
	}{
		{
			"operand against its order", "y(i) = A(i,j) * x(j)",
			formats{"A": "ds"},
			[]schedule.Command{reorder("j i")},
			`the loops [j i] contradict the order in which A(i,j) in format "ds" is stored; convert it to another format`,
		},
		{
			"second operand", "C(i,k) = A(i,j) * B(k,j)",
			formats{"A": "ds", "B": "ds"},
			[]schedule.Command{reorder("i j k")},
			`the loops [i j k] contradict the order in which B(k,j) in format "ds" is stored`,
		},
		{
			"COO against its order", "y(j) = A(i,j)",
			formats{"A": "uq"},
			[]schedule.Command{reorder("j i")},
			`A(i,j) in format "uq"`,
		},
		{
			"append out of order", "C(i,j) = A(i,j)",
			formats{"A": "ds", "C": "ds:1,0"},
			[]schedule.Command{reorder("i j")},
			`the loops [i j] can't append to C(i,j) in format "ds:1,0"; a workspace is needed`,
		},
		{
			"append what is summed", "C(i,k) = A(i,j) * B(j,k)",
			formats{"A": "ds", "B": "ds", "C": "ds"},
			[]schedule.Command{reorder("i j k")},
			`the loops [i j k] can't append to C(i,k) in format "ds"`,
		},
		{
			"append in the order of a hash table", "C(i,j) = A(i,j)",
			formats{"A": "hs", "C": "ss"},
			[]schedule.Command{reorder("i j")},
			`the loop over i needs the coordinates of A(i,j) in order`,
		},
	} {
		p, err := schedule.Apply(naive(t, c.text, c.in), c.commands)
		if err == nil {
			_, err = lowered(p)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestAccepted(t *testing.T) {
	for _, c := range []struct {
		name, text string
		in         formats
		commands   []schedule.Command
	}{
		{"operand in its order", "y(i) = A(i,j) * x(j)", formats{"A": "ds:1,0"}, []schedule.Command{reorder("j i")}},
		{
			"row", "C(i,k) = A(i,j) * B(j,k)",
			formats{"A": "ds", "B": "ds", "C": "ds"},
			[]schedule.Command{reorder("i j k"), schedule.Precompute{At: 1, Name: "w", Storage: cin.Row}},
		},
		{
			"row over two variables", "C(i,k) = A(i,j) * B(j,k)",
			formats{"A": "ds", "B": "ds", "C": "ss:1,0"},
			[]schedule.Command{reorder("i j k"), schedule.Precompute{Name: "w", Storage: cin.Row}},
		},
		{
			"list", "C(i,k) = A(i,j) * B(j,k)",
			formats{"A": "ds", "B": "ds", "C": "ss:1,0"},
			[]schedule.Command{reorder("i j k"), schedule.Precompute{Name: "w", Storage: cin.List}},
		},
		{"insertion", "C(i,j) = A(i,j)", formats{"A": "ds", "C": "ds:1,0"}, []schedule.Command{schedule.Assemble{Insert: true}}},
		{"blocks in any order", "C(i,k) = A(i,j) * B(j,k)", formats{"A": "ss", "C": "sd"}, []schedule.Command{reorder("i j k")}},
	} {
		k, err := lowered(program(t, c.text, c.in, c.commands...))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := ir.Verify(k.Module); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, k.Module)
		}
		if sparse := c.in["C"] != ""; k.Assembled != sparse || len(k.Module.Funcs) != functions(k) {
			t.Errorf("%s: assembled %t with %d functions", c.name, k.Assembled, len(k.Module.Funcs))
		}
	}
}

func functions(k *lower.Kernel) int {
	switch {
	case k.Revalued:
		return 3
	case k.Assembled:
		return 2
	default:
		return 1
	}
}

// TestLayout fixes the order and the meaning of the slots.
func TestLayout(t *testing.T) {
	k, err := lowered(program(t, "C(i,j) = A(i,j) * B(i,j)", formats{"A": "ds", "C": "ds"}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, s := range k.Layout {
		text := s.Kind + " " + s.Index
		if s.Kind != "threads" && s.Kind != "extent" {
			text = fmt.Sprintf("%s of %d at %d %s", s.Kind, s.Operand, s.Level, s.Before)
		}
		if v := k.Module.Slots[i].Var; (v != nil && v.T == ir.Index) != (s.Kind == "threads" || s.Kind == "extent" || s.Kind == "count") {
			t.Errorf("slot %d is %s", i, s.Kind)
		}
		got = append(got, strings.TrimSpace(text))
	}
	want := []string{
		"threads", "extent i", "extent j", "pos of 0 at 1", "crd of 0 at 1", "vals of 0 at 0", "vals of 1 at 0",
		"count of -1 at 1", "pos of -1 at 1 assemble", "crd of -1 at 1 compute", "vals of -1 at 0 compute",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// TestWithin asks of loops over positions where those end whose entries may be read by a loop that keeps nothing of them: coordinates behind a window or a
// strip are none of those that the others have.
func TestWithin(t *testing.T) {
	strips := []schedule.Command{
		schedule.Split{Var: "j", Outer: "j0", Inner: "j1", Factor: 4}, reorder("i j0 j1"),
	}
	for _, c := range []struct {
		name, text string
		in         formats
		commands   []schedule.Command
		want       string // "" for none
	}{
		{"rows", "y(i) = A(i,j) * x(j)", formats{"A": "ds"}, nil, "i64(A_pos2[1 * n_i])"},
		{"rows that are stored", "y(i) = A(i,j) * x(j)", formats{"A": "ss"}, nil, "i64(A_pos2[i64(A_pos1[1])])"},
		{"a window of rows", "y(i) = A(i(2:5),j) * x(j)", formats{"A": "ds"}, nil, "i64(A_pos2[1 * A_mode1])"},
		{"a window of columns", "y(i) = A(i,j(2:5)) * x(j)", formats{"A": "ds"}, nil, ""},
		{"strips", "y(i) = A(i,j) * x(j)", formats{"A": "ds"}, strips, ""},
		{"slices", "y(i) = A(i,j) * x(j)", formats{"A": "dl(4)"}, nil, ""},
		{"hash tables", "y(i) = A(i,j) * x(j)", formats{"A": "dh"}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := lowered(program(t, c.text, c.in, c.commands...))
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, f := range k.Module.Funcs {
				ir.EachStmt(f.Body, func(s ir.Stmt) {
					if loop, ok := s.(*ir.For); ok && loop.Within != nil && strings.HasPrefix(loop.Var.Name, "A_p2") {
						found = ir.ExprText(loop.Within)
					}
				})
			}
			if found != c.want {
				t.Errorf("positions are read to %q, want %q", found, c.want)
			}
		})
	}
}

// TestWrongSize calls kernels with extents that they were not made for.
func TestWrongSize(t *testing.T) {
	bound := program(t, "y(i) = x(i)", nil, schedule.Exactly("i", 4))
	split := program(t, "y(i) = x(i)", nil, schedule.Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 4, Tail: 2})
	for _, c := range []struct {
		name   string
		p      *cin.Program
		extent int
		want   int64
	}{
		{"bound", bound, 4, ir.OK},
		{"more than the bound", bound, 5, lower.WrongSize},
		{"less than the bound", bound, 3, lower.WrongSize},
		{"none", bound, 0, lower.WrongSize},
		{"whole tiles", split, 8, ir.OK},
		{"a shifted tail", split, 7, ir.OK},
		{"just the tail", split, 2, ir.OK},
		{"less than the tail", split, 1, lower.WrongSize},
	} {
		k, err := lowered(c.p)
		if err != nil {
			t.Fatal(err)
		}
		x, y := ir.NewBuffer(dtype.F64, c.extent), ir.NewBuffer(dtype.F64, c.extent)
		for i := range x.Float {
			x.Float[i] = float64(i + 1)
		}
		args := []ir.Arg{ir.ScalarArg(1), ir.ScalarArg(int64(c.extent)), ir.ArrayArg(x), ir.ArrayArg(y)}
		status, err := ir.Run(k.Module, lower.ComputeName, args)
		if err != nil || status != c.want {
			t.Errorf("%s: status %d, want %d: %v", c.name, status, c.want, err)
		}
		if c.want == ir.OK && fmt.Sprint(x.Float) != fmt.Sprint(y.Float) {
			t.Errorf("%s: %v from %v", c.name, y.Float, x.Float)
		}
	}
}

// TestTooLarge gives the result an index type that can't count its entries.
func TestTooLarge(t *testing.T) {
	for name, in := range map[string]formats{"rowwise": {"A": "ds", "C": "ds"}, "appended": {"A": "ds", "C": "ss"}} {
		for entries, want := range map[int]int64{127: ir.OK, 128: lower.TooLarge} {
			p := program(t, "C(i,j) = A(i,j)", in)
			p.Source = bindtest.Change(p.Source, []*index.Tensor{p.Source.LHS.Tensor}, func(_ string, s *bind.Storage) { s.Index = dtype.I8 })
			k, err := lowered(p)
			if err != nil {
				t.Fatal(err)
			}
			status, err := ir.Run(k.Module, lower.AssembleName, copyArgs(k, entries))
			if err != nil || status != want {
				t.Errorf("%s: %d entries: status %d, want %d: %v", name, entries, status, want, err)
			}
		}
	}
}

// copyArgs are the arguments of a copy of two rows with n entries in all.
func copyArgs(k *lower.Kernel, n int) []ir.Arg {
	args := make([]ir.Arg, len(k.Layout))
	for i, s := range k.Layout {
		array := k.Module.Slots[i].Array
		switch {
		case s.Kind == "extent" && s.Index == "i":
			args[i] = ir.ScalarArg(2)
		case s.Kind == "extent":
			args[i] = ir.ScalarArg(int64(n))
		case array == nil:
			args[i] = ir.ScalarArg(1)
		case s.Operand == 0 && s.Kind == "pos":
			args[i] = ir.ArrayArg(ir.Ints(array.Elem, 0, 1, int64(n)))
		case s.Operand == 0 && s.Kind == "crd":
			b := ir.NewBuffer(array.Elem, n)
			for j := 1; j < n; j++ {
				b.Int[j] = int64(j - 1)
			}
			args[i] = ir.ArrayArg(b)
		default:
			args[i] = ir.ArrayArg(ir.NewBuffer(array.Elem, n+3))
		}
	}
	return args
}

// TestScalars has operands without modes loaded once, before the loops.
func TestScalars(t *testing.T) {
	k, err := lowered(naive(t, "y(i) = where(gt(x(i), a), b, c)", formats{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(k.Module); err != nil {
		t.Error(err)
	}
	before, loop, _ := strings.Cut(k.Module.String(), "for i")
	for _, name := range []string{"a", "b", "c"} {
		load := name + "_vals[0]"
		if strings.Count(before, load) != 1 || strings.Contains(loop, load) {
			t.Errorf("%s is not loaded once, before the loop:\n%s", name, before+loop)
		}
	}
}
