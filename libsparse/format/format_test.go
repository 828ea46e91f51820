package format

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"ds": "ds", "ds:0,1": "ds", "ds:1,0": "ds:1,0", "uq": "uq", "ucq": "ucq", "": "", "sss:2,0,1": "sss:2,0,1", "d": "d",
		"dk(4, 2)": "dk(4,2)", "dl(32):1,0": "dl(32):1,0", "ddo": "ddo", "sp": "sp", "hh": "hh",
		"u": "s", "du": "ds", "us": "ss", "uc": "uq", "ucs": "uqs", "uucq": "sucq",
	} {
		f, err := Parse(text)
		if err != nil || f.String() != want {
			t.Errorf("%q: got %q (%v), want %q", text, f, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"x":        `"x" is no level`,
		"ds:0":     "has to be a permutation of 0..1",
		"ds:0,2":   "permutation",
		"ds:1,1":   "permutation",
		"ds:a,b":   "permutation",
		"q":        "that is not unique (u or c)",
		"dq":       "that is not unique (u or c)",
		"ds:0,1,2": "permutation",
		"k(2,2)":   "needs a dense level",
		"so":       "needs a dense level",
		"dk":       `"k" is no level`,
		"dk(2)":    "is no level",
		"dk(0,2)":  "numbers from 1",
		"dl(x)":    "numbers from 1",
		"dl(4":     "numbers from 1",
		"sq":       "that is not unique (u or c)",
		"uqq":      "that is not unique (u or c)",
		"dpq":      "that is not unique (u or c)",
	} {
		_, err := Parse(text)
		if err == nil || diag.From(err).Kind != diag.Format || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want a format error with %q", text, err, want)
		}
	}
}

func TestPack(t *testing.T) {
	number := func(n int64) dtype.Value { return dtype.Value{Int: n} }
	entries := []Entry{{[]int{0, 1}, number(2)}, {[]int{2, 0}, number(3)}, {[]int{2, 2}, number(4)}}
	for _, c := range []struct {
		format   string
		pos, crd [][]int64
		vals     []int64
	}{
		{"ds", [][]int64{nil, {0, 1, 1, 3}}, [][]int64{nil, {1, 0, 2}}, []int64{2, 3, 4}},
		{"ds:1,0", [][]int64{nil, {0, 1, 2, 3}}, [][]int64{nil, {2, 0, 2}}, []int64{3, 2, 4}},
		{"ss", [][]int64{{0, 2}, {0, 1, 3}}, [][]int64{{0, 2}, {1, 0, 2}}, []int64{2, 3, 4}},
		{"uq", [][]int64{{0, 3}, nil}, [][]int64{{0, 2, 2}, {1, 0, 2}}, []int64{2, 3, 4}},
		{"sd", [][]int64{{0, 2}, nil}, [][]int64{{0, 2}, nil}, []int64{0, 2, 0, 3, 0, 4}},
		{"dp", [][]int64{nil, {2}}, [][]int64{nil, {1, -1, 0, -1, -1, 2}}, []int64{2, 0, 3, 0, 0, 4}},
		{"dl(2)", [][]int64{nil, {0, 2, 6}}, [][]int64{nil, {1, -1, 0, -1, 2, -1}}, []int64{2, 0, 3, 0, 4, 0}},
		{"do", [][]int64{nil, {3}}, [][]int64{nil, {-2, 0, 1}}, []int64{0, 0, 3, 0, 0, 4, 2, 0, 0}},
		{"dk(2,2)", [][]int64{nil, {0, 1, 3}}, [][]int64{nil, {0, 0, 1}}, []int64{0, 2, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}},
		{"dh", [][]int64{nil, {0, 2, 2, 6}}, [][]int64{nil, {-1, 1, 0, 2, -1, -1}}, []int64{0, 2, 3, 4, 0, 0}},
		{"dd", [][]int64{nil, nil}, [][]int64{nil, nil}, []int64{0, 2, 0, 0, 0, 0, 3, 0, 4}},
	} {
		d := Pack(MustParse(c.format), []int{3, 3}, entries)
		if diff := cmp.Diff(c.pos, d.Pos) + cmp.Diff(c.crd, d.Crd) + cmp.Diff(c.vals, numbers(d.Vals)); diff != "" {
			t.Errorf("%s: %s", c.format, diff)
		}
		found := 0
		for _, e := range d.Entries() {
			if e.Value.Int != 0 {
				found++
			}
		}
		if found != len(entries) {
			t.Errorf("%s: unpacked %d entries", c.format, found)
		}
	}
}

func numbers(values []dtype.Value) []int64 {
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = v.Int
	}
	return out
}

func TestShapes(t *testing.T) {
	for text, want := range map[string]struct {
		groups  int
		rowwise bool
		dense   bool
	}{
		"ds": {1, true, false}, "dds": {1, true, false}, "ss": {2, false, false}, "uq": {1, false, false},
		"sd": {1, false, false}, "dd": {0, false, true}, "": {0, false, true}, "duq": {1, true, false},
	} {
		f := MustParse(text)
		if len(f.Groups()) != want.groups || f.Rowwise() != want.rowwise || f.Dense() != want.dense {
			t.Errorf("%q: groups %v, rowwise %t, dense %t", text, f.Groups(), f.Rowwise(), f.Dense())
		}
	}
}
