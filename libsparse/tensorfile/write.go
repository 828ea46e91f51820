package tensorfile

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// Write writes a tensor to a file; its name says how.
func Write(path string, t *Tensor) (err error) {
	kind, zipped := kindOf(path)
	body, ok := map[string]func(*bufio.Writer, *Tensor) error{
		".mtx": writeMarket, ".ttx": writeMarket, ".tns": writeCoordinates, ".rb": writeRutherfordBoeing,
	}[kind]
	if !ok {
		return unknownKind(path)
	}
	if n := len(t.Shape); (kind == ".mtx" || kind == ".rb") && n != 2 || n == 0 {
		return diag.Errorf(diag.Format, "%s: a tensor with %d modes can't be written there; use .ttx or .tns", path, n)
	}
	if kind == ".tns" && t.Elem.IsComplex() {
		return diag.Errorf(diag.Dtype, "%s: a .tns file can't hold complex values; use .mtx or .ttx", path)
	}
	f, err := os.Create(path)
	if err != nil {
		return systemError(path, "written", err)
	}
	if err = writeTo(f, zipped, t, body); err != nil {
		_ = f.Close() // the first error counts
	} else {
		err = f.Close()
	}
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return systemError(path, "written", err)
	}
	return err
}

func writeTo(f io.Writer, zipped bool, t *Tensor, body func(*bufio.Writer, *Tensor) error) error {
	if !zipped {
		w := bufio.NewWriterSize(f, 1<<16)
		if err := body(w, t); err != nil {
			return err
		}
		return w.Flush()
	}
	z := gzip.NewWriter(f)
	if err := writeTo(z, false, t, body); err != nil {
		return err
	}
	return z.Close()
}

// blockEntries is how many entries are made text at a time, by one of several threads.
const blockEntries = 1 << 14

// writeEntries writes a line an entry: its coordinates from 1, and its value.
func writeEntries(w *bufio.Writer, t *Tensor, number func(line []byte, p *part, e int) []byte) error {
	blocks := make(chan chan []byte, runtime.GOMAXPROCS(0)) // in order; as many as threads are under way
	stop := make(chan struct{})
	var working sync.WaitGroup
	defer working.Wait() // nobody reads the caller's arrays afterwards
	defer close(stop)
	working.Go(func() {
		defer close(blocks)
		for _, p := range t.parts {
			for first := 0; first < p.count; first += blockEntries {
				block := make(chan []byte, 1)
				select {
				case blocks <- block:
				case <-stop:
					return
				}
				working.Go(func() { block <- p.text(first, min(first+blockEntries, p.count), number) })
			}
		}
	})
	for block := range blocks {
		if _, err := w.Write(<-block); err != nil {
			return err
		}
	}
	return nil
}

// text is the lines of some entries.
func (p *part) text(first, end int, number func(line []byte, p *part, e int) []byte) []byte {
	const usual = 32 // characters of a line
	text := make([]byte, 0, usual*(end-first))
	for e := first; e < end; e++ {
		for _, c := range p.coords {
			text = append(strconv.AppendInt(text, c[e]+1, 10), ' ')
		}
		text = number(text, p, e)
		text[len(text)-1] = '\n' // in place of the space behind the last number
	}
	return text
}

// writeCoordinates writes .tns, in which a tensor of bool has ones.
func writeCoordinates(w *bufio.Writer, t *Tensor) error {
	if t.Elem == dtype.Bool {
		return writeEntries(w, t, func(line []byte, _ *part, _ int) []byte { return append(line, "1 "...) })
	}
	return writeEntries(w, t, t.appender())
}

// writeMarket writes Matrix Market, of tensors where t is no matrix.
func writeMarket(w *bufio.Writer, t *Tensor) error {
	object, field := "matrix", t.field()
	if len(t.Shape) != 2 {
		object = "tensor"
	}
	head := fmt.Appendf(nil, "%%%%MatrixMarket %s coordinate %s general\n", object, field)
	for _, n := range t.Shape {
		head = append(strconv.AppendInt(head, int64(n), 10), ' ')
	}
	head = append(strconv.AppendInt(head, int64(t.Len()), 10), '\n')
	if _, err := w.Write(head); err != nil {
		return err
	}
	return writeEntries(w, t, t.appender())
}

// appender is how a value of t is written: its numbers, with a space behind each.
func (t *Tensor) appender() func(line []byte, p *part, e int) []byte {
	digits := 9 // enough for a float32
	if t.Elem == dtype.F64 || t.Elem == dtype.C128 {
		digits = -1 // as many as it takes
	}
	switch t.field() {
	case "pattern":
		return func(line []byte, _ *part, _ int) []byte { return line }
	case "complex":
		return func(line []byte, p *part, e int) []byte {
			return appendFloat(appendFloat(line, real(p.complexes[e]), digits), imag(p.complexes[e]), digits)
		}
	case "real":
		return func(line []byte, p *part, e int) []byte { return appendFloat(line, p.floats[e], digits) }
	default:
		return func(line []byte, p *part, e int) []byte { return append(strconv.AppendInt(line, p.ints[e], 10), ' ') }
	}
}

// appendFloat names infinities and NaN as C does, which other readers expect.
func appendFloat(line []byte, x float64, digits int) []byte {
	switch {
	case math.IsInf(x, 1):
		return append(line, "inf "...)
	case math.IsInf(x, -1):
		return append(line, "-inf "...)
	case math.IsNaN(x):
		return append(line, "nan "...)
	}
	return append(strconv.AppendFloat(line, x, 'g', digits, 64), ' ')
}

// field is what Matrix Market calls the values of t.
func (t *Tensor) field() string {
	switch {
	case t.Elem.IsComplex():
		return "complex"
	case t.Elem.IsFloat():
		return "real"
	case t.Elem == dtype.Bool:
		return "pattern"
	default:
		return "integer"
	}
}
