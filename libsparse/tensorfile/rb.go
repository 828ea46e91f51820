package tensorfile

import (
	"regexp"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
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
	fields   []string // the numbers of a line
	used     int      // how many of them were handed out
	taken    int      // how many numbers the lines had
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
	line, err := b.next()
	if err != nil {
		return "", err
	}
	if line == nil {
		return "", b.failf("the file ends where %s is expected", what)
	}
	return string(line), nil
}

// extent reads a size.
func (b *boeing) extent(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 || n > maxSize {
		return 0, b.failf("%q is no size", word)
	}
	return n, nil
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
	if words[0][2] == 'e' {
		return diag.Errorf(diag.Unsupported, "%s, line %d: the matrix is a sum of elements (type %s); only assembled ones are read", b.path, b.line, words[0])
	}
	elem, known := boeingElems[words[0][0]]
	symmetry := boeingKinds[words[0][1]]
	if !known || symmetry == "" || words[0][2] != 'a' || symmetry == "hermitian" && elem != dtype.C128 {
		return b.failf("no such type: %s; the first letter is r, i, c or p, the second u, r, s, z or h, the third a (assembled)", words[0])
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

// number is the next number, as text; what says which.
func (b *boeing) number(f fixed, what string) (string, error) {
	for b.used == len(b.fields) {
		line, err := b.text(what)
		if err != nil {
			return "", err
		}
		b.fields, b.used = b.fields[:0], 0
		for range f.each {
			field := line[:min(f.width, len(line))]
			if line = line[len(field):]; field == "" {
				break
			}
			if field = strings.TrimSpace(field); field != "" {
				b.fields = append(b.fields, field)
			}
		}
		b.taken += len(b.fields)
		if err := b.fits(2 * 8 * b.taken); err != nil { // a number of a row stands for a coordinate of each mode
			return "", err
		}
	}
	b.used++
	return b.fields[b.used-1], nil
}

// block makes the next number that of a new line.
func (b *boeing) block() { b.used = len(b.fields) }

// entries reads the three arrays.
func (b *boeing) entries() error {
	begins, err := b.begins()
	if err != nil {
		return err
	}
	rows, err := b.rows()
	if err != nil {
		return err
	}
	b.block()
	p := (&columns{limits: b.t.Shape, elem: b.t.Elem, symmetry: b.symmetry}).newPart(len(rows))
	b.t.parts = []*part{p}
	coord := make([]int64, 2)
	for e, row := range rows {
		for begins[coord[1]+1] <= e {
			coord[1]++
		}
		coord[0] = row
		v, err := b.value()
		if err != nil {
			return err
		}
		if !p.addMirrored(b.symmetry, b.t.Elem, coord, v) {
			return b.failf(skewDiagonal)
		}
	}
	return nil
}

// begins reads which entry is the first of each column, from 0, and the number of entries.
func (b *boeing) begins() ([]int, error) {
	var begins []int
	before := 0
	for j := 0; j <= b.columns; j++ {
		text, err := b.number(b.formats[0], "where a column begins")
		if err != nil {
			return nil, err
		}
		first, err := strconv.Atoi(text)
		if err != nil || first-1 < before || j == 0 && first != 1 || first-1 > b.count || j == b.columns && first-1 != b.count {
			return nil, b.failf("columns begin at 1, in order, and end at %d; column %d begins at %q", b.count+1, j+1, text)
		}
		before = first - 1
		begins = append(begins, before)
	}
	return begins, nil
}

// rows reads the row of each entry, from 0.
func (b *boeing) rows() ([]int64, error) {
	b.block()
	var rows []int64
	for e := range b.count {
		text, err := b.number(b.formats[1], "the row of an entry")
		if err != nil {
			return nil, err
		}
		row, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, b.failf("expected the row of an entry, found %q", text)
		}
		if row < 1 || row > int64(b.t.Shape[0]) {
			return nil, diag.Errorf(diag.Bounds, "%s, line %d: row %d of entry %d is outside 1..%d", b.path, b.line, row, e+1, b.t.Shape[0])
		}
		rows = append(rows, row-1)
	}
	return rows, nil
}

// value reads a value.
func (b *boeing) value() (v dtype.Value, err error) {
	var parts [2]float64
	for i := range numbers(b.t.Elem) {
		text, err := b.number(b.formats[2], "a value")
		if err != nil {
			return v, err
		}
		if b.t.Elem == dtype.I64 {
			v.Int, err = strconv.ParseInt(strings.TrimSuffix(text, "."), 10, 64)
		} else {
			parts[i], err = b.formats[2].real(text)
		}
		if err != nil {
			return v, b.failf("expected a value, found %q", text)
		}
	}
	v.Num = complex(parts[0], parts[1])
	return v, nil
}

// real reads a number as Fortran does: the letter of an exponent may be D or missing, and so may the point.
func (f fixed) real(text string) (float64, error) {
	mantissa, shift := text, -f.scale
	if at := 1 + strings.IndexAny(text[1:], "eEdD+-"); at > 0 {
		power, err := strconv.Atoi(strings.TrimLeft(text[at:at+1], "eEdD") + text[at+1:])
		if err != nil {
			return 0, err
		}
		mantissa, shift = text[:at], power
	}
	if strings.Trim(mantissa, "+-0123456789") == "" {
		shift -= f.decimals
	}
	if shift == 0 {
		return float([]byte(mantissa))
	}
	return float(append(append([]byte(mantissa), 'e'), strconv.Itoa(shift)...))
}
