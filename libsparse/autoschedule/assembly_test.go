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
		{64, 64, 16, "precompute(all, w, at=1, list)"},         // clearing the places would cost more than what is put there
		{1025, 1025, 1 << 20, "precompute(all, w, at=2, row)"}, // rows of one variable fit
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
