package autoschedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
	"libsparse/libsparse/schedule"
)

// request builds an einsum over tensors with the given formats, all extents n, and the given share of entries stored.
func request(t *testing.T, spec string, formats []string, out string, n int64) bind.Assignment {
	t.Helper()
	var operands []*index.Tensor
	var storage *bind.Table
	sizes := func(f format.Format) bind.Storage {
		return bind.Storage{Format: f, Index: dtype.I32, Statistics: bind.Statistics{Extents: slices.Repeat([]int64{n}, f.Order())}}
	}
	for i, text := range formats {
		x := &index.Tensor{Name: string(rune('A' + i)), Elem: dtype.F32}
		s := sizes(format.MustParse(text))
		s.NNZ = n * 16
		operands, storage = append(operands, x), storage.With(x, s)
	}
	notation, err := index.ParseEinsum(spec, operands, &index.Tensor{Name: "out", Elem: dtype.F32}, dtype.Mul, dtype.Add)
	if err != nil {
		t.Fatal(err)
	}
	s := sizes(format.AllDense(len(notation.LHS.Vars)))
	a := bind.Assignment{Assignment: notation, Table: storage.With(notation.LHS.Tensor, s)}
	if out == "" {
		s.Format, s.SamePattern = infer.Output(a)
	} else {
		s.Format = format.MustParse(out)
	}
	return a.With(notation.LHS.Tensor, s)
}

// TestScattered has what is nearly full be scattered into rows, whose entries have many terms, and not be merged.
func TestScattered(t *testing.T) {
	a := request(t, "ij,kj->ik", []string{"ds", "ds"}, "ds", 256)
	a = bindtest.Change(a, a.Tensors(), func(_ string, s *bind.Storage) { s.NNZ = 256 * 64 })
	d, err := Decide(a, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(d.Order); got != "i j k" {
		t.Errorf("loops %s, want i j k", got)
	}
}

// TestAhead has the entries of far operands brought near where a loop walks them one after the other.
func TestAhead(t *testing.T) {
	for _, c := range []struct {
		spec    string
		formats []string
		width   int64
		want    string
	}{
		{"ij,j->i", []string{"ds", "d"}, 0, "ahead(j, A, 512)"},
		{"ij,i->j", []string{"ds", "d"}, 0, "ahead(j, A, 512)"},
		{"ij,j->i", []string{"ss", "d"}, 0, "ahead(j, A, 512)"},
		{"ij,jk->ik", []string{"ds", "dd"}, 16, "ahead(j, A, 128)"},
		{"ij,jk->ik", []string{"ds", "dd"}, 1001, ""}, // each tile walks them once more
		{"ij,j->i", []string{"dl(8)", "d"}, 0, ""},    // rows stand side by side
		{"ij,jk->ik", []string{"ds", "ds"}, 0, ""},    // what is read of the other one is scattered rows
	} {
		a := request(t, c.spec, c.formats, "", 4097)
		a = bindtest.Change(a, a.Tensors()[:1], func(_ string, s *bind.Storage) { s.Scattered, s.Far = true, true })
		if c.width > 0 {
			a = bindtest.Change(a, a.Tensors()[1:], func(_ string, s *bind.Storage) { s.Extents = []int64{4097, c.width} })
		}
		d, err := Decide(a, "")
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, command := range d.Commands {
			if _, ok := command.(schedule.Ahead); ok {
				found = command.String()
			}
		}
		if found != c.want {
			t.Errorf("%s of %v: %q, want %q", c.spec, c.formats, found, c.want)
		}
	}
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		spec    string
		formats []string
		out     string
		order   string
		has     []string // among the commands
		convert string
	}{
		{"ij,j->i", []string{"ds", "d"}, "d", "i j", []string{"precompute(all, w, at=1, tile)", "parallelize(i, threads)"}, ""},
		{"ij,jk->ik", []string{"ds", "dd"}, "", "i j k", []string{"split(k, k0, k1, 64, tail=16)", "parallelize(i, threads)"}, ""},
		{"jk,ij->ik", []string{"dd", "ds"}, "", "i j k", []string{"split(k, k0, k1, 64, tail=16)"}, ""},
		{"ij,jk->ik", []string{"ds", "ds"}, "ds", "i j k", []string{"precompute(all, w, at=1, adaptive)", "parallelize(i, threads)"}, ""},
		{"ij,jk->ik", []string{"ds:1,0", "ds:1,0"}, "ds:1,0", "k j i", []string{"precompute(all, w, at=1, adaptive)", "parallelize(k, threads)"}, ""},
		{"ij,kj->ik", []string{"ds", "ds"}, "ds", "i j k", []string{"precompute(all, w, at=1, adaptive)"}, `B: "ds:1,0"`},
		{"ij,ik,kj->ij", []string{"ds", "dd", "dd"}, "", "i j k", []string{"precompute(B*C, w, at=2, tile)", "unroll(j, 4)", "parallelize(i, threads)"}, `C: "dd:1,0"`},
		{"ki,jk->ij", []string{"dd", "ds"}, "", "j k i", []string{"parallelize(j, threads)"}, `out: "dd:1,0"`},
		{"ij,kj->ik", []string{"dd", "ds"}, "", "k j i", []string{"parallelize(k, threads)"}, `A: "dd:1,0"; out: "dd:1,0"`},
		{"ij,ij,ij->ij", []string{"ds", "ds", "ds"}, "ds", "i j", []string{"parallelize(i, threads)"}, ""},
		{"ij->ij", []string{"ds"}, "ds:1,0", "i j", []string{"assemble(insert)"}, ""},
		{"ij,ik->jk", []string{"ds", "dd"}, "", "j i k", []string{"parallelize(j, threads)"}, `A: "ds:1,0"`},
	} {
		name := fmt.Sprintf("%s %v", c.spec, c.formats)
		d, err := Decide(request(t, c.spec, c.formats, c.out, 4096+1), "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := names(d.Order); got != c.order {
			t.Errorf("%s: loops %s, want %s", name, got, c.order)
		}
		var commands, converted []string
		for _, cmd := range d.Commands {
			commands = append(commands, cmd.String())
		}
		for _, conv := range d.Conversions {
			converted = append(converted, fmt.Sprintf("%s: %q", conv.Tensor.Name, conv.To))
		}
		for _, want := range c.has {
			if !strings.Contains(strings.Join(commands, "\n"), want) {
				t.Errorf("%s: commands %v lack %s", name, commands, want)
			}
		}
		if got := strings.Join(converted, "; "); got != c.convert {
			t.Errorf("%s: conversions %s, want %s", name, got, c.convert)
		}
	}
}

