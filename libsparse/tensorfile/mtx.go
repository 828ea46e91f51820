package tensorfile

import (
	"math/cmplx"
	"slices"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// kinds of Matrix Market files.
var (
	layouts    = []string{"coordinate", "array"}
	fields     = []string{"real", "double", "integer", "complex", "pattern"}
	symmetries = []string{"general", "symmetric", "skew-symmetric", "hermitian"}
)

// banner is the first line of a Matrix Market file.
type banner struct{ layout, field, symmetry string }

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
	if len(words) != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix" {
		return b, r.failf("expected %%%%MatrixMarket matrix coordinate|array FIELD SYMMETRY")
	}
	b = banner{words[2], words[3], words[4]}
	if !slices.Contains(layouts, b.layout) || !slices.Contains(fields, b.field) || !slices.Contains(symmetries, b.symmetry) ||
		b.layout == "array" && b.field == "pattern" || b.symmetry == "hermitian" && b.field != "complex" {
		return b, r.failf("there are no %s matrices of %s that are %s", b.layout, b.field, b.symmetry)
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
	if want := map[string]int{"coordinate": 3, "array": 2}[b.layout]; len(words) != want {
		return nil, r.failf("expected %d sizes, found %d", want, len(words))
	}
	sizes := make([]int, len(words))
	for i, w := range words {
		if sizes[i], err = r.extent(w); err != nil {
			return nil, err
		}
	}
	if b.symmetry != "general" && sizes[0] != sizes[1] {
		return nil, r.failf("a %s matrix is square, this one is %d x %d", b.symmetry, sizes[0], sizes[1])
	}
	m := &matrix{reader: r, banner: b, t: &Tensor{Shape: sizes[:2:2], Elem: b.elem()}}
	if b.layout == "array" {
		return m.t, m.columns()
	}
	return m.t, m.coordinates(sizes[2])
}

type matrix struct {
	*reader
	banner
	t *Tensor
}

// coordinates reads count lines of a row, a column and a value.
func (m *matrix) coordinates(count int) error {
	for range count {
		words, err := m.words("%")
		if err != nil {
			return err
		}
		if want := 2 + m.numbers(); len(words) != want {
			return m.failf("expected %d numbers, found %d; the file has to have %d entries", want, len(words), count)
		}
		i, err := m.coordinate(words[0], m.t.Shape[0])
		if err != nil {
			return err
		}
		j, err := m.coordinate(words[1], m.t.Shape[1])
		if err != nil {
			return err
		}
		if err := m.add(i, j, words[2:]); err != nil {
			return err
		}
	}
	return m.end()
}

// columns reads the values of an array, column by column; of a symmetric one the lower triangle.
func (m *matrix) columns() error {
	for j := range m.t.Shape[1] {
		first := 0
		switch m.symmetry {
		case "symmetric", "hermitian":
			first = j
		case "skew-symmetric":
			first = j + 1
		}
		for i := first; i < m.t.Shape[0]; i++ {
			words, err := m.words("%")
			if err != nil {
				return err
			}
			if len(words) != m.numbers() {
				return m.failf("expected the value of row %d, column %d", i+1, j+1)
			}
			if err := m.add(i, j, words); err != nil {
				return err
			}
		}
	}
	return m.end()
}

// numbers is how many numbers a value is.
func (m *matrix) numbers() int {
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
func (m *matrix) add(i, j int, words []string) error {
	v, err := m.number(words)
	if err != nil {
		return err
	}
	if m.symmetry == "skew-symmetric" && i == j {
		return m.failf("a skew-symmetric matrix has nothing on its diagonal")
	}
	m.put(i, j, v)
	switch {
	case i == j || m.symmetry == "general":
	case m.symmetry == "skew-symmetric":
		m.put(j, i, dtype.Neg.Eval(m.t.Elem, v))
	case m.symmetry == "hermitian":
		m.put(j, i, dtype.Value{Num: cmplx.Conj(v.Num)})
	default:
		m.put(j, i, v)
	}
	return nil
}

// number is the value that the words of an entry are.
func (m *matrix) number(words []string) (v dtype.Value, err error) {
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

func (m *matrix) put(i, j int, v dtype.Value) {
	m.t.Entries = append(m.t.Entries, format.Entry{Coord: []int{i, j}, Value: v})
}

// end wants nothing more.
func (m *matrix) end() error {
	words, err := m.words("%")
	if err == nil && words != nil {
		return m.failf("there is more than the sizes say")
	}
	return err
}
