package codegen_test

import (
	"flag"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"libsparse/codegen"
	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// cases are the hand-built kernels, with arguments for each.
var cases = []struct {
	name string
	m    *ir.Module
	fns  []string
	args []ir.Arg
}{
	{"spmm", spmm(71), []string{"kernel_compute"}, spmmArgs(20, 71)},
	{"union", union(), []string{"kernel_compute"}, unionArgs()},
	{"gustavson", gustavson(), []string{"kernel_assemble", "kernel_compute"}, gustavsonArgs(30)},
}

func TestGolden(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := ir.Vectorize(ir.Simplify(c.m), codegen.Target(32))
			got, err := codegen.Emit(m, codegen.Options{})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", c.name+".c"), got)
			golden(t, filepath.Join("testdata", c.name+".ir"), m.String())
			if again, _ := codegen.Emit(m, codegen.Options{}); again != got {
				t.Error("a second Emit differs")
			}
		})
	}
}

func emitted(t *testing.T, m *ir.Module) string {
	t.Helper()
	source, err := codegen.Emit(m, codegen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (go test -update rewrites it); got\n%s", file, got)
	}
}

// TestAgainstInterpreter compares compiled C with the interpreter, bit by bit, under sanitizers and warnings.
func TestAgainstInterpreter(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := ir.CloneArgs(c.args)
			for _, fn := range c.fns {
				if status, err := ir.RunWith(c.m, fn, want, ir.RunOptions{Shuffle: 7}); status != 0 || err != nil {
					t.Fatal(status, err)
				}
			}
			m := ir.Vectorize(ir.Simplify(c.m), codegen.Host())
			got := ir.CloneArgs(c.args)
			p := crun.Compile(t, m, crun.Options{Sanitize: true, Warnings: true})
			if status := p.Run(t, c.fns, got); status != 0 {
				t.Fatal("status", status)
			}
			sameArgs(t, m, got, want)
			interpreted := ir.CloneArgs(c.args)
			for _, fn := range c.fns {
				if _, err := ir.Run(m, fn, interpreted); err != nil {
					t.Fatal(err)
				}
			}
			sameArgs(t, m, interpreted, want)
		})
	}
}

func sameArgs(t *testing.T, m *ir.Module, got, want []ir.Arg) {
	t.Helper()
	for i, s := range m.Slots {
		if s.Var != nil {
			if *got[i].Scalar != *want[i].Scalar {
				t.Errorf("%s = %d, want %d", s.Var.Name, *got[i].Scalar, *want[i].Scalar)
			}
			continue
		}
		g, w := got[i].Array, want[i].Array
		for k := range w.Int {
			if g.Int[k] != w.Int[k] {
				t.Fatalf("%s[%d] = %d, want %d", s.Array.Name, k, g.Int[k], w.Int[k])
			}
		}
		for k := range w.Complex { // several roundings where the interpreter has one
			if d := cmplx.Abs(g.Complex[k] - w.Complex[k]); d > 1e-4*(1+cmplx.Abs(w.Complex[k])) {
				t.Fatalf("%s[%d] = %v, want %v", s.Array.Name, k, g.Complex[k], w.Complex[k])
			}
		}
		for k := range w.Float {
			if g.Float[k] != w.Float[k] && (g.Float[k] == g.Float[k] || w.Float[k] == w.Float[k]) {
				t.Fatalf("%s[%d] = %v, want %v", s.Array.Name, k, g.Float[k], w.Float[k])
			}
		}
	}
}

// csr is a random matrix in compressed rows.
func csr(r *rand.Rand, rows, cols int, density float64) (pos, crd, vals *ir.Buffer) {
	pos, crd, vals = ir.Ints(dtype.I32, 0), ir.Ints(dtype.I32), ir.Floats(dtype.F32)
	for range rows {
		for j := range cols {
			if r.Float64() < density {
				crd.Int = append(crd.Int, int64(j))
				vals.Float = append(vals.Float, float64(float32(r.NormFloat64())))
			}
		}
		pos.Int = append(pos.Int, int64(len(crd.Int)))
	}
	return pos, crd, vals
}

func spmmArgs(n, columns int) []ir.Arg {
	r := rand.New(rand.NewPCG(1, 2))
	pos, crd, vals := csr(r, n, n, 0.3)
	b := ir.NewBuffer(dtype.F32, n*columns)
	for i := range b.Float {
		b.Float[i] = float64(float32(r.NormFloat64()))
	}
	return []ir.Arg{
		ir.ScalarArg(2), ir.ScalarArg(int64(n)), ir.ArrayArg(pos), ir.ArrayArg(crd), ir.ArrayArg(vals), ir.ArrayArg(b),
		ir.ArrayArg(ir.NewBuffer(dtype.F32, n*columns)),
	}
}

func unionArgs() []ir.Arg {
	return []ir.Arg{
		ir.ScalarArg(0),
		ir.ArrayArg(ir.Ints(dtype.I32, 0, 4)), ir.ArrayArg(ir.Ints(dtype.I32, 1, 3, 5, 9)),
		ir.ArrayArg(ir.Floats(dtype.F64, 1, 2, 3, 4)),
		ir.ArrayArg(ir.Ints(dtype.I32, 0, 3)), ir.ArrayArg(ir.Ints(dtype.I32, 0, 3, 6)),
		ir.ArrayArg(ir.Floats(dtype.F64, 10, 20, 30)),
		ir.ArrayArg(ir.NewBuffer(dtype.I32, 7)), ir.ArrayArg(ir.NewBuffer(dtype.F64, 7)),
	}
}

func gustavsonArgs(n int) []ir.Arg {
	r := rand.New(rand.NewPCG(3, 4))
	aPos, aCrd, aVals := csr(r, n, n, 0.15)
	bPos, bCrd, bVals := csr(r, n, n, 0.15)
	args := []ir.Arg{ir.ScalarArg(2), ir.ScalarArg(int64(n)), ir.ScalarArg(int64(n)), ir.ScalarArg(0)}
	for _, b := range []*ir.Buffer{aPos, aCrd, aVals, bPos, bCrd, bVals} {
		args = append(args, ir.ArrayArg(b))
	}
	return append(args, ir.ArrayArg(ir.NewBuffer(dtype.I32, n+1)), ir.ArrayArg(ir.NewBuffer(dtype.I32, n*n)),
		ir.ArrayArg(ir.NewBuffer(dtype.F32, n*n)))
}