// TestFewUses converts an operand that is used few times only where that pays: for results with many columns.
func TestFewUses(t *testing.T) {
	for _, c := range []struct {
		few     bool
		width   int64
		order   string
		command string
	}{
		{false, 16, "j i k", "parallelize(j, threads)"},
		{true, 16, "i j k", "parallelize(i, threads, temporary)"},
		{true, 64, "i j k", "prefetch(j, 16)"},
		{true, 512, "j i k", "parallelize(j, threads)"},
	} {
		a := request(t, "ij,ik->jk", []string{"ds", "dd"}, "", 4097)
		a = bindtest.Change(a, a.Tensors()[:1], func(_ string, s *bind.Storage) { s.Scattered, s.NNZ = true, 40_000 })
		a = bindtest.Change(a, a.Tensors()[1:], func(_ string, s *bind.Storage) { s.Extents = []int64{4097, c.width} })
		out := *a.Result()
		out.Few = c.few
		d, err := Decide(a.With(a.LHS.Tensor, out), "")
		if err != nil {
			t.Fatal(err)
		}
		commands := fmt.Sprint(d.Commands)
		if names(d.Order) != c.order || !strings.Contains(commands, c.command) {
			t.Errorf("few is %v, %d columns: loops %s, commands %s; want %s with %s", c.few, c.width, names(d.Order), commands, c.order, c.command)
		}
	}
}

