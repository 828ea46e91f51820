package tensorfile

import (
	"errors"
	"math/cmplx"
	"slices"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// kinds of Matrix Market files. TACO's .ttx are such files of tensors: the sizes are the extents of every mode.
var (
	objects    = []string{"matrix", "tensor"}
	layouts    = []string{"coordinate", "array"}
	fields     = []string{"real", "double", "integer", "complex", "pattern"}
	symmetries = []string{"general", "symmetric", "skew-symmetric", "hermitian"}
)

// banner is the first line of a Matrix Market file.
type banner struct{ object, layout, field, symmetry string }

// elem is the type of the values.
func (b banner) elem() dtype.T {
	switch b.field {
	case "pattern":
		return dtype.Bool
	case "integer":
		return dtype.I64
	case "complex":
		return dtype.C128
	default:
		return dtype.F64
	}
}

func (r *reader) banner() (b banner, err error) {
	words, err := r.words("\x00")
	if err != nil {
		return b, err
	}
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	if len(words) != 5 || words[0] != "%%matrixmarket" || !slices.Contains(objects, words[1]) {
		return b, r.failf("expected %%%%MatrixMarket matrix|tensor coordinate|array FIELD SYMMETRY")
	}
	b = banner{words[1], words[2], words[3], words[4]}
	if !slices.Contains(layouts, b.layout) || !slices.Contains(fields, b.field) || !slices.Contains(symmetries, b.symmetry) ||
		b.layout == "array" && b.field == "pattern" || b.symmetry == "hermitian" && b.field != "complex" {
		return b, r.failf("there are no %s files of %s values that are %s", b.layout, b.field, b.symmetry)
	}
	return b, nil
}

func (r *reader) matrixMarket() (*Tensor, error) {
	b, err := r.banner()
	if err != nil {
		return nil, err
	}
	words, err := r.words("%")
	if err != nil {
		return nil, err
	}
	counts := 0
	if b.layout == "coordinate" {
		counts = 1
	}
	if want := 2 + counts; b.object == "matrix" && len(words) != want || len(words) < 1+counts {
		return nil, r.failf("expected %d sizes, found %d", want, len(words))
	}
	sizes := make([]int, len(words))
	for i, w := range words {
		if sizes[i], err = r.extent(w); err != nil {
			return nil, err
		}
	}
	shape := sizes[:len(sizes)-counts]
	if b.symmetry != "general" && (len(shape) != 2 || shape[0] != shape[1]) {
		return nil, r.failf("a %s matrix is square, this %s has extents %v", b.symmetry, b.object, shape)
	}
	m := &market{reader: r, banner: b, t: &Tensor{Shape: slices.Clone(shape), Elem: b.elem(), Dense: counts == 0}}
	if m.t.Dense {
		return m.t, m.elements()
	}
	return m.t, m.coordinates(sizes[len(sizes)-1])
}

// market is a Matrix Market file that is being read.
type market struct {
	*reader
	banner
	t *Tensor
}

// coordinates reads count lines of coordinates and a value.
func (m *market) coordinates(count int) error {
	order := len(m.t.Shape)
	for range count {
		words, err := m.words("%")
		if err != nil {
			return err
		}
		if want := order + m.numbers(); len(words) != want {
			return m.failf("expected %d numbers, found %d; the file has to have %d entries", want, len(words), count)
		}
		coord := make([]int, order)
		for mode, w := range words[:order] {
			if coord[mode], err = m.coordinate(w, m.t.Shape[mode]); err != nil {
				return err
			}
		}
		if err := m.add(coord, words[order:]); err != nil {
			return err
		}
	}
	return m.end()
}

// elements reads the values of an array, the first coordinate fastest; of a symmetric one the lower triangle.
func (m *market) elements() error {
	coord := make([]int, len(m.t.Shape))
	for done := slices.Contains(m.t.Shape, 0); !done; done = m.next(coord) {
		if !m.listed(coord) {
			continue
		}
		words, err := m.words("%")
		if err != nil {
			return err
		}
		if len(words) != m.numbers() {
			return m.failf("expected the value at coordinates %v, found %d numbers", oneBased(coord), len(words))
		}
		if err := m.add(slices.Clone(coord), words); err != nil {
			return err
		}
	}
	return m.end()
}

// next steps to the following element, and reports whether there was none.
func (m *market) next(coord []int) (done bool) {
	for mode := range coord {
		if coord[mode]++; coord[mode] < m.t.Shape[mode] {
			return false
		}
		coord[mode] = 0
	}
	return true
}

// listed reports whether an array has the element.
func (m *market) listed(coord []int) bool {
	switch m.symmetry {
	case "general":
		return true
	case "skew-symmetric":
		return coord[0] > coord[1]
	default:
		return coord[0] >= coord[1]
	}
}

func oneBased(coord []int) []int {
	out := make([]int, len(coord))
	for mode, c := range coord {
		out[mode] = c + 1
	}
	return out
}

// numbers is how many numbers a value is.
func (m *market) numbers() int {
	switch m.field {
	case "pattern":
		return 0
	case "complex":
		return 2
	default:
		return 1
	}
}

// add stores a value, and its mirror image.
func (m *market) add(coord []int, words []string) error {
	v, err := m.number(words)
	if err != nil {
		return err
	}
	mirrored, err := mirror(m.symmetry, m.t.Elem, coord, v)
	if err != nil {
		return m.failf("%v", err)
	}
	m.t.Entries = append(append(m.t.Entries, format.Entry{Coord: coord, Value: v}), mirrored...)
	return nil
}

// mirror is the entry that a file of a symmetric matrix leaves out, if there is one.
func mirror(symmetry string, t dtype.T, coord []int, v dtype.Value) ([]format.Entry, error) {
	switch {
	case symmetry == "general":
		return nil, nil
	case coord[0] == coord[1] && symmetry == "skew-symmetric":
		return nil, errors.New("a skew-symmetric matrix has nothing on its diagonal")
	case coord[0] == coord[1]:
		return nil, nil
	case symmetry == "skew-symmetric":
		v = dtype.Neg.Eval(t, v)
	case symmetry == "hermitian":
		v = dtype.Value{Num: cmplx.Conj(v.Num)}
	}
	return []format.Entry{{Coord: []int{coord[1], coord[0]}, Value: v}}, nil
}

// number is the value that the words of an entry are.
func (m *market) number(words []string) (v dtype.Value, err error) {
	switch m.t.Elem {
	case dtype.Bool:
		v.Int = 1
	case dtype.I64:
		v.Int, err = m.integer(words[0])
	default:
		parts := [2]float64{}
		for i, w := range words {
			if parts[i], err = m.value(w); err != nil {
				return v, err
			}
		}
		v.Num = complex(parts[0], parts[1])
	}
	return v, err
}

// end wants nothing more.
func (m *market) end() error {
	words, err := m.words("%")
	if err == nil && words != nil {
		return m.failf("there is more than the sizes say")
	}
	return err
}
