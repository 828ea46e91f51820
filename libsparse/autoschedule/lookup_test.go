package autoschedule

import (
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
)

// TestLookups has rows be looked up in products where another operand chooses which rows they are merged with, unless they would be far longer than
// what is stored.
func TestLookups(t *testing.T) {
	for _, c := range []struct {
		spec string
		out  string
		n    int64
		want string
	}{
		{"ij,ik,jk->ij", "ds", 4096, "precompute(B, row, at=1, lookup)"},
		{"ij,ik,jk->", "", 4096, "precompute(B, row, at=1, lookup)"},
		{"ij,ik,jk->ij", "ds", 1 << 36, ""},
		{"ij,kj->ik", "ds", 4096, ""},
		{"ij,ij->", "", 4096, ""},
		{"ij,ijk->k", "d", 64, ""},
	} {
		formats := []string{"ds", "ds", "ds"}[:strings.Count(c.spec, ",")+1]
		if strings.Contains(c.spec, "ijk") {
			formats = []string{"ds", "dss"}
		}
		a := request(t, c.spec, formats, c.out, c.n)
		a = bindtest.Change(a, a.Tensors(), func(_ string, s *bind.Storage) { s.NNZ = 65536 })
		d, err := Decide(a, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, command := range d.Commands {
			if text := command.String(); strings.Contains(text, "lookup") {
				got = append(got, text)
			}
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s of extents %d: %v, want %q", c.spec, c.n, got, c.want)
		}
	}
}
