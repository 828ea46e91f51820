package infer

import (
	"slices"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
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
		a := bindtest.Parse(t, c.text, c.formats)
		a.LHS.Tensor.Elem = dtype.F32
		a = bindtest.Change(a, append(a.Tensors(), a.LHS.Tensor), func(_ string, x *bind.Storage) {
			x.Extents, x.NNZ = slices.Repeat([]int64{1000}, x.Format.Order()), c.nnz
		})
		if f, _ := Temporary(a); f.String() != c.want {
			t.Errorf("%s with %d entries: %q, want %q", c.text, c.nnz, f, c.want)
		}
	}
}

// TestFewRows has temporaries store the rows only that have entries where those are few.
func TestFewRows(t *testing.T) {
	for _, c := range []struct {
		text    string
		formats map[string]string
		filled  int64
		nnz     int64
		want    string
	}{
		{"c(i) = A(i,j) * x(j)", map[string]string{"A": "ds"}, 10, 100, "s"},
		{"c(i) = A(i,j) * x(j)", map[string]string{"A": "ds"}, 100, 1000, "b"},
		{"C(i,k) = A(i,j) * X(j,k)", map[string]string{"A": "ds"}, 10, 100, "sd"},
		{"C(k,i) = A(i,j) * X(j,k)", map[string]string{"A": "ds"}, 10, 100, "db"}, // X has all k
		{"C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds", "B": "ds"}, 10, 5000, "sb"},
		{"C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds", "B": "ds"}, 10, 20, "ds"},
		{"C(i,k,l) = A(i,j) * B(j,k) * X(j,l)", map[string]string{"A": "ds", "B": "ds"}, 10, 5000, "sbd"},
		{"C(i,j) = A(i,j) + X(i,j)", map[string]string{"A": "ds"}, 10, 100, "dd"},
	} {
		a := bindtest.Parse(t, c.text, c.formats)
		a.LHS.Tensor.Elem = dtype.F32
		a = bindtest.Change(a, append(a.Tensors(), a.LHS.Tensor), func(name string, x *bind.Storage) {
			x.Extents, x.NNZ = slices.Repeat([]int64{1000}, x.Format.Order()), 200000
			if name == "A" {
				x.NNZ, x.Filled = c.nnz, c.filled
			}
		})
		if f, _ := Temporary(a); f.String() != c.want {
			t.Errorf("%s with %d rows: %q, want %q", c.text, c.filled, f, c.want)
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
		a := bindtest.Parse(t, c.text, map[string]string{"A": "ds", "B": "ds"})
		a = bindtest.Change(a, a.Tensors(), func(_ string, x *bind.Storage) {
			x.Extents, x.NNZ = slices.Repeat([]int64{1000}, x.Format.Order()), 100000
		})
		if f, _ := Output(a); f.String() != c.want {
			t.Errorf("%s: %q, want %q", c.text, f, c.want)
		}
	}
}

// TestReducedOverNothing has temporaries that may have no term say so.
func TestReducedOverNothing(t *testing.T) {
	for extent, want := range map[int64]string{0: "b", 10: "b", 5: "d", 1000: "d"} {
		a := bindtest.Parse(t, "c(i) = X(i,j) + 1", nil)
		a = bindtest.Change(a, append(a.Tensors(), a.LHS.Tensor), func(_ string, x *bind.Storage) {
			x.Extents = []int64{1000, extent}[:x.Format.Order()]
		})
		if f, _ := Temporary(a); f.String() != want {
			t.Errorf("%d columns: %q, want %q", extent, f, want)
		}
	}
}
