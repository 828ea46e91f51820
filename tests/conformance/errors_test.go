package conformance

import (
	"strings"
	"testing"

	"libsparse/codegen/native"

	"libsparse/libsparse"
	"libsparse/libsparse/diag"
)

// TestErrors has the mistakes of TACO's tests of errors, types and reorderings.
func TestErrors(t *testing.T) {
	matrix := libsparse.Operand{Name: "A", Format: "ds", Dtype: "f32", Shape: []int64{8, 8}, NNZ: 9}
	vector := libsparse.Operand{Name: "x", Format: "d", Dtype: "f32", Shape: []int64{8}}
	complexes := libsparse.Operand{Name: "x", Format: "d", Dtype: "c64", Shape: []int64{8}}
	for _, c := range []struct {
		expr, output, schedule string
		vector                 libsparse.Operand
		kind                   diag.Kind
		want                   string
	}{
		{"", "", "", vector, diag.Syntax, ""},
		{"y(i)", "", "", vector, diag.Syntax, `expected "="`},
		{"y(i) = A(i,j) *", "", "", vector, diag.Syntax, "expected"},
		{"y(i) = A(i,j,k) * x(j)", "", "", vector, diag.Shape, "A"},
		{"y(i) = A(i) * x(i)", "", "", vector, diag.Shape, "A"},
		{"x(i) = A(i,j)", "", "", vector, diag.Syntax, "the result x is also an operand"},
		{"y(i) = A(i,j) * z(j)", "", "", vector, diag.Syntax, "there is no operand z"},
		{"y(i) = A(i,j)", "", "", vector, diag.Syntax, "x is not used"},
		{"y(i) = A(i,j) * x(j)", "ds", "", vector, diag.Format, "has 1 modes"},
		{"y(i) = A(i,j) * x(j)", "", "reorder(i, k)", vector, diag.Unsupported, "k"},
		{"y(i) = A(i,j) * x(j)", "", "pos(i, ip, A)", vector, diag.Unsupported, "pos(i, ip, A)"},
		{"y(i) = A(i,j) * x(j)", "", "pos(j, jp, x)", vector, diag.Unsupported, "pos(j, jp, x)"},
		{"y(i) = A(i,j) * x(j)", "", "pos(j, jp, B)", vector, diag.Unsupported, "B"},
		{"y(i) = A(i,j) * x(j)", "", "reorder(j, i)", vector, diag.Unsupported, "reorder(j, i)"},
		{"y(i) max= A(i,j) * x(j)", "", "", complexes, diag.Dtype, "not defined for"},
	} {
		r := &libsparse.Request{Expr: c.expr, Operands: []libsparse.Operand{matrix, c.vector}, Output: libsparse.Output{Format: c.output}, Schedule: c.schedule}
		_, err := libsparse.Lower(r, native.For(32))
		if err == nil || diag.From(err).Kind != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %s: got %v, want a %s error with %q", c.expr, c.schedule, err, c.kind, c.want)
		}
	}
}
