// Package golden keeps the C of typical kernels, as a person would read it. Run with -update to accept new text.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"libsparse/codegen"
	"libsparse/codegen/native"

	"github.com/google/go-cmp/cmp"

	"libsparse/libsparse"
	"libsparse/libsparse/ir"
	"libsparse/tests/corpus"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func matrix(name, format string) libsparse.Operand {
	return libsparse.Operand{Name: name, Format: format, Dtype: "f32", Shape: []int64{4096, 4096}, NNZ: 65536}
}

func dense(name string, extents ...int64) libsparse.Operand {
	return libsparse.Operand{Name: name, Format: "dd"[:len(extents)], Dtype: "f32", Shape: extents}
}

func cube(name, format string) libsparse.Operand {
	return libsparse.Operand{Name: name, Format: format, Dtype: "f32", Shape: []int64{1024, 1024, 1024}, NNZ: 262144}
}

func vector(name string) libsparse.Operand {
	return libsparse.Operand{Name: name, Format: "s", Dtype: "f32", Shape: []int64{4096}, NNZ: 256}
}

func mask(name string) libsparse.Operand {
	m := matrix(name, "ds")
	m.PatternOnly = true
	return m
}

func scattered(o libsparse.Operand) libsparse.Operand {
	o.Scattered = true
	return o
}

func far(o libsparse.Operand) libsparse.Operand {
	o.Far = true
	return o
}

func adjacent(o libsparse.Operand) libsparse.Operand {
	o.Adjacent = true
	return o
}

func uneven(o libsparse.Operand) libsparse.Operand {
	o.Uneven = true
	return o
}

func typed(dtype string, operands ...libsparse.Operand) []libsparse.Operand {
	for i := range operands {
		operands[i].Dtype = dtype
	}
	return operands
}

