package tensorfile

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// Write writes a tensor to a file; its name says how.
func Write(path string, t *Tensor) (err error) {
	kind, zipped := kindOf(path)
	body, ok := map[string]func(*bufio.Writer, *Tensor) error{
		".mtx": writeMarket, ".ttx": writeMarket, ".tns": writeEntries, ".rb": writeRutherfordBoeing,
	}[kind]
	if !ok {
		return unknownKind(path)
	}
	if n := len(t.Shape); (kind == ".mtx" || kind == ".rb") && n != 2 || n == 0 {
		return diag.Errorf(diag.Format, "%s: a tensor with %d modes can't be written there; use .ttx or .tns", path, n)
	}
	if kind == ".tns" && t.Elem.IsComplex() {
		return diag.Errorf(diag.Format, "%s: a .tns file has no complex values; use .mtx or .ttx", path)
	}
	f, err := os.Create(path)
	if err != nil {
		return diag.Errorf(diag.Format, "%s can't be written: %v", path, err)
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	out := io.Writer(f)
	if zipped {
		z := gzip.NewWriter(f)
		defer func() {
			if closed := z.Close(); err == nil {
				err = closed
			}
		}()
		out = z
	}
	w := bufio.NewWriter(out)
	if err := body(w, t); err != nil {
		return err
	}
	return w.Flush()
}

// writeEntries writes a line an entry: its coordinates from 1, and its value.
func writeEntries(w *bufio.Writer, t *Tensor) error {
	var line []byte
	for _, e := range t.Entries {
		line = line[:0]
		for _, c := range e.Coord {
			line = append(strconv.AppendInt(line, int64(c)+1, 10), ' ')
		}
		line = append(appendValue(line, t.Elem, e.Value), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// writeMarket writes Matrix Market, of tensors where t is no matrix.
func writeMarket(w *bufio.Writer, t *Tensor) error {
	object, layout := "matrix", "coordinate"
	if len(t.Shape) != 2 {
		object = "tensor"
	}
	if t.Dense {
		layout = "array"
	}
	head := fmt.Appendf(nil, "%%%%MatrixMarket %s %s %s general\n", object, layout, field(t.Elem))
	for _, n := range t.Shape {
		head = append(strconv.AppendInt(head, int64(n), 10), ' ')
	}
	if !t.Dense {
		head = strconv.AppendInt(head, int64(len(t.Entries)), 10)
	}
	if _, err := w.Write(append(head, '\n')); err != nil {
		return err
	}
	if t.Dense {
		return writeElements(w, t)
	}
	return writeEntries(w, t)
}

// writeElements writes a line an element, the first coordinate fastest.
func writeElements(w *bufio.Writer, t *Tensor) error {
	n := 1
	for _, extent := range t.Shape {
		n *= extent
	}
	values := make([]dtype.Value, n)
	for _, e := range t.Entries {
		at := 0
		for mode, c := range slices.Backward(e.Coord) {
			at = at*t.Shape[mode] + c
		}
		values[at] = dtype.Add.Eval(t.Elem, values[at], e.Value)
	}
	var line []byte
	for _, v := range values {
		line = append(appendValue(line[:0], t.Elem, v), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func appendValue(line []byte, t dtype.T, v dtype.Value) []byte {
	switch {
	case t.IsComplex():
		line = append(strconv.AppendFloat(line, real(v.Num), 'g', -1, 64), ' ')
		return strconv.AppendFloat(line, imag(v.Num), 'g', -1, 64)
	case t.IsFloat():
		return strconv.AppendFloat(line, real(v.Num), 'g', -1, 64)
	default:
		return strconv.AppendInt(line, v.Int, 10)
	}
}

// field is what Matrix Market calls values of type t.
func field(t dtype.T) string {
	switch {
	case t.IsComplex():
		return "complex"
	case t.IsFloat():
		return "real"
	default:
		return "integer"
	}
}
