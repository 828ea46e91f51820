package libsparse

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFunctionsAtEntriesComeBefore has the steps of expressions with matrices of entries, where functions would be computed for one entry at a time.
func TestFunctionsAtEntriesComeBefore(t *testing.T) {
	cases := []struct {
		name, format, expr string
		nnz                int64
		want               []string
	}{
		{"of rows and columns", "dd", "Y(i,k) = A(i,j) * exp(e(i) + d(j)) * X(j,k)", 1 << 20, []string{
			"t1(i,j) = stored(A(i,j)) * (e(i) + d(j))", "t2(i,j) = A(i,j) * exp(t1(i,j))", "Y(i,k) = t2(i,j) * X(j,k)",
		}},
		{"in short rows", "dd", "Y(i,k) = A(i,j) * exp(e(i) + d(j)) * X(j,k)", 1 << 14, nil},
		{"of values", "dd", "Y(i,k) = tanh(A(i,j)) * X(j,k)", 1 << 14, []string{"t1(i,j) = tanh(A(i,j))", "Y(i,k) = t1(i,j) * X(j,k)"}},
		{"in an epilogue", "dd", "Y(i,k) = relu(sum(tanh(A(i,j)) * X(j,k)) + 1)", 1 << 20, []string{"t1(i,j) = tanh(A(i,j))", "Y(i,k) = relu(sum(t1(i,j) * X(j,k)) + 1)"}},
		{"of places", "dd", "Y(i,k) = A(i,j) * exp(i - j) * X(j,k)", 1 << 20, []string{
			"t1(i,j) = stored(A(i,j)) * (i - j)", "t2(i,j) = A(i,j) * exp(t1(i,j))", "Y(i,k) = t2(i,j) * X(j,k)",
		}},
		{"at columns", "d", "y(j) = A(i,j) * exp(B(i,j))", 1 << 20, []string{"t1(i,j) = A(i,j) * exp(B(i,j))", "y(j) = t1(i,j)"}},
		{"at entries of short rows", "", "C(i,j) = A(i,j) * exp(e(i) + d(j))", 1 << 15, []string{
			"t1(i,j) = stored(A(i,j)) * (e(i) + d(j))", "C(i,j) = A(i,j) * exp(t1(i,j))",
		}},
		{"at entries of long rows", "", "C(i,j) = A(i,j) * exp(e(i) + d(j))", 1 << 20, nil},
		{"summed in rows", "d", "y(i) = exp(A(i,j)) * d(j)", 1 << 20, nil},
		{"a square", "dd", "Y(i,k) = pow(A(i,j), 2) * X(j,k)", 1 << 20, nil},
		{"few entries", "dd", "Y(i,k) = tanh(A(i,j)) * X(j,k)", 1 << 10, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all := []Operand{
				{Name: "A", Format: "ds", Dtype: "f32", Index: "i32", Shape: []int64{4096, 4096}, NNZ: c.nnz},
				{Name: "B", Format: "ds", Dtype: "f32", Index: "i32", Shape: []int64{4096, 4096}, NNZ: c.nnz, SamePattern: new(int)},
				dense("X", 4096, 16), dense("d", 4096), dense("e", 4096),
			}
			if diff := cmp.Diff(c.want, stepsOf(t, c.expr, c.format, all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLongSumsHaveSteps has a sum of so many terms that it takes minutes if each is looked for in all of them.
func TestLongSumsHaveSteps(t *testing.T) {
	const n = 1500
	r := Request{Expr: "y(i) = A(i,j)", Operands: make([]Operand, n)}
	for k := range r.Operands {
		name := "A" + strconv.Itoa(k)
		r.Operands[k] = Operand{Name: name, Format: "ds", Dtype: "f32", Index: "i32", Shape: []int64{4096, 4096}, NNZ: 1 << 16}
		if k > 0 {
			r.Operands[k].SamePattern = new(int)
		}
		r.Expr += " + " + name + "(i,j)"
	}
	r.Expr = strings.Replace(r.Expr, "A(i,j) + ", "", 1)
	c := &Compilation{Request: &r, Backend: avx2}
	runStages(t, c, FrontStages())
	read := 0
	for _, nest := range c.Nests {
		if len(nest.Operands) > 4 {
			t.Errorf("%s reads more operands than loops have cases for", nest.Assignment)
		}
		read += len(nest.Operands)
	}
	if want := n + len(c.Nests) - 1; read != want { // all operands, and each temporary once
		t.Errorf("steps read %d operands, want %d", read, want)
	}
}
