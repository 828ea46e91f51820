package libsparse

import (
	"testing"

	"libsparse/codegen/native"
)

// avx2 is the backend that tests compile for, whatever machine they run on.
var avx2 = native.For(32)

// benchmarks are typical requests: common products of two operands, and chains of four.
var benchmarks = []struct {
	name string
	r    Request
}{
	{"SpMM", Request{Spec: "ij,jk->ik", Operands: []Operand{sparseMatrix("A"), denseTensor("B", 4096, 129)}}},
	{"SpGEMM", Request{Spec: "ij,jk->ik", Operands: []Operand{sparseMatrix("A"), sparseMatrix("B")}}},
	{"SDDMM", Request{Spec: "ij,ik,jk->ij", Operands: []Operand{sparseMatrix("P"), denseTensor("Q", 4096, 64), denseTensor("K", 4096, 64)}}},
	{"chain of four", Request{Spec: "ij,jk,kl,lm->im", Operands: []Operand{
		sparseMatrix("A"), sparseMatrix("B"), sparseMatrix("C"), denseTensor("D", 4096, 64),
	}}},
	{"tensor of four", Request{Spec: "ijkl,ja,kb,lc->iabc", Operands: []Operand{
		{Name: "X", Format: "ssss", Dtype: "f32", Shape: []int64{512, 512, 512, 512}, NNZ: 262144},
		denseTensor("A", 512, 16), denseTensor("B", 512, 16), denseTensor("C", 512, 16),
	}}},
	{"sum of four", Request{Expr: "out(i,j) = A(i,j) + B(i,j) * C(i,j) - D(i,j)", Operands: []Operand{
		sparseMatrix("A"), sparseMatrix("B"), sparseMatrix("C"), sparseMatrix("D"),
	}}},
}

func sparseMatrix(name string) Operand {
	return Operand{Name: name, Format: "ds", Dtype: "f32", Shape: []int64{4096, 4096}, NNZ: 65536}
}

func denseTensor(name string, extents ...int64) Operand {
	return Operand{Name: name, Format: "dddd"[:len(extents)], Dtype: "f32", Shape: extents}
}

// BenchmarkStages times each stage, with its check, on what the stages before it have left. Together they must stay
// well below the tens of milliseconds that a C compiler takes.
func BenchmarkStages(b *testing.B) {
	for _, c := range benchmarks {
		fresh := func() *Compilation { return &Compilation{Request: &c.r, Backend: avx2} }
		benchmarkStages(b, c.name, FrontStages(), fresh)
		benchmarkStages(b, c.name, NestStages(), func() *Nest {
			unit := fresh()
			runStages(b, unit, FrontStages())
			return unit.Nests[0]
		})
	}
}

func benchmarkStages[S any](b *testing.B, name string, stages []Stage[S], fresh func() S) {
	for i, stage := range stages {
		b.Run(name+"/"+stage.Name, func(b *testing.B) {
			b.ReportAllocs()
			const batch = 32 // stopping the clock takes longer than a stage
			for done := 0; done < b.N; done += batch {
				b.StopTimer()
				subjects := make([]S, min(batch, b.N-done))
				for k := range subjects {
					subjects[k] = fresh()
					runStages(b, subjects[k], stages[:i])
				}
				b.StartTimer()
				for _, s := range subjects {
					runStages(b, s, []Stage[S]{stage})
				}
			}
		})
	}
}

// BenchmarkLower times all stages together.
func BenchmarkLower(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Lower(&c.r, avx2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func runStages[S any](b testing.TB, s S, stages []Stage[S]) {
	for _, stage := range stages {
		if err := stage.Run(s); err != nil {
			b.Fatal(err)
		}
		if stage.Check != nil {
			if err := stage.Check(s); err != nil {
				b.Fatal(err)
			}
		}
	}
}
