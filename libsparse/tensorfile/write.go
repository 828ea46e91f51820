package tensorfile

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// Write writes a tensor to a file; its name says how.
func Write(path string, t *Tensor) (err error) {
	kind, zipped := kindOf(path)
	if kind != ".mtx" && kind != ".tns" {
		return diag.Errorf(diag.Format, "%s: the name has to end in .mtx or .tns, with or without .gz", path)
	}
	if n := len(t.Shape); kind == ".mtx" && n != 2 || n == 0 {
		return diag.Errorf(diag.Format, "%s: a tensor with %d modes can't be written there; use .tns", path, n)
	}
	if kind == ".tns" && t.Elem.IsComplex() {
		return diag.Errorf(diag.Format, "%s: a .tns file has no complex values; use .mtx", path)
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
	if _, err := w.Write(header(kind, t)); err != nil {
		return err
	}
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
	return w.Flush()
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

// header is what precedes the entries.
func header(kind string, t *Tensor) []byte {
	if kind != ".mtx" {
		return nil
	}
	return fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate %s general\n%d %d %d\n", field(t.Elem), t.Shape[0], t.Shape[1], len(t.Entries))
}
