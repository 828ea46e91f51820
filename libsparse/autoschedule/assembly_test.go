package autoschedule

import (
	"fmt"
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/index"
)

// What comes out of order over two variables is kept in a place for each element while those are few and used.
func TestWorkspaceOverTwoVariables(t *testing.T) {
	for _, c := range []struct {
		k, l, nnz int64
		want      string
	}{
		{64, 64, 1 << 18, "precompute(all, w, at=1, row)"},
		{64, 64, 16, "precompute(all, w, at=1, list)"},            // clearing the places would cost more than what is put there
		{1025, 1025, 1 << 20, "precompute(all, w, at=2, bitmap)"}, // rows of one variable fit
	} {
		a := request(t, "ij,jkl->ikl", []string{"ds", "dss"}, "dss", 1025)
		a = bindtest.Change(a, []*index.Tensor{a.Tensors()[1], a.LHS.Tensor}, func(name string, s *bind.Storage) {
			s.Extents = []int64{1025, c.k, c.l}
			if name == "B" {
				s.NNZ = c.nnz
			}
		})
		d, err := Decide(a, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(d.Commands); !strings.Contains(got, c.want) {
			t.Errorf("%d x %d, %d entries: %s, want %s", c.k, c.l, c.nnz, got, c.want)
		}
	}
}

// TestMarks has rows know their entries by a bitmap where there are few terms near each other, by a list where there are next to none,
// and else by what each row chooses.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		extent, nnz int64
		scattered   bool
		want        string
	}{
		{1 << 12, 24 << 12, true, "adaptive"},
		{1 << 12, 24 << 12, false, "adaptive"},
		{1 << 12, 3 << 12, true, "adaptive"},
		{1 << 12, 3 << 12, false, "bitmap"},
		{1 << 16, 24 << 16, true, "adaptive"},
		{1 << 16, 3 << 16, true, "adaptive"},
		{1 << 16, 3 << 16, false, "adaptive"},
		{1 << 12, 2 << 12, true, "row"},
		{1 << 12, 192 << 12, false, "adaptive"},
		{1 << 10, 200 << 10, true, "adaptive"},
	} {
		a := request(t, "ij,jk->ik", []string{"ds", "ds"}, "ds", c.extent)
		a = bindtest.Change(a, a.Tensors()[:2], func(_ string, s *bind.Storage) { s.NNZ, s.Scattered = c.nnz, c.scattered })
		d, err := Decide(a, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(d.Commands); !strings.Contains(got, "precompute(all, w, at=1, "+c.want+")") {
			t.Errorf("%d entries in %d rows, scattered %v: %s, want %s", c.nnz, c.extent, c.scattered, got, c.want)
		}
	}
}

// TestMarksOfOneScattered has entries of rows count as far from each other where those of one operand are.
func TestMarksOfOneScattered(t *testing.T) {
	for _, name := range []string{"A", "B"} {
		a := request(t, "ij,jk->ik", []string{"ds", "ds"}, "ds", 1<<12)
		a = bindtest.Change(a, a.Tensors()[:2], func(n string, s *bind.Storage) { s.NNZ, s.Scattered = 3<<12, n == name })
		d, err := Decide(a, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(d.Commands); !strings.Contains(got, "adaptive") {
			t.Errorf("%s scattered: %s, want adaptive", name, got)
		}
	}
}