var kernels = []struct {
	name string
	r    libsparse.Request
}{
	{"spmv_csr", libsparse.Request{Spec: "ij,j->i", Operands: []libsparse.Operand{matrix("A", "ds"), dense("x", 4096)}}},
	{"spmv_csr_uneven", libsparse.Request{Spec: "ij,j->i", Operands: []libsparse.Operand{uneven(matrix("A", "ds")), dense("x", 4096)}}},
	{"spmv_csr_far", libsparse.Request{Spec: "ij,j->i", Operands: []libsparse.Operand{far(matrix("A", "ds")), dense("x", 4096)}}},
	{"spmm_csr_16_far", libsparse.Request{Spec: "ij,jk->ik", Operands: []libsparse.Operand{far(matrix("A", "ds")), dense("B", 4096, 16)}}},
	{"spmm_csr_16", libsparse.Request{Spec: "ij,jk->ik", Operands: []libsparse.Operand{matrix("A", "ds"), dense("B", 4096, 16)}}},
	{"spmm_csr_1", libsparse.Request{Spec: "ij,jk->ik", Operands: []libsparse.Operand{matrix("A", "ds"), dense("B", 4096, 1)}}},
	{"spmm_csr_64_scattered", libsparse.Request{Spec: "ij,jk->ik", Operands: []libsparse.Operand{scattered(matrix("A", "ds")), dense("B", 4096, 64)}}},
	{"spmm_csr_wide", libsparse.Request{Spec: "ij,jk->ik", Operands: []libsparse.Operand{matrix("A", "ds"), dense("B", 4096, 129)}}},
	{"spmm_dcsr", libsparse.Request{Spec: "ij,jk->ik", Operands: []libsparse.Operand{matrix("A", "ss"), dense("B", 4096, 16)}}},
	{"spmm_transposed", libsparse.Request{Spec: "ij,ik->jk", Operands: []libsparse.Operand{matrix("A", "ds"), dense("G", 4096, 16)}}},
	{"sddmm", libsparse.Request{Spec: "ij,ik,jk->ij", Operands: []libsparse.Operand{mask("P"), dense("Q", 4096, 32), dense("K", 4096, 32)}}},
	{"sddmm_128_scattered", libsparse.Request{
		Spec: "ij,ik,jk->ij", Operands: []libsparse.Operand{scattered(matrix("A", "ds")), dense("Q", 4096, 128), dense("K", 4096, 128)},
	}},
	{"sddmm_8", libsparse.Request{Spec: "ij,ik,jk->ij", Operands: []libsparse.Operand{matrix("A", "ds"), dense("Q", 4096, 8), dense("K", 4096, 8)}}},
	{"spgemm", libsparse.Request{Spec: "ij,jk->ik", Operands: []libsparse.Operand{matrix("A", "ds"), matrix("B", "ds")}}},
	{"add_csr", libsparse.Request{Expr: "C(i,j) = A(i,j) + B(i,j)", Operands: []libsparse.Operand{matrix("A", "ds"), matrix("B", "ds")}}},
	{"add_csr_scattered", libsparse.Request{Expr: "C(i,j) = A(i,j) + B(i,j)", Operands: []libsparse.Operand{scattered(matrix("A", "ds")), scattered(matrix("B", "ds"))}}},
	{"add_dense", libsparse.Request{Expr: "C(i,j) = A(i,j) + D(i,j)", Operands: []libsparse.Operand{matrix("A", "ds"), dense("D", 4096, 4096)}, Output: libsparse.Output{Format: "dd"}}},
	{"mul_dcsr", libsparse.Request{Spec: "ij,ij->ij", Operands: []libsparse.Operand{matrix("A", "ss"), matrix("B", "ss")}}},
	{"sampled_csr", libsparse.Request{
		Spec: "ij,ij->ij", Operands: []libsparse.Operand{mask("P"), matrix("A", "ds")}, Output: libsparse.Output{Format: "ds", PatternOf: new(0)},
	}},
	{"coo_rowsum", libsparse.Request{Spec: "ijk->i", Operands: []libsparse.Operand{cube("A", "ucq")}}},
	{"csr_to_csc", libsparse.Request{Spec: "ij->ij", Operands: []libsparse.Operand{matrix("A", "ds")}, Output: libsparse.Output{Format: "ds:1,0"}}},
	{"csr_to_dcsc", libsparse.Request{Spec: "ij->ij", Operands: []libsparse.Operand{matrix("A", "ds")}, Output: libsparse.Output{Format: "ss:1,0"}}},
	{"csr_to_bsr", libsparse.Request{Spec: "ij->ij", Operands: []libsparse.Operand{matrix("A", "ds")}, Output: libsparse.Output{Format: "dk(4,4)"}}},
	{"spmv_dia", libsparse.Request{Spec: "ij,j->i", Operands: []libsparse.Operand{matrix("A", "do"), dense("x", 4096)}}},
	{"spmv_sell_adjacent", libsparse.Request{Spec: "ij,j->i", Operands: []libsparse.Operand{adjacent(matrix("A", "dl(8)")), dense("x", 4096)}}},
	{"spmv_sell_sorted", libsparse.Request{Spec: "ij,j->i", Operands: []libsparse.Operand{matrix("A", "w(256)l(32)"), dense("x", 4096)}}},
	{"spmv_narrow", libsparse.Request{Spec: "ij,j->i", Operands: []libsparse.Operand{matrix("A", "dn"), dense("x", 4096)}}},
	{"csr_sorted", libsparse.Request{Spec: "ij->ij", Operands: []libsparse.Operand{matrix("A", "ds")}, Output: libsparse.Output{Format: "w(256)s"}}},
	{"mul_hashed", libsparse.Request{Spec: "ij,ij->ij", Operands: []libsparse.Operand{matrix("A", "ds"), matrix("B", "dh")}}},
	{"spgemm_hash", libsparse.Request{Spec: "ij,jk->ik", Operands: []libsparse.Operand{matrix("A", "ds"), matrix("B", "ds")}, Output: libsparse.Output{Format: "ds"}, Schedule: "reorder(i, j, k); precompute(all, w, at=1, hash); parallelize(i, threads)"}},
	{"contraction_compact", libsparse.Request{
		Spec: "ij,jkl->ikl", Operands: []libsparse.Operand{
			matrix("A", "ds"), {Name: "T", Format: "dss", Dtype: "f32", Shape: []int64{4096, 64, 64}, NNZ: 262144},
		},
		Output: libsparse.Output{Format: "dss"},
	}},
	{"mttkrp_csf", libsparse.Request{Spec: "ikl,kj,lj->ij", Operands: []libsparse.Operand{cube("A", "dss"), dense("B", 1024, 16), dense("C", 1024, 16)}}},
	{"spmm_csr_bf16", libsparse.Request{Spec: "ij,jk->ik", Operands: typed("bf16", matrix("A", "ds"), dense("B", 4096, 16))}},
	{"scatter_f16", libsparse.Request{Spec: "ij,i->j", Operands: typed("f16", matrix("A", "ss"), dense("x", 4096))}},
	{"spmv_csr_c64", libsparse.Request{Spec: "ij,j->i", Operands: typed("c64", matrix("A", "ds"), dense("x", 4096))}},
	{"bfs_mask", libsparse.Request{Expr: "next(j) = first[0 & ~1](front(j), seen(j))", Operands: []libsparse.Operand{vector("front"), vector("seen")}}},
	{"window_spmv", libsparse.Request{Expr: "y(i) = A(i,j(8:72:4)) * x(j)", Operands: []libsparse.Operand{matrix("A", "ds"), dense("x", 16)}}},
	{"window_result", libsparse.Request{
		Expr:     "C(i(2:34),j) = A(i,j)",
		Operands: []libsparse.Operand{{Name: "A", Format: "ds", Dtype: "f32", Shape: []int64{33, 4096}, NNZ: 1024}},
		Output:   libsparse.Output{Format: "ds"},
	}},
	{"dot_galloping", libsparse.Request{Spec: "i,i->", Operands: []libsparse.Operand{vector("a"), vector("b")}, Schedule: "mergeby(i, gallop)"}},
	{"spmv_renamed", libsparse.Request{Spec: "ij,j->i", Operands: []libsparse.Operand{matrix("A", "ds"), dense("x", 4096)}, Schedule: "split(i, i0, i1, 8); precompute(all, w, at=1, tile, rename=i1:iw); vectorize(i1); parallelize(i0, threads)"}},
	{"floor_divide_i32", libsparse.Request{Expr: "C(i,j) = A(i,j) // x(j)", Operands: typed("i32", matrix("A", "ds"), dense("x", 4096)), Output: libsparse.Output{Format: "ds"}}},
	{"attention", libsparse.Request{
		Expr: "O(i,k) = softmax_mean(P(i,j) * Q(i,d) * K(j,d), V(j,k))", Output: libsparse.Output{Format: "dd"},
		Operands: []libsparse.Operand{mask("P"), dense("Q", 4096, 32), dense("K", 4096, 32), dense("V", 4096, 32)},
	}},
	{"ttv_csf", libsparse.Request{Spec: "ijk,k->ij", Operands: []libsparse.Operand{cube("A", "sss"), dense("x", 1024)}}},
}

