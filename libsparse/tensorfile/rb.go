package tensorfile

import (
	"regexp"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// Rutherford-Boeing: a matrix by columns. Four lines say how many numbers follow and in which of Fortran's formats, which
// have fixed widths: numbers may touch one another.

// boeing is such a file that is being read.
type boeing struct {
	*reader
	t        *Tensor
	symmetry string
	columns  int
	count    int // of entries
	formats  [3]fixed
	fields   []string // the rest of a line
}

// fixed is one of Fortran's formats, such as (8I10) or (1P,4D20.12).
type fixed struct {
	each, width int
	// decimals is how many digits of a number without a point are behind it, scale the power of ten by which a number without
	// an exponent is too large.
	decimals, scale int
}

// What the letters of a type mean.
var (
	boeingElems = map[byte]dtype.T{'r': dtype.F64, 'i': dtype.I64, 'c': dtype.C128, 'p': dtype.Bool}
	boeingKinds = map[byte]string{'u': "general", 'r': "general", 's': "symmetric", 'z': "skew-symmetric", 'h': "hermitian"}
)

func (r *reader) rutherfordBoeing() (*Tensor, error) {
	b := &boeing{reader: r, t: &Tensor{}}
	if _, err := b.text("a title"); err != nil {
		return nil, err
	}
	rightSides, err := b.cards()
	if err != nil {
		return nil, err
	}
	if err := b.kind(); err != nil {
		return nil, err
	}
	if err := b.layouts(); err != nil {
		return nil, err
	}
	if rightSides > 0 { // Harwell-Boeing has their format here, and themselves at the end
		if _, err := b.text("the kind of the right-hand sides"); err != nil {
			return nil, err
		}
	}
	return b.t, b.entries()
}

// text is the next line as it is.
func (b *boeing) text(what string) (string, error) {
	if !b.in.Scan() {
		if err := b.in.Err(); err != nil {
			return "", diag.Errorf(diag.Format, "%s can't be read after line %d: %v", b.path, b.line, err)
		}
		return "", b.failf("the file ends where %s is expected", what)
	}
	b.line++
	return b.in.Text(), nil
}

// cards reads how many lines each part has. Only those of right-hand sides matter: the others follow from the formats.
func (b *boeing) cards() (rightSides int, err error) {
	line, err := b.text("the numbers of lines")
	if err != nil {
		return 0, err
	}
	words := strings.Fields(line)
	if len(words) != 4 && len(words) != 5 {
		return 0, b.failf("expected 4 numbers of lines, found %d words", len(words))
	}
	for _, w := range words {
		if rightSides, err = b.extent(w); err != nil {
			return 0, err
		}
	}
	if len(words) == 4 {
		rightSides = 0
	}
	return rightSides, nil
}

// kind reads type, extents and number of entries.
func (b *boeing) kind() error {
	line, err := b.text("the type of the matrix")
	if err != nil {
		return err
	}
	words := strings.Fields(strings.ToLower(line))
	if len(words) != 4 && len(words) != 5 || len(words[0]) != 3 {
		return b.failf("expected a type of three letters, rows, columns and entries")
	}
	elem, known := boeingElems[words[0][0]]
	symmetry := boeingKinds[words[0][1]]
	if !known || symmetry == "" || words[0][2] != 'a' || symmetry == "hermitian" && elem != dtype.C128 {
		return b.failf("there are no matrices of type %q here; the first letter is r, i, c or p, the second u, r, s, z or h, the third a (assembled)", words[0])
	}
	var sizes [3]int
	for i := range sizes {
		if sizes[i], err = b.extent(words[1+i]); err != nil {
			return err
		}
	}
	if symmetry != "general" && sizes[0] != sizes[1] {
		return b.failf("a %s matrix is square, this one is %d x %d", symmetry, sizes[0], sizes[1])
	}
	b.t.Elem, b.t.Shape, b.symmetry, b.columns, b.count = elem, sizes[:2:2], symmetry, sizes[1], sizes[2]
	return nil
}

var (
	parenthesized = regexp.MustCompile(`\([^()]*\)`)
	fortran       = regexp.MustCompile(`^\((?:([+-]?\d{1,2})P,?)?(\d{0,5})([IEDFG])(\d{1,3})(?:\.(\d{1,3})(?:E\d{1,2})?)?\)$`)
)

// layouts reads the formats of pointers, rows and values.
func (b *boeing) layouts() error {
	line, err := b.text("the formats of the numbers")
	if err != nil {
		return err
	}
	found := parenthesized.FindAllString(strings.ToUpper(strings.ReplaceAll(line, " ", "")), -1)
	want := 3
	if b.t.Elem == dtype.Bool {
		want = 2
	}
	if len(found) < want {
		return b.failf("expected %d formats such as (8I10), found %d", want, len(found))
	}
	for i, text := range found[:want] {
		parts := fortran.FindStringSubmatch(text)
		if parts == nil || (parts[3] == "I") != (i < 2 || b.t.Elem == dtype.I64 && parts[3] == "I") {
			return b.failf("the format %s is none of numbers one after the other", text)
		}
		number := func(k int) int { n, _ := strconv.Atoi(parts[k]); return n } // digits, or nothing
		b.formats[i] = fixed{each: max(1, number(2)), width: number(4), decimals: number(5), scale: number(1)}
		if b.formats[i].width == 0 {
			return b.failf("the format %s has no width", text)
		}
	}
	return nil
}

// next is the next number, as text; what says which.
func (b *boeing) next(f fixed, what string) (string, error) {
	for len(b.fields) == 0 {
		line, err := b.text(what)
		if err != nil {
			return "", err
		}
		for range f.each {
			field := line[:min(f.width, len(line))]
			line = line[len(field):]
			if field = strings.TrimSpace(field); field != "" {
				b.fields = append(b.fields, field)
			}
		}
	}
	field := b.fields[0]
	b.fields = b.fields[1:]
	return field, nil
}

// entries reads the three arrays.
func (b *boeing) entries() error {
	coords, err := b.coordinates()
	if err != nil {
		return err
	}
	b.fields = nil
	for _, coord := range coords {
		v, err := b.number()
		if err != nil {
			return err
		}
		mirrored, err := mirror(b.symmetry, b.t.Elem, coord, v)
		if err != nil {
			return b.failf("%v", err)
		}
		b.t.Entries = append(append(b.t.Entries, format.Entry{Coord: coord, Value: v}), mirrored...)
	}
	return nil
}

// coordinates reads where each column begins, and the rows of the entries.
func (b *boeing) coordinates() ([][]int, error) {
	var ends []int
	before := 0
	for j := 0; j <= b.columns; j++ {
		text, err := b.next(b.formats[0], "where a column begins")
		if err != nil {
			return nil, err
		}
		first, err := strconv.Atoi(text)
		if err != nil || first-1 < before || j == 0 && first != 1 || first-1 > b.count || j == b.columns && first-1 != b.count {
			return nil, b.failf("column %d begins at %q; columns begin at 1, in order, and end at %d", j+1, text, b.count+1)
		}
		before = first - 1
		ends = append(ends, before)
	}
	b.fields = nil
	var coords [][]int
	for j := range b.columns {
		for range ends[j+1] - ends[j] {
			text, err := b.next(b.formats[1], "the row of an entry")
			if err != nil {
				return nil, err
			}
			i, err := b.coordinate(text, b.t.Shape[0])
			if err != nil {
				return nil, err
			}
			coords = append(coords, []int{i, j})
		}
	}
	return coords, nil
}

// number reads a value.
func (b *boeing) number() (v dtype.Value, err error) {
	if b.t.Elem == dtype.Bool {
		return dtype.Value{Int: 1}, nil
	}
	parts := [2]float64{}
	for i := range 1 + map[bool]int{true: 1}[b.t.Elem.IsComplex()] {
		text, err := b.next(b.formats[2], "a value")
		if err != nil {
			return v, err
		}
		if b.t.Elem == dtype.I64 {
			v.Int, err = b.integer(strings.TrimSuffix(text, "."))
			return v, err
		}
		if parts[i], err = b.real(text); err != nil {
			return v, err
		}
	}
	v.Num = complex(parts[0], parts[1])
	return v, nil
}

var exponent = regexp.MustCompile(`^([+-]?[0-9.]+)(?:[eEdD]([+-]?\d+)|([+-]\d+))$`)

// real reads a number as Fortran does: the letter of an exponent may be D or missing, and so may the point.
func (b *boeing) real(text string) (float64, error) {
	f := b.formats[2]
	shift := -f.scale
	if parts := exponent.FindStringSubmatch(text); parts != nil {
		power, err := strconv.Atoi(strings.TrimPrefix(parts[2]+parts[3], "+"))
		if err != nil {
			return 0, b.failf("%q is no number", text)
		}
		text, shift = parts[1], power
	}
	if strings.Trim(text, "+-0123456789") == "" {
		shift -= f.decimals
	}
	if shift != 0 {
		text += "e" + strconv.Itoa(shift)
	}
	return b.value(text)
}
