// Package tensorfile reads and writes tensors as text: Matrix Market (.mtx, and TACO's .ttx for tensors), FROSTT's
// coordinates (.tns) and Rutherford-Boeing (.rb), each also compressed (.gz). Coordinates are checked, duplicates are kept as they are.
//
// It must not know expressions or kernels.
package tensorfile

import (
	"slices"
	"unsafe"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// Tensor is the content of a file: coordinates, and values unless all are true.
type Tensor struct {
	Shape []int
	// Elem is the type of the values: bool where there are coordinates only. A file that was read has c128, f64, i64 or bool.
	Elem  dtype.T
	parts []*part
	late  *late // where the parts are still in the file
}

// part is entries that stand together in a file.
type part struct {
	count  int
	lines  int       // that hold the entries, which may stand for two each
	coords [][]int64 // by mode
	values
}

// values are of one kind: integers, floats or complex numbers; none of bool.
type values struct {
	ints      []int64
	floats    []float64
	complexes []complex128
}

// New is a tensor of entries; false ones make it a tensor of integers.
func New(shape []int, elem dtype.T, entries []format.Entry) *Tensor {
	if elem == dtype.Bool && slices.ContainsFunc(entries, func(e format.Entry) bool { return e.Value.Int == 0 }) {
		elem = dtype.I64
	}
	p := newPart(len(shape), elem, len(entries))
	coord := make([]int64, len(shape))
	for _, e := range entries {
		for m, c := range e.Coord {
			coord[m] = int64(c)
		}
		p.add(coord, e.Value)
	}
	return &Tensor{Shape: shape, Elem: elem, parts: []*part{p}}
}

// newPart has room for n entries.
func newPart(order int, elem dtype.T, n int) *part {
	p := &part{coords: make([][]int64, order)}
	for m := range p.coords {
		p.coords[m] = make([]int64, 0, n)
	}
	switch {
	case elem.IsComplex():
		p.complexes = make([]complex128, 0, n)
	case elem.IsFloat():
		p.floats = make([]float64, 0, n)
	case elem.IsInt():
		p.ints = make([]int64, 0, n)
	}
	return p
}

func (p *part) add(coord []int64, v dtype.Value) {
	p.count++
	for m, c := range coord {
		p.coords[m] = append(p.coords[m], c)
	}
	switch {
	case p.complexes != nil:
		p.complexes = append(p.complexes, v.Num)
	case p.floats != nil:
		p.floats = append(p.floats, real(v.Num))
	case p.ints != nil:
		p.ints = append(p.ints, v.Int)
	}
}

func (v *values) value(e int) dtype.Value {
	switch {
	case v.complexes != nil:
		return dtype.Value{Num: v.complexes[e]}
	case v.floats != nil:
		return dtype.Value{Num: complex(v.floats[e], 0)}
	case v.ints != nil:
		return dtype.Value{Int: v.ints[e]}
	default:
		return dtype.Value{Int: 1}
	}
}

// Len is the number of entries.
func (t *Tensor) Len() int {
	n := 0
	for _, p := range t.parts {
		n += p.count
	}
	return n
}

// Entries are coordinates and values one by one.
func (t *Tensor) Entries() []format.Entry {
	out := make([]format.Entry, 0, t.Len())
	for _, p := range t.parts {
		for e := range p.count {
			coord := make([]int, len(p.coords))
			for m, c := range p.coords {
				coord[m] = int(c[e])
			}
			out = append(out, format.Entry{Coord: coord, Value: p.value(e)})
		}
	}
	return out
}

// Header describes a tensor whose coordinates and values are arrays in memory: coordinates as int64, all of the first
// mode first; values as int64, float64 or complex128, by the kind of Dtype, none for bool.
type Header struct {
	Shape   []int   `json:"shape"`
	Dtype   dtype.T `json:"dtype"`
	Entries int     `json:"entries"`
}

// Header describes the arrays that CopyTo fills. A tensor that was opened has at most as many entries before, and so many after.
func (t *Tensor) Header() Header {
	n := t.Len()
	if t.late != nil {
		n = int(t.late.entries.Load())
	}
	return Header{Shape: t.Shape, Dtype: t.Elem, Entries: n}
}

// maxEntries is so small that the sizes of arrays fit in 64 bits.
const maxEntries = 1 << 50

// Check reports whether h describes a tensor.
func (h Header) Check() error {
	if t, ok := dtype.Parse(string(h.Dtype)); !ok || t != h.Dtype || h.Entries < 0 || h.Entries > maxEntries || slices.ContainsFunc(h.Shape, func(n int) bool { return n < 0 }) {
		return diag.Errorf(diag.Format, "there are no tensors of shape %v with %d entries of type %q", h.Shape, h.Entries, h.Dtype)
	}
	return nil
}

// CoordBytes is the size of the array of coordinates.
func (h Header) CoordBytes() int { return 8 * len(h.Shape) * h.Entries }

// ValueBytes is the size of the array of values.
func (h Header) ValueBytes() int {
	switch {
	case h.Dtype.IsComplex():
		return 16 * h.Entries
	case h.Dtype == dtype.Bool:
		return 0
	default:
		return 8 * h.Entries
	}
}

// CopyTo fills the arrays that the header describes. They may have room for more entries, at the end of each mode and of the values.
func (t *Tensor) CopyTo(coords, values []byte) error {
	each := len(coords) / max(len(t.Shape), 1)
	parts := t.parts
	if t.late != nil {
		h := t.Header()
		h.Entries = each / 8
		var err error
		if parts, err = t.load(FromArrays(h, coords, values).parts[0]); err != nil {
			return err
		}
	}
	at := 0
	for _, p := range parts { // those that stand in the arrays move towards the start
		for m, c := range p.coords {
			copy(coords[m*each+8*at:], view[byte](c))
		}
		copy(values[min(8*at, len(values)):], view[byte](p.ints))
		copy(values[min(8*at, len(values)):], view[byte](p.floats))
		copy(values[min(16*at, len(values)):], view[byte](p.complexes))
		at += p.count
	}
	return nil
}

// FromArrays is the tensor whose arrays a header describes; it borrows them.
func FromArrays(h Header, coords, values []byte) *Tensor {
	p := &part{count: h.Entries}
	all := view[int64](coords)
	for m := range h.Shape {
		p.coords = append(p.coords, all[m*h.Entries:(m+1)*h.Entries])
	}
	switch {
	case h.Dtype.IsComplex():
		p.complexes = view[complex128](values)
	case h.Dtype.IsFloat():
		p.floats = view[float64](values)
	case h.Dtype.IsInt():
		p.ints = view[int64](values)
	}
	return &Tensor{Shape: h.Shape, Elem: h.Dtype, parts: []*part{p}}
}

// view is the memory of numbers as numbers of another type.
func view[To, From byte | int64 | float64 | complex128](numbers []From) []To {
	var from From
	var to To
	n := len(numbers) * int(unsafe.Sizeof(from)) / int(unsafe.Sizeof(to))
	return unsafe.Slice((*To)(unsafe.Pointer(unsafe.SliceData(numbers))), n)
}

// bytes is the memory that was taken for the entries.
func (p *part) bytes() int {
	n := 8*cap(p.ints) + 8*cap(p.floats) + 16*cap(p.complexes)
	for _, c := range p.coords {
		n += 8 * cap(c)
	}
	return n
}
