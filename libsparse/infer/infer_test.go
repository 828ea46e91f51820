package infer

import (
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// assignment reads an expression over tensors with the given formats, of type f64.

func TestOutput(t *testing.T) {
	type formats = map[string]string
	for _, c := range []struct {
		name, text string
		in         formats
		want, of   string
	}{
		{"SpMV", "y(i) = A(i,j) * x(j)", formats{"A": "ds"}, "d", ""},
		{"SpMM", "C(i,k) = A(i,j) * B(j,k)", formats{"A": "ds"}, "dd", ""},
		{"SpMM from the right", "C(i,k) = B(i,j) * A(j,k)", formats{"A": "ds"}, "dd", ""},
		{"SpMM of DCSR", "C(i,k) = A(i,j) * B(j,k)", formats{"A": "ss"}, "dd", ""},
		{"SpGEMM of CSR", "C(i,k) = A(i,j) * B(j,k)", formats{"A": "ds", "B": "ds"}, "ds", ""},
		{"SpGEMM of CSC", "C(i,k) = A(i,j) * B(j,k)", formats{"A": "ds:1,0", "B": "ds:1,0"}, "ds:1,0", ""},
		{"SDDMM", "S(i,j) = P(i,j) * Q(i,k) * K(j,k)", formats{"P": "ds"}, "ds", "P"},
		{"SDDMM, COO", "S(i,j) = Q(i,k) * K(j,k) * P(i,j)", formats{"P": "uq"}, "uq", "P"},
		{"COO times dense", "C(i,j) = A(i,j) * B(i,j)", formats{"A": "uq"}, "uq", "A"},
		{"scaled", "C(i,j) = 2 * A(i,j)", formats{"A": "ds"}, "ds", "A"},
		{"sum of two", "C(i,j) = A(i,j) + B(i,j)", formats{"A": "ds", "B": "ds"}, "ds", ""},
		{"sum with dense", "C(i,j) = A(i,j) + B(i,j)", formats{"A": "ds"}, "dd", ""},
		{"product of two", "C(i,j) = A(i,j) * B(i,j)", formats{"A": "ss", "B": "ss"}, "ss", ""},
		{"product with arrays of other entries", "C(i,j,k) = A(i,j) * B(i,j,k)", formats{"A": "ds", "B": "dsd"}, "dsd", ""},
		{"product of arrays", "C(i,j,k) = A(i,j,k) * B(i,j,k)", formats{"A": "sss", "B": "dsd"}, "sss", ""},
		{"product of rows", "C(i,j) = A(i,j) * B(i,j)", formats{"A": "sd", "B": "sd"}, "sd", ""},
		{"product of two vectors", "c(i) = a(i) * b(i)", formats{"a": "s", "b": "s"}, "s", ""},
		{"sum of two vectors", "c(i) = a(i) + b(i)", formats{"a": "s", "b": "s"}, "s", ""},
		{"row sums", "y(i) = A(i,j)", formats{"A": "ds"}, "d", ""},
		{"total", "y = A(i,j)", formats{"A": "ds"}, "", ""},
		{"TTV", "C(i,j) = A(i,j,k) * x(k)", formats{"A": "sss"}, "ds", ""},
		{"TTM", "C(i,j,l) = A(i,j,k) * B(k,l)", formats{"A": "sss"}, "dsd", ""},
		{"batch of SpMM", "C(b,i,k) = A(i,j) * B(b,j,k)", formats{"A": "ds"}, "ddd", ""},
		{"SDDMM of heads", "S(h,i,j) = P(i,j) * Q(h,i,k) * K(h,j,k)", formats{"P": "ds"}, "dsd:1,2,0", "P"},
		{"SDDMM of heads, ELL", "S(i,j,h) = P(i,j) * Q(h,i,k) * K(h,j,k)", formats{"P": "dp"}, "dsd", ""},
		{"sum of heads", "S(i,j) = P(h,i,j)", formats{"P": "dsd:1,2,0"}, "ds", "P"},
		{"columns scaled", "C(j,i) = A(i,j) * x(j)", formats{"A": "ds"}, "ds:1,0", "A"},
		{"scaled by a sum", "C(i,j) = A(i,j) * (x(i) + y(j))", formats{"A": "ss"}, "ss", "A"},
		{"MTTKRP", "M(i,j) = A(i,k,l) * B(k,j) * C(l,j)", formats{"A": "dss"}, "dd", ""},
	} {
		got, owner := Output(bindtest.Parse(t, c.text, c.in))
		of := ""
		if owner != nil {
			of = owner.Name
		}
		if got.String() != c.want || of != c.of {
			t.Errorf("%s: %q, pattern of %q; want %q, %q", c.name, got, of, c.want, c.of)
		}
	}
}

// TestSharedPattern gives a product the pattern that its factors share, and none where they only look alike.
func TestSharedPattern(t *testing.T) {
	a := bindtest.Parse(t, "C(i,j) = A(i,j) * B(i,j)", map[string]string{"A": "ds", "B": "ds"})
	csr := format.MustParse("ds")
	if p := Pattern(a, csr); p != nil {
		t.Errorf("pattern of %s, which differ", p.Name)
	}
	both := a.Tensors()
	a = bindtest.Change(a, both[1:], func(_ string, s *bind.Storage) { s.SamePattern = both[0] })
	if p := Pattern(a, csr); p != both[0] {
		t.Errorf("pattern of %v, want that of A", p)
	}
	a.LHS.Vars = []index.Var{"j", "i"}
	if p := Pattern(a, csr); p != nil {
		t.Errorf("the transposed product has the pattern of %s", p.Name)
	}
}

func TestElem(t *testing.T) {
	a := bindtest.Parse(t, "S(i,j) = P(i,j) * Q(i,j)", map[string]string{"P": "ds"})
	p, q := a.Tensors()[0], a.Tensors()[1]
	p.Elem, p.PatternOnly, q.Elem = dtype.Bool, true, dtype.F32
	if got := Elem(a.Assignment); got != dtype.F32 {
		t.Errorf("%s, but a pattern has no values to be of a type", got)
	}
	q.PatternOnly = true
	if got := Elem(a.Assignment); got != dtype.Bool {
		t.Errorf("%s of patterns only, want the first", got)
	}
}
