package infer

import (
	"testing"

	"libsparse/libsparse/dtype"
)

// TestTemporary has temporaries a place for every element where entries would take more, and say which have a term.
func TestTemporary(t *testing.T) {
	for _, c := range []struct {
		text    string
		formats map[string]string
		nnz     int64
		want    string
	}{
		{"C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds", "B": "ds"}, 3000, "ds"},
		{"C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds", "B": "ds"}, 100000, "db"},
		{"C(i,k) = A(i,j) * X(j,k)", map[string]string{"A": "ds"}, 3000, "bd"},
		{"C(k,i) = A(i,j) * X(j,k)", map[string]string{"A": "ds"}, 3000, "db"},
		{"c(i) = A(i,j) * x(j)", map[string]string{"A": "ds"}, 3000, "b"},
		{"c(i) = A(i,j) * x(j) + y(i)", map[string]string{"A": "ds"}, 3000, "d"},
		{"C(i,k) = X(i,j) * Y(j,k)", nil, 0, "dd"},
		{"c = A(i,j)", map[string]string{"A": "ds"}, 3000, ""},
	} {
		a := assignment(t, c.text, c.formats)
		a.LHS.Tensor.Elem = dtype.F32
		for _, x := range append(a.Tensors(), a.LHS.Tensor) {
			x.Extents, x.NNZ = nil, c.nnz
			for range x.Format.Levels {
				x.Extents = append(x.Extents, 1000)
			}
		}
		if f, _ := Temporary(a); f.String() != c.want {
			t.Errorf("%s with %d entries: %q, want %q", c.text, c.nnz, f, c.want)
		}
	}
}

// TestLimitedModes has users get the same kind of tensor for other data.
func TestLimitedModes(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"C(i,k) = A(i,j) * B(j,k)", "ds"},
		{"C(i,k) = A(i,j) * X(j,k)", "dd"},
		{"C(i,k) = A(i,j) * B(j,k) * x(k)", "ds"}, // B limits k, whatever x has
		{"C(i,j,k) = A(i,j) * X(j,k)", "dsd"},
	} {
		a := assignment(t, c.text, map[string]string{"A": "ds", "B": "ds"})
		for _, x := range a.Tensors() {
			x.Extents, x.NNZ = nil, 100000
			for range x.Format.Levels {
				x.Extents = append(x.Extents, 1000)
			}
		}
		if f, _ := Output(a); f.String() != c.want {
			t.Errorf("%s: %q, want %q", c.text, f, c.want)
		}
	}
}
