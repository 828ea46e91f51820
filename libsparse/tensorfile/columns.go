package tensorfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/cmplx"
	"runtime/debug"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// columns is what each line of a table of entries has: a coordinate of every mode, and the numbers of a value.
type columns struct {
	comment byte
	// limits are the largest coordinates, which count from 1.
	limits   []int
	elem     dtype.T
	symmetry string
}

// numbers is how many numbers a value of type t is.
func numbers(t dtype.T) int {
	switch {
	case t == dtype.Bool:
		return 0
	case t.IsComplex():
		return 2
	default:
		return 1
	}
}

func (c *columns) width() int { return len(c.limits) + numbers(c.elem) }

// newPart has room for the entries of so many lines.
func (c *columns) newPart(lines int) *part {
	if c.symmetry != "general" {
		lines *= 2
	}
	return newPart(len(c.limits), c.elem, lines)
}

// parse adds the entries of whole lines to p; first is the number of lines before them.
func (c *columns) parse(path string, text []byte, first int, p *part) (err error) {
	defer func() { // it runs on a thread of its own, where nobody else catches a panic
		if fault := recover(); fault != nil {
			err = diag.Errorf(diag.Internal, "a bug in libsparse: %v", fault).WithDetail(string(debug.Stack()))
		}
	}()
	coord := make([]int64, len(c.limits))
	plain, quick := c.plain()
	for line := first + 1; len(text) > 0; line++ {
		if quick {
			if n, v := plain.row(text, coord); n > 0 && p.addMirrored(c.symmetry, c.elem, coord, v) {
				text = text[n:]
				p.lines++
				continue
			}
		}
		row := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			row, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		at := skipSpace(row, 0)
		if at == len(row) || row[at] == c.comment {
			continue
		}
		v, ok := c.row(row, at, coord)
		if !ok {
			return c.explain(path, line, row)
		}
		if !p.addMirrored(c.symmetry, c.elem, coord, v) {
			return diag.Errorf(diag.Format, "%s, line %d: %s", path, line, skewDiagonal)
		}
		p.lines++
	}
	return nil
}

// row parses a line from its first word on.
func (c *columns) row(row []byte, at int, coord []int64) (v dtype.Value, ok bool) {
	for m, limit := range c.limits {
		end := wordEnd(row, at)
		n, err := integer(row[at:end])
		if err != nil || n < 1 || n > int64(limit) {
			return v, false
		}
		coord[m] = n - 1
		at = skipSpace(row, end)
	}
	var parts [2]float64
	for i := range numbers(c.elem) {
		end := wordEnd(row, at)
		var err error
		if c.elem == dtype.I64 {
			v.Int, err = integer(row[at:end])
		} else {
			parts[i], err = float(row[at:end])
		}
		if err != nil {
			return v, false
		}
		at = skipSpace(row, end)
	}
	v.Num = complex(parts[0], parts[1])
	return v, at == len(row)
}

// explain is the error of a line that row refuses.
func (c *columns) explain(path string, line int, row []byte) error {
	words := fields(row)
	shown := strings.ToValidUTF8(strings.Join(words, " "), "?")
	shown = shown[:min(len(shown), 60)]
	failf := func(k diag.Kind, format string, args ...any) error {
		return diag.Errorf(k, "%s, line %d: %s", path, line, fmt.Sprintf(format, args...))
	}
	if len(words) != c.width() {
		return failf(diag.Format, "expected %d numbers, found %d: %q", c.width(), len(words), shown)
	}
	for m, word := range words {
		if m >= len(c.limits) && c.elem != dtype.I64 {
			if _, err := float([]byte(word)); err != nil {
				return failf(diag.Format, "expected a number, found %q", word)
			}
			continue
		}
		n, err := integer([]byte(word))
		if err != nil {
			return failf(diag.Format, "expected an integer, found %q", word)
		}
		if m < len(c.limits) && (n < 1 || n > int64(c.limits[m])) {
			return failf(diag.Bounds, "index %d is outside 1..%d: %q", n, c.limits[m], shown)
		}
	}
	return failf(diag.Internal, "%q is refused without a reason", shown)
}

const skewDiagonal = "a skew-symmetric matrix has no entries on its diagonal"

// addMirrored adds an entry and the one that a file of a symmetric matrix leaves out; it reports whether both may be.
func (p *part) addMirrored(symmetry string, t dtype.T, coord []int64, v dtype.Value) bool {
	if symmetry == "general" {
		p.add(coord, v)
		return true
	}
	if coord[0] == coord[1] {
		p.add(coord, v)
		return symmetry != "skew-symmetric"
	}
	p.add(coord, v)
	switch {
	case symmetry == "skew-symmetric" && t != dtype.Bool:
		v = dtype.Neg.Eval(t, v)
	case symmetry == "hermitian":
		v.Num = cmplx.Conj(v.Num)
	}
	p.add([]int64{coord[1], coord[0]}, v)
	return true
}

// space reports whether b parts words. Files may have the line ends of any system.
func space(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }

func skipSpace(row []byte, at int) int {
	for at < len(row) && space(row[at]) {
		at++
	}
	return at
}

func wordEnd(row []byte, at int) int {
	for at < len(row) && !space(row[at]) {
		at++
	}
	return at
}

func fields(row []byte) []string {
	return strings.FieldsFunc(string(row), func(c rune) bool { return c < 128 && space(byte(c)) })
}

// plainDigits is the length of integers that fit in 64 bits whatever their digits are.
const plainDigits = 18

func integer(word []byte) (int64, error) {
	if len(word) > plainDigits || len(word) == 0 {
		return strconv.ParseInt(string(word), 10, 64)
	}
	n := int64(0)
	for _, b := range word {
		if b < '0' || b > '9' {
			return strconv.ParseInt(string(word), 10, 64)
		}
		n = 10*n + int64(b-'0')
	}
	return n, nil
}

var errNotDecimal = errors.New("no decimal number")

// float parses a decimal number; one that is out of range is infinite.
func float(word []byte) (float64, error) {
	x, err := strconv.ParseFloat(string(word), 64)
	switch {
	case err == nil && bytes.ContainsAny(word, "xX_"):
		return 0, errNotDecimal
	case errors.Is(err, strconv.ErrRange):
		return x, nil
	case err != nil && len(word) > 0 && (word[0] == '-' || word[0] == '+') && strings.EqualFold(string(word[1:]), "nan"):
		return strconv.ParseFloat("nan", 64)
	}
	return x, err
}
