package ir_test

import (
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// TestFreshNames makes variables and arrays whose names are taken by slots and by each other.
func TestFreshNames(t *testing.T) {
	slots := []ir.Slot{{Var: &ir.Var{Name: "n", T: ir.Index}}, {Array: &ir.Array{Name: "x", Elem: dtype.F32}}}
	b := ir.NewBuilder(slots)
	got := []string{
		b.Index("n").Name, b.Scalar("n", dtype.F32).Name, b.Array("x", dtype.F32).Name,
		b.Fresh("i"), b.Fresh("i"),
	}
	for i, want := range []string{"n_2", "n_3", "x_2", "i", "i_2"} {
		if got[i] != want {
			t.Errorf("name %d is %s, want %s", i, got[i], want)
		}
	}
}