func TestC(t *testing.T) {
	for _, k := range kernels {
		t.Run(k.name, func(t *testing.T) {
			corpus.Record(t, &k.r)
			s, err := libsparse.Lower(&k.r, native.For(32))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", k.name+".c")
			if *update {
				if err := os.WriteFile(file, []byte(s.Nests[0].Source), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), s.Nests[0].Source); diff != "" {
				t.Errorf("run with -update if this is better:\n%s", diff)
			}
		})
	}
}

// TestPasses verifies the loops of every kernel after each pass, and that Optimize runs the passes.
func TestPasses(t *testing.T) {
	for _, k := range kernels {
		s, err := libsparse.Lower(&k.r, native.For(32))
		if err != nil {
			t.Fatal(err)
		}
		m := s.Nests[0].Kernel.Module
		for _, pass := range ir.Passes(codegen.Target(32)) {
			m = pass.Run(m)
			if err := ir.Verify(m); err != nil {
				t.Errorf("%s after %s: %v", k.name, pass.Name, err)
			}
		}
		if diff := cmp.Diff(m.String(), s.Nests[0].Loops.String()); diff != "" {
			t.Errorf("%s: the passes one by one make other loops:\n%s", k.name, diff)
		}
	}
}

// TestStable compiles every kernel again: the C is the cache key, so it may not depend on map order or addresses.
func TestStable(t *testing.T) {
	for range 5 {
		for _, k := range kernels {
			a, err := libsparse.Lower(&k.r, native.For(32))
			if err != nil {
				t.Fatal(err)
			}
			b, err := libsparse.Lower(&k.r, native.For(32))
			if err != nil {
				t.Fatal(err)
			}
			if a.Nests[0].Source != b.Nests[0].Source {
				t.Fatalf("%s differs from one compilation to the next", k.name)
			}
		}
	}
}