// TestBlocks counts entries of dense levels below a sparse one as blocks, keeps the sums over their places and a dense operand's columns in
// registers together, and computes results like them in lanes.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		spec    string
		formats []string
		out     string
		order   string
		has     string
	}{
		{"ijh,jhd->ihd", []string{"dsd", "ddd"}, "ddd", "i j h d", "bound(h, 8) bound(d, 8) precompute(all, w, at=1, tile) unroll(h, 8) vectorize(d) parallelize(i, threads)"},
		{"ihd,ijh->jhd", []string{"ddd", "dsd"}, "ddd", "i j h d", "bound(d, 8) vectorize(d) parallelize(i, threads, temporary)"},
		{"ijh->ih", []string{"dsd"}, "dd", "i j h", "bound(h, 8) precompute(all, w, at=1, tile) vectorize(h) parallelize(i, threads)"},
		{"ijh,jhd->hd", []string{"dsd", "ddd"}, "dd", "i j h d", "bound(h, 8) bound(d, 8) precompute(all, w, at=0, tile) unroll(h, 8) vectorize(d)"},
		{"ij,jh->ijh", []string{"ds", "dd"}, "dsd", "i j h", "bound(h, 8) vectorize(h) parallelize(i, threads)"},
	} {
		a := request(t, c.spec, c.formats, c.out, 4096+1)
		for _, access := range append(index.Accesses(a.RHS), a.LHS) {
			s := a.Of(access.Tensor)
			s.Extents, s.NNZ = slices.Clone(s.Extents), 4*4097
			for m, v := range access.Vars {
				if v == "h" || v == "d" {
					s.Extents[m] = 8
					s.NNZ *= 8
				}
			}
			a = a.With(access.Tensor, *s)
		}
		d, err := Decide(a, "")
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		if got := names(d.Order); got != c.order {
			t.Errorf("%s: loops %s, want %s", c.spec, got, c.order)
		}
		var commands []string
		for _, command := range d.Commands[1:] {
			commands = append(commands, command.String())
		}
		if got := strings.Join(commands, " "); got != c.has {
			t.Errorf("%s: commands %s, want %s", c.spec, got, c.has)
		}
	}
}

