package tensorfile

import (
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// coordinates reads .tns: one line an entry, coordinates from 1 and a value. Without a shape it is the largest coordinates.
func (r *reader) coordinates(shape []int) (*Tensor, error) {
	words, err := r.words('#')
	if err != nil {
		return nil, err
	}
	t := &Tensor{Shape: slices.Clone(shape), Elem: dtype.F64}
	order := len(words) - 1
	switch {
	case words == nil && shape == nil:
		return nil, diag.Errorf(diag.Format, "%s: the file has no entries; give its shape= to read an empty tensor", r.path)
	case words == nil:
		return t, nil
	case shape == nil && order < 1:
		return nil, r.failf("expected indices and a value, found %d numbers", len(words))
	case shape != nil && order != len(shape):
		return nil, r.failf("expected %d indices and a value, for the shape %v, found %d numbers", len(shape), shape, len(words))
	}
	limits := shape
	if shape == nil {
		limits, t.Shape = slices.Repeat([]int{maxSize + 1}, order), make([]int, order)
	}
	r.putBack(words)
	if t.parts, err = r.table(&columns{comment: '#', limits: limits, elem: t.Elem, symmetry: "general"}); err != nil {
		return nil, err
	}
	for _, p := range t.parts {
		for m, c := range p.coords {
			if shape == nil && len(c) > 0 {
				t.Shape[m] = max(t.Shape[m], int(slices.Max(c))+1)
			}
		}
	}
	return t, nil
}
