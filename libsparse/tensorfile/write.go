package tensorfile

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"

	"libsparse/libsparse/diag"
)

// Write writes a real tensor to a file; its name says how.
func Write(path string, t *Tensor) (err error) {
	kind, zipped := kindOf(path)
	if kind != ".mtx" && kind != ".tns" {
		return diag.Errorf(diag.Format, "%s: the name has to end in .mtx or .tns, with or without .gz", path)
	}
	if n := len(t.Shape); kind == ".mtx" && n != 2 || n == 0 {
		return diag.Errorf(diag.Format, "%s: a tensor with %d modes can't be written there; use .tns", path, n)
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
		line = append(strconv.AppendFloat(line, e.Value, 'g', -1, 64), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return w.Flush()
}

// header is what precedes the entries.
func header(kind string, t *Tensor) []byte {
	if kind != ".mtx" {
		return nil
	}
	return fmt.Appendf(nil, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", t.Shape[0], t.Shape[1], len(t.Entries))
}