// TestManyVariables keeps the search short where the orders can't all be priced.
func TestManyVariables(t *testing.T) {
	a := request(t, "abc,cde,efg,gh->ah", []string{"dss", "dss", "ddd", "dd"}, "dd", 100)
	d, err := Decide(a, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Order) != 8 {
		t.Errorf("loops %v", d.Order)
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, c := range []struct {
		spec    string
		formats []string
	}{
		{"ij,jk->ik", []string{"ds", "dd"}},
		{"ikl,kj,lj->ij", []string{"dss", "dd", "dd"}},
		{"abc,cde,efg,gh->ah", []string{"dss", "dss", "ddd", "dd"}},
	} {
		b.Run(c.spec, func(b *testing.B) {
			for b.Loop() {
				var t testing.T
				if _, err := Decide(request(&t, c.spec, c.formats, "dd", 100), ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestNothingIsMadeDense keeps the only sparse level of an operand, however it is accessed.
func TestNothingIsMadeDense(t *testing.T) {
	for _, f := range []string{"sd", "sd:1,0", "uq", "ss"} {
		for _, spec := range []string{"ij,jk->ik", "ij,ik->jk", "ij,kj->ik"} {
			d, err := Decide(request(t, spec, []string{"ds", f}, "", 4097), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range d.Conversions {
				if c.To.Dense() {
					t.Errorf("%s with %q: operand %s is converted to %q", spec, f, c.Tensor.Name, c.To)
				}
			}
		}
	}
}

// TestWalkedAlone leaves a compressed first level as it is where no other operand is merged with it.
func TestWalkedAlone(t *testing.T) {
	d, err := Decide(request(t, "ij,jk->ijk", []string{"dd", "ss"}, "ddd", 4097), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Conversions) > 0 {
		t.Errorf("%s is converted to %q", d.Conversions[0].Tensor.Name, d.Conversions[0].To)
	}
}

// TestStripsOfSeveral has strips of all operands copied that are read by the coordinates of entries; operands with one pattern have their
// entries together.
func TestStripsOfSeveral(t *testing.T) {
	a := request(t, "ik,ij,ij,jk,ik->jk", []string{"dd", "ds:1,0", "ds:1,0", "dd", "dd"}, "dd", 4097)
	tensors := map[string]*index.Tensor{a.LHS.Tensor.Name: a.LHS.Tensor}
	for _, x := range a.Tensors() {
		tensors[x.Name] = x
	}
	notation, err := index.ParseAssignment("out(j,k) = A(i,k) * B(i,j) * eq[every](C(i,j) * D(j,k), E(i,k))",
		func(name string, _ int, _ bool) (*index.Tensor, error) { return tensors[name], nil })
	if err != nil {
		t.Fatal(err)
	}
	a.Assignment = notation
	a = bindtest.Change(a, append(a.Tensors(), a.LHS.Tensor), func(name string, s *bind.Storage) {
		switch name {
		case "C":
			s.SamePattern = tensors["B"]
			fallthrough
		case "B":
			s.NNZ = 4097 * 48
		default:
			s.Extents, s.NNZ = []int64{4097, 256}, 4097*256
		}
	})
	d, err := DecideFor(a, Machine{VectorBytes: 64, Caches: []int64{1 << 20, 1 << 25}})
	if err != nil {
		t.Fatal(err)
	}
	want := "split(k, k0, k1, 32) reorder(k0, j, i, k1) precompute(A, p, at=1, array, rename=i:ip k1:kp) " +
		"precompute(E, p2, at=0, array, rename=i:ip2 k1:kp2) " +
		"precompute(p(i,k1) * B(i,j) * eq[every](C(i,j) * D(j,k), p2(i,k1)), w, at=1, tile)"
	if text := fmt.Sprint(d.Commands); !strings.Contains(text, want) {
		t.Errorf("%s\n%s", text, strings.Join(d.Notes, "\n"))
	}
}

// TestStrips has the loop over tiles outermost where rows of the dense operand are reused often and don't stay in a cache.
func TestStrips(t *testing.T) {
	machine := Machine{VectorBytes: 32, Caches: []int64{1 << 19, 1 << 25}}
	for _, c := range []struct {
		name         string
		rows, width  int64
		perRow       int64
		machine      Machine
		factor, outs string
	}{
		{"reused", 1<<14 + 1, 257, 100, machine, "64,", "reorder(k0, i, j, k1)"},
		{"too rarely", 1<<14 + 1, 257, 10, machine, "64,", "reorder(i, k0, j, k1)"},
		{"in a cache anyway", 257, 257, 100, machine, "64,", "reorder(i, k0, j, k1)"},
		{"in no cache", 1 << 20, 257, 100, machine, "64,", "reorder(i, k0, j, k1)"},
		{"unknown caches", 1<<14 + 1, 257, 100, Machine{VectorBytes: 32}, "64,", "reorder(i, k0, j, k1)"},
		{"AVX-512", 1<<14 + 1, 1025, 100, Machine{VectorBytes: 64, Caches: machine.Caches}, "256,", "reorder(k0, i, j, k1)"},
		{"SSE", 1<<14 + 1, 257, 10, Machine{VectorBytes: 16}, "32,", "reorder(i, k0, j, k1)"},
		{"copied", 4097, 256, 48, machine, "32)", "reorder(k0, i, j, k1) precompute(B, p, at=1, array, rename=j:jp k1:kp)"},
		{"copied by wide strips", 4097, 512, 48, Machine{VectorBytes: 64, Caches: []int64{1 << 22, 1 << 25}}, "128)", "precompute(B, p, at=1, array"},
		{"copied too rarely", 4097, 256, 12, machine, "64,", "reorder(i, k0, j, k1)"},
	} {
		a := request(t, "ij,jk->ik", []string{"ds", "dd"}, "dd", c.rows)
		a = bindtest.Change(a, append(a.Tensors(), a.LHS.Tensor), func(name string, s *bind.Storage) {
			if name != "A" {
				s.Extents = []int64{s.Extents[0], c.width}
			}
			s.NNZ = c.rows * c.perRow
		})
		d, err := DecideFor(a, c.machine)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(d.Commands)
		if !strings.Contains(text, "split(k, k0, k1, "+c.factor) || !strings.Contains(text, c.outs) || !strings.Contains(text, "parallelize(i, threads)") {
			t.Errorf("%s: %s\n%s", c.name, text, strings.Join(d.Notes, "\n"))
		}
	}
}
