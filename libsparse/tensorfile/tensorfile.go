// Package tensorfile reads and writes tensors as text: Matrix Market (.mtx, and TACO's .ttx for tensors), FROSTT's
// coordinates (.tns) and Rutherford-Boeing (.rb), each also compressed (.gz). Coordinates are checked, duplicates are kept as they are.
//
// It must not know expressions or kernels.
package tensorfile

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// Tensor is the content of a file.
type Tensor struct {
	Shape   []int
	Entries []format.Entry
	// Elem is the type of the values: c128, f64, i64, or bool where the file has coordinates only.
	Elem dtype.T
	// Dense says that the file lists every element.
	Dense bool
}

// Read reads a file; its name says how.
func Read(path string) (*Tensor, error) {
	kind, zipped := kindOf(path)
	f, err := os.Open(path)
	if err != nil {
		return nil, diag.Errorf(diag.Format, "%s can't be read: %v", path, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	in := io.Reader(f)
	if zipped {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, diag.Errorf(diag.Format, "%s is no gzip file: %v", path, err)
		}
		in = z
	}
	r := &reader{path: path, in: bufio.NewScanner(in)}
	r.in.Buffer(make([]byte, 1<<16), maxLine)
	switch kind {
	case ".mtx", ".ttx":
		return r.matrixMarket()
	case ".rb":
		return r.rutherfordBoeing()
	case ".tns":
		return r.coordinates()
	default:
		return nil, unknownKind(path)
	}
}

func unknownKind(path string) error {
	return diag.Errorf(diag.Format, "%s: the name has to end in .mtx, .ttx, .tns or .rb, with or without .gz", path)
}

// maxLine is the length of the longest line that is read.
const maxLine = 1 << 20

func kindOf(path string) (kind string, zipped bool) {
	name, zipped := strings.CutSuffix(path, ".gz")
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		return name[at:], zipped
	}
	return "", zipped
}

// reader reads lines of words.
type reader struct {
	path string
	in   *bufio.Scanner
	line int
}

// words are those of the next line that has any and is no comment; nil at the end.
func (r *reader) words(comment string) ([]string, error) {
	for r.in.Scan() {
		r.line++
		text := strings.TrimSpace(r.in.Text())
		if text != "" && !strings.HasPrefix(text, comment) {
			return strings.Fields(text), nil
		}
	}
	if err := r.in.Err(); err != nil {
		return nil, diag.Errorf(diag.Format, "%s can't be read after line %d: %v", r.path, r.line, err)
	}
	return nil, nil
}

func (r *reader) failf(format string, args ...any) error {
	return diag.Errorf(diag.Format, "%s, line %d: "+format, append([]any{r.path, r.line}, args...)...)
}

// extent reads a size.
func (r *reader) extent(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		return 0, r.failf("%q is no size", word)
	}
	return n, nil
}

// coordinate reads a number from 1 to n, and returns it from 0.
func (r *reader) coordinate(word string, n int) (int, error) {
	c, err := strconv.Atoi(word)
	if err != nil || c < 1 || c > n {
		return 0, r.failf("the coordinate %q is not from 1 to %d", word, n)
	}
	return c - 1, nil
}

func (r *reader) value(word string) (float64, error) {
	v, err := strconv.ParseFloat(word, 64)
	if err != nil && v == 0 { // a number out of range is infinite
		return 0, r.failf("%q is no number", word)
	}
	return v, nil
}

func (r *reader) integer(word string) (int64, error) {
	v, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0, r.failf("%q is no integer of 64 bits", word)
	}
	return v, nil
}
