package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// entries are those of given data.
func (f *fixture) entries(elem dtype.T) []format.Entry {
	var out []format.Entry
	for coord := range coordinates(f.shape) {
		if v, ok := f.at(coord); ok {
			out = append(out, format.Entry{Coord: slices.Clone(coord), Value: dtype.Float(elem, v)})
		}
	}
	return out
}

// TestStorage packs TACO's data in every format.
func TestStorage(t *testing.T) {
	for _, c := range []struct {
		data   *fixture
		format string
		arrays map[string]string
	}{
		{d5a, "d", map[string]string{"val": "0,2,0,0,3"}},
		{d5a, "s", map[string]string{"pos0": "0,2", "crd0": "1,4", "val": "2,3"}},
		{d33a, "dd", map[string]string{"val": "0,2,0,0,0,0,3,0,4"}},
		{d33a, "sd", map[string]string{"pos0": "0,2", "crd0": "0,2", "val": "0,2,0,3,0,4"}},
		{d33a, "ds", map[string]string{"pos1": "0,1,1,3", "crd1": "1,0,2", "val": "2,3,4"}},
		{d33a, "ss", map[string]string{"pos0": "0,2", "crd0": "0,2", "pos1": "0,1,3", "crd1": "1,0,2", "val": "2,3,4"}},
		{d33a, "ddT", map[string]string{"val": "0,0,3,2,0,0,0,0,4"}},
		{d33a, "sdT", map[string]string{"pos0": "0,3", "crd0": "0,1,2", "val": "0,0,3,2,0,0,0,0,4"}},
		{d33a, "dsT", map[string]string{"pos1": "0,1,2,3", "crd1": "2,0,2", "val": "3,2,4"}},
		{d33a, "ssT", map[string]string{"pos0": "0,3", "crd0": "0,1,2", "pos1": "0,1,2,3", "crd1": "2,0,2", "val": "3,2,4"}},
		{d233a, "ddd", map[string]string{"val": "2,3,0,0,0,0,0,0,4,0,5,0,0,0,0,6,0,7"}},
		{d233a, "sdd", map[string]string{"pos0": "0,2", "crd0": "0,1", "val": "2,3,0,0,0,0,0,0,4,0,5,0,0,0,0,6,0,7"}},
		{d233a, "dsd", map[string]string{"pos1": "0,2,4", "crd1": "0,2,0,2", "val": "2,3,0,0,0,4,0,5,0,6,0,7"}},
		{d233a, "ssd", map[string]string{"pos0": "0,2", "crd0": "0,1", "pos1": "0,2,4", "crd1": "0,2,0,2", "val": "2,3,0,0,0,4,0,5,0,6,0,7"}},
		{d233a, "dds", map[string]string{"pos2": "0,2,2,3,4,4,6", "crd2": "0,1,2,1,0,2", "val": "2,3,4,5,6,7"}},
		{d233a, "sds", map[string]string{"pos0": "0,2", "crd0": "0,1", "pos2": "0,2,2,3,4,4,6", "crd2": "0,1,2,1,0,2", "val": "2,3,4,5,6,7"}},
		{d233a, "dss", map[string]string{"pos1": "0,2,4", "crd1": "0,2,0,2", "pos2": "0,2,3,4,6", "crd2": "0,1,2,1,0,2", "val": "2,3,4,5,6,7"}},
		{d233a, "sss", map[string]string{"pos0": "0,2", "crd0": "0,1", "pos1": "0,2,4", "crd1": "0,2,0,2", "pos2": "0,2,3,4,6", "val": "2,3,4,5,6,7"}},
		{d233a, "ooo", map[string]string{"pos0": "0,6", "crd0": "0,0,0,1,1,1", "crd1": "0,0,2,0,2,2", "crd2": "0,1,2,1,0,2", "val": "2,3,4,5,6,7"}},
		{points("0110:5", 2, 2, 2, 2), "dsdd", map[string]string{"pos1": "0,1,1", "crd1": "1", "val": "0,0,5,0"}},
	} {
		for _, elem := range dtype.All() {
			if elem == dtype.Bool {
				continue // has no such numbers
			}
			d := format.Pack(format.MustParse(spelled(c.format)), c.data.shape, c.data.entries(elem))
			for name, want := range c.arrays {
				if got := array(d, name); got != want {
					t.Errorf("%v in %s of %s: %s is %s, want %s", c.data.values, c.format, elem, name, got, want)
				}
			}
		}
	}
}

// TestEveryFormatHoldsEverything packs random tensors and reads them back.
func TestEveryFormatHoldsEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for order := range 5 {
		for _, text := range all(order) {
			for _, density := range []float64{0, 0.1, 0.5, 1} {
				shape := make([]int, order)
				for m := range shape {
					shape[m] = rng.IntN(7)
				}
				var entries []format.Entry
				for coord := range coordinates(shape) {
					if rng.Float64() < density {
						entries = append(entries, format.Entry{Coord: slices.Clone(coord), Value: dtype.Float(dtype.F64, 1+rng.Float64())})
					}
				}
				var back []format.Entry
				for _, e := range format.Pack(format.MustParse(spelled(text)), shape, entries).Entries() {
					if e.Value.Num != 0 { // blocks and dense levels hold more
						back = append(back, e)
					}
				}
				slices.SortFunc(back, func(a, b format.Entry) int { return slices.Compare(a.Coord, b.Coord) })
				if fmt.Sprint(back) != fmt.Sprint(entries) {
					t.Errorf("%s %v: got %v, want %v", text, shape, back, entries)
				}
			}
		}
	}
}
