package tensorfile

import (
	"strconv"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// coordinates reads .tns: one line an entry, coordinates from 1 and a value. The shape is the largest coordinates.
func (r *reader) coordinates() (*Tensor, error) {
	t := &Tensor{Elem: dtype.F64}
	for {
		words, err := r.words("#")
		if err != nil {
			return nil, err
		}
		if words == nil {
			return t, nil
		}
		order := len(words) - 1
		if t.Shape == nil {
			t.Shape = make([]int, order)
		}
		if order != len(t.Shape) || order < 1 {
			return nil, r.failf("expected %d coordinates and a value, found %d words", max(len(t.Shape), 1), len(words))
		}
		e := format.Entry{Coord: make([]int, order)}
		for m, w := range words[:order] {
			if e.Coord[m], err = r.coordinate(w, maxCoordinate); err != nil {
				return nil, err
			}
			t.Shape[m] = max(t.Shape[m], e.Coord[m]+1)
		}
		v, err := r.value(words[order])
		if err != nil {
			return nil, err
		}
		e.Value = dtype.Float(dtype.F64, v)
		t.Entries = append(t.Entries, e)
	}
}

// maxCoordinate leaves room for one more.
const maxCoordinate = 1<<(strconv.IntSize-1) - 2
