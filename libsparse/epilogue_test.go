package libsparse

import (
	"strings"
	"testing"
)

func TestWhatIsDoneWithSums(t *testing.T) {
	for _, row := range []struct {
		expr, format string
		nests        int
	}{
		{"y(i,k) = relu(sum(A(i,j) * x(j,k)) + b(k))", "ds", 1},
		{"y(i,k) = exp(sum(A(i,j) * x(j,k)) + 0) * b(k) - 2", "ds", 1},
		{"y(i,k) = b(k) * max(sum(A(i,j) * x(j,k)) + 0, 0)", "ds", 1},
		{"y(i,k) = relu(sum(A(i,j) * x(j,k))) + b(k)", "ds", 1},
		{"y(i,k) = b(k) - gelu(sum(A(i,j) * x(j,k)))", "ds", 1},
		// Rows that are not stored are not visited by the sum.
		{"y(i,k) = relu(sum(A(i,j) * x(j,k)) + b(k))", "ss", 2},
		// The sums are updated in memory.
		{"y(i,k) = relu(sum(A(i,j) * x(j,k)) + b(k))", "ds:1,0", 2},
	} {
		r := &Request{Expr: row.expr, Operands: []Operand{
			{Name: "A", Format: row.format, Dtype: "f32", Shape: []int64{300, 300}, NNZ: 900},
			{Name: "x", Format: "dd", Dtype: "f32", Shape: []int64{300, 16}},
			{Name: "b", Format: "d", Dtype: "f32", Shape: []int64{16}},
		}, Output: Output{Format: "dd"}}
		c, err := Lower(r, avx2)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Nests) != row.nests {
			t.Errorf("%s, A in %q: %d nests, want %d", row.expr, row.format, len(c.Nests), row.nests)
		}
		if row.nests == 1 && (len(c.Nests[0].Scheduled.Workspaces) != 1 || strings.Contains(c.Nests[0].Source, "t1")) {
			t.Errorf("%s: the sums are stored\n%s", row.expr, c.Nests[0].Source)
		}
	}
}
