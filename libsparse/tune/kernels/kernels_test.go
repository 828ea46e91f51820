package kernels

import (
	"math/rand/v2"
	"testing"

	"libsparse/codegen/native"
	"libsparse/libsparse"
)

var avx2 = native.For(32)

func sparse(name, format string, extents ...int64) libsparse.Operand {
	return libsparse.Operand{Name: name, Format: format, Dtype: "f32", Shape: extents, NNZ: 65536}
}

func dense(name string, extents ...int64) libsparse.Operand {
	return libsparse.Operand{Name: name, Format: "dddd"[:len(extents)], Dtype: "f32", Shape: extents}
}

var problems = map[string]libsparse.Request{
	"SpMV":  {Spec: "ij,j->i", Operands: []libsparse.Operand{sparse("A0", "ds", 4096, 4096), dense("A1", 4096)}},
	"SpMM":  {Spec: "ij,jk->ik", Operands: []libsparse.Operand{sparse("A0", "ds", 4096, 4096), dense("A1", 4096, 64)}},
	"SDDMM": {Spec: "ij,ik,jk->ij", Operands: []libsparse.Operand{sparse("A0", "ds", 4096, 4096), dense("A1", 4096, 64), dense("A2", 4096, 64)}},
	"MTTKRP": {Spec: "ijk,jl,kl->il", Operands: []libsparse.Operand{
		sparse("A0", "sss", 4096, 4096, 4096), dense("A1", 4096, 32), dense("A2", 4096, 32),
	}},
	"SpGEMM": {Spec: "ij,jk->ik", Operands: []libsparse.Operand{sparse("A0", "ds", 4096, 4096), sparse("A1", "ds", 4096, 4096)}},
	"sum":    {Expr: "out(i,j) = A(i,j) + B(i,j)", Operands: []libsparse.Operand{sparse("A", "ds", 4096, 4096), sparse("B", "ds", 4096, 4096)}},
}

// Whatever a search proposes can be lowered, to C that no proposal before had; the first is the compiler's own choice.
func TestProposalsLower(t *testing.T) {
	for name, request := range problems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := New(&request, avx2, Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			seen := map[string]bool{}
			for n := range 10 {
				p, ok, err := s.Ask()
				if err != nil || !ok {
					t.Fatalf("proposal %d: %v %v", n, ok, err)
				}
				if p.Default != (n == 0) {
					t.Errorf("proposal %d: default %v", n, p.Default)
				}
				scheduled := request
				scheduled.Schedule = p.Schedule
				unit, err := libsparse.Lower(&scheduled, avx2)
				if err != nil {
					t.Fatalf("proposal %d, %s: %v", n, p.Schedule, err)
				}
				c := unit.Nests[0].Code()
				if seen[c] {
					t.Errorf("proposal %d, %s has the C of an earlier one", n, p.Schedule)
				}
				seen[c] = true
				if n == 0 {
					if automatic, err := libsparse.Lower(&request, avx2); err != nil || automatic.Nests[0].Code() != c {
						t.Errorf("the default point %q is not the compiler's choice: %v", p.Schedule, err)
					}
				}
				if err := s.Tell(Result{Point: p.Point, Seconds: 1 + random.Float64(), Failed: n%5 == 4}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A proposal after 100 measurements, with the lowering that finds out what is feasible.
func BenchmarkAsk(b *testing.B) {
	for _, name := range []string{"SpMV", "SpMM", "SDDMM", "MTTKRP"} {
		b.Run(name, func(b *testing.B) {
			request := problems[name]
			s, err := New(&request, avx2, Options{Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			measure := func(n int) {
				p, ok, err := s.Ask()
				if err != nil || !ok {
					b.Fatal(err)
				}
				if err := s.Tell(Result{Point: p.Point, Seconds: 1 + random.Float64(), Failed: n%7 == 4}); err != nil {
					b.Fatal(err)
				}
			}
			for n := range 95 {
				measure(n)
			}
			b.ResetTimer()
			for n := range b.N {
				measure(n)
			}
		})
	}
}
