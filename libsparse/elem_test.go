package libsparse

import (
	"strings"
	"testing"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

func typedRequest(expr, wish string, types ...string) *Request {
	r := &Request{Expr: expr, Output: Output{Dtype: wish}}
	for i, t := range types {
		r.Operands = append(r.Operands, Operand{Name: string(rune('A' + i)), Format: "s", Dtype: t, Shape: []int64{100}, NNZ: 10})
	}
	return r
}

func TestResultTypes(t *testing.T) {
	for _, c := range []struct {
		r    *Request
		want dtype.T
	}{
		{typedRequest("y(i) = A(i) * B(i)", "", "i8", "u8"), dtype.I16},
		{typedRequest("y(i) = A(i) * B(i)", "", "f16", "bf16"), dtype.F32},
		{typedRequest("y(i) = A(i) * B(i)", "bf16", "bf16", "i64"), dtype.BF16},
		{typedRequest("y(i) = 2 * A(i)", "", "i8"), dtype.I8},
		{typedRequest("y(i) = 2.0 * A(i)", "", "i8"), dtype.F32},
		{typedRequest("y(i) = 2 * A(i)", "", "bool"), dtype.I64},
		{typedRequest("y(i) = sin(A(i))", "", "i64"), dtype.F32},
		{typedRequest("y(i) = abs(A(i)) * B(i)", "", "c64", "f32"), dtype.F32},
		{typedRequest("y(i) = A(i) * B(i)", "", "f64", "c64"), dtype.C128},
		{typedRequest("y = A(i)", "i64", "bool"), dtype.I64},
	} {
		s, err := Lower(c.r, avx2)
		if err != nil {
			t.Errorf("%s: %v", c.r.Expr, err)
		} else if got := s.Result().Tensor.Elem; got != c.want {
			t.Errorf("%s: got %s, want %s", c.r.Expr, got, c.want)
		}
	}
}

func TestTypesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		r    *Request
		want string
	}{
		{typedRequest("y(i) = max(A(i), B(i))", "", "c64", "c64"), "max is not defined for complex"},
		{typedRequest("y(i) = floor(A(i))", "", "c128"), "floor is not defined for complex"},
		{typedRequest("y(i) = imag(A(i))", "", "f32"), "imag is only defined for complex"},
		{typedRequest("y(i) = A(i) - B(i)", "", "bool", "bool"), "not defined for bool"},
		{typedRequest("y(i) = A(i) * 300", "", "i8"), "does not fit"},
		{typedRequest("y(i) = A(i)", "i32", "f32"), "can't hold"},
		{typedRequest("y(i) = A(i)", "f99", "f32"), "none of"},
	} {
		_, err := Lower(c.r, avx2)
		if err == nil || diag.From(err).Kind != diag.Dtype || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a dtype error with %q", c.r.Expr, err, c.want)
		}
	}
}

// TestExactLiterals wants integers of 64 bits as they are written.
func TestExactLiterals(t *testing.T) {
	s, err := Lower(typedRequest("y(i) = A(i) * 9007199254740993", "", "i64"), avx2)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Nests[0].Source, "9007199254740993") {
		t.Errorf("the literal is gone:\n%s", s.Nests[0].Source)
	}
}
