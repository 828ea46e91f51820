package tensorfile

import (
	"bytes"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// kinds of Matrix Market files. TACO's .ttx are such files of tensors: the sizes are the extents of every mode.
var (
	objects    = []string{"matrix", "tensor"}
	layouts    = []string{"coordinate", "array"}
	fieldTypes = map[string]dtype.T{"real": dtype.F64, "double": dtype.F64, "integer": dtype.I64, "complex": dtype.C128, "pattern": dtype.Bool}
	symmetries = []string{"general", "symmetric", "skew-symmetric", "hermitian"}
)

// banner is the first line of a Matrix Market file.
type banner struct{ object, layout, field, symmetry string }

func (r *reader) banner() (b banner, err error) {
	text, err := r.next()
	if err != nil {
		return b, err
	}
	r.line = 1
	words := fields(bytes.ToLower(text))
	if len(words) != 5 || words[0] != "%%matrixmarket" || !slices.Contains(objects, words[1]) {
		return b, r.failf("expected %%%%MatrixMarket matrix|tensor coordinate|array FIELD SYMMETRY")
	}
	b = banner{words[1], words[2], words[3], words[4]}
	_, known := fieldTypes[b.field]
	if !known || !slices.Contains(layouts, b.layout) || !slices.Contains(symmetries, b.symmetry) || b.layout == "array" && b.field == "pattern" {
		return b, r.failf("there are no %s files of %s values that are %s", b.layout, b.field, b.symmetry)
	}
	return b, nil
}

func (r *reader) matrixMarket() (*Tensor, error) {
	b, err := r.banner()
	if err != nil {
		return nil, err
	}
	shape, count, err := r.sizes(b)
	if err != nil {
		return nil, err
	}
	if b.symmetry != "general" && (len(shape) != 2 || shape[0] != shape[1]) {
		return nil, r.failf("a %s matrix is square, this %s has extents %v", b.symmetry, b.object, shape)
	}
	t := &Tensor{Shape: shape, Elem: fieldTypes[b.field]}
	if b.layout == "array" {
		err = r.array(t, b)
		return t, err
	}
	c := &columns{comment: '%', limits: shape, elem: t.Elem, symmetry: b.symmetry}
	if r.target != nil && r.target.room == nil {
		t.late, err = r.postpone(c, count)
		return t, err
	}
	t.parts, err = r.table(c)
	if err != nil {
		return nil, err
	}
	found := 0
	for _, p := range t.parts {
		found += p.lines
	}
	switch {
	case found < count:
		return nil, r.failf("the file ends after %d entries, its header says %d", found, count)
	case found > count:
		return nil, diag.Errorf(diag.Format, "%s: the file has %d entries, its header says %d", r.path, found, count)
	}
	return t, nil
}

// maxSize bounds extents, so that their sums fit in 64 bits.
const maxSize = 1<<62 - 1

// sizes reads the extents, and the number of entries of a file that lists coordinates.
func (r *reader) sizes(b banner) (shape []int, count int, err error) {
	words, err := r.words('%')
	if err != nil {
		return nil, 0, err
	}
	wanted, counts := "every extent", 0
	if b.object == "matrix" {
		wanted = "rows, columns"
	}
	if b.layout == "coordinate" {
		wanted, counts = wanted+" and entries", 1
	}
	fits := len(words) == 2+counts || b.object == "tensor" && len(words) > counts
	for _, w := range words {
		n, err := strconv.Atoi(w)
		fits = fits && err == nil && 0 <= n && n <= maxSize
		shape = append(shape, n)
	}
	if !fits {
		r.line = max(r.line, 2)
		return nil, 0, r.failf("expected the numbers of %s, found %q", wanted, strings.Join(words, " "))
	}
	if counts == 1 {
		count = shape[len(shape)-1]
	}
	return shape[:len(shape)-counts], count, nil
}

// array reads the values of every element, the first coordinate fastest, or of a symmetric matrix the lower triangle. Zeros
// are left out.
func (r *reader) array(t *Tensor, b banner) error {
	listed, err := r.table(&columns{comment: '%', elem: t.Elem, symmetry: "general"})
	if err != nil {
		return err
	}
	found := int64(0)
	for _, p := range listed {
		found += int64(p.count)
	}
	if want := b.elements(t.Shape); !want.IsInt64() || want.Int64() != found {
		return diag.Errorf(diag.Format, "%s: expected %v numbers for %s %s, found %d", r.path, want, extents(t.Shape), b.symmetry, found)
	}
	coord := make([]int64, len(t.Shape))
	if b.symmetry == "skew-symmetric" && found > 0 {
		coord[0] = 1
	}
	for _, p := range listed {
		kept := (&columns{limits: t.Shape, elem: t.Elem, symmetry: b.symmetry}).newPart(p.count)
		for e := range p.count {
			if v := p.value(e); v != (dtype.Value{}) {
				kept.addMirrored(b.symmetry, t.Elem, coord, v)
			}
			b.step(t.Shape, coord)
		}
		t.parts = append(t.parts, kept)
	}
	return nil
}

// step goes to the next element that an array lists.
func (b banner) step(shape []int, coord []int64) {
	for m := range coord {
		if coord[m]++; coord[m] < int64(shape[m]) {
			return
		}
		coord[m] = 0
		switch {
		case b.symmetry == "general" || m > 0:
		case b.symmetry == "skew-symmetric":
			coord[0] = coord[1] + 2 // of the next column, the row below the diagonal
		default:
			coord[0] = coord[1] + 1
		}
	}
}

// elements is how many elements an array lists.
func (b banner) elements(shape []int) *big.Int {
	n := big.NewInt(int64(shape[0]))
	if b.symmetry == "general" {
		for _, extent := range shape[1:] {
			n.Mul(n, big.NewInt(int64(extent)))
		}
		return n
	}
	other := big.NewInt(1)
	if b.symmetry == "skew-symmetric" {
		other = big.NewInt(-1)
	}
	n.Mul(n, other.Add(other, n))
	return n.Rsh(n, 1)
}

func extents(shape []int) string {
	words := make([]string, len(shape))
	for m, n := range shape {
		words[m] = strconv.Itoa(n)
	}
	return strings.Join(words, " x ")
}
