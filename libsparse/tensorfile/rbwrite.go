package tensorfile

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// mostColumns bounds the arrays that a file of few entries can ask for.
const mostColumns = 1 << 30

// lineLength is the length of the longest line of a Rutherford-Boeing file.
const lineLength = 80

// realWidth has room for the digits of a float64, and reals a line for so many.
const (
	realWidth = 26
	reals     = lineLength / realWidth
)

// writeRutherfordBoeing writes a matrix by columns.
func writeRutherfordBoeing(w *bufio.Writer, t *Tensor) error {
	if t.Shape[1] > mostColumns {
		return diag.Errorf(diag.Unsupported, "a .rb file lists every column, and there are %d; use .mtx", t.Shape[1])
	}
	entries := t.Entries()
	slices.SortStableFunc(entries, func(a, b format.Entry) int {
		return cmp.Or(cmp.Compare(a.Coord[1], b.Coord[1]), cmp.Compare(a.Coord[0], b.Coord[0]))
	})
	begins, rows := []int64{1}, make([]int64, len(entries))
	for e, entry := range entries {
		for len(begins) <= entry.Coord[1] {
			begins = append(begins, int64(e)+1)
		}
		rows[e] = int64(entry.Coord[0]) + 1
	}
	for len(begins) <= t.Shape[1] {
		begins = append(begins, int64(len(rows))+1)
	}
	field := t.field()
	pointers, indices, values := whole(begins), whole(rows), block{each: 1}
	if field != "pattern" {
		values = valueBlock(t.Elem, entries)
	}
	kind := map[bool]string{true: "u", false: "r"}[t.Shape[0] == t.Shape[1]]
	_, err := fmt.Fprintf(w, "%-72s%-8s\n%14d %13d %13d %13d\n%s%sa%11s %13d %13d %13d %13d\n%-16s%-16s%-20s\n",
		"written by libsparse", "matrix", pointers.lines()+indices.lines()+values.lines(), pointers.lines(), indices.lines(), values.lines(),
		field[:1], kind, "", t.Shape[0], t.Shape[1], len(rows), 0, pointers.format, indices.format, values.format)
	if err != nil {
		return err
	}
	for _, b := range []block{pointers, indices, values} {
		if err := b.write(w); err != nil {
			return err
		}
	}
	return nil
}

// block is numbers of one width, so many a line.
type block struct {
	format      string
	each, width int
	words       []string
}

func (b block) lines() int { return (len(b.words) + b.each - 1) / b.each }

func (b block) write(w *bufio.Writer) error {
	for line := range slices.Chunk(b.words, b.each) {
		for _, word := range line {
			if _, err := fmt.Fprintf(w, "%*s", b.width, word); err != nil {
				return err
			}
		}
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

// whole is a block of integers.
func whole(numbers []int64) block {
	b := block{width: 2}
	for _, n := range numbers {
		b.words = append(b.words, strconv.FormatInt(n, 10))
		b.width = max(b.width, len(b.words[len(b.words)-1])+1)
	}
	b.each = lineLength / b.width
	b.format = fmt.Sprintf("(%dI%d)", b.each, b.width)
	return b
}

// valueBlock is a block of values.
func valueBlock(t dtype.T, entries []format.Entry) block {
	if !t.IsFloat() && !t.IsComplex() {
		var values []int64
		for _, e := range entries {
			values = append(values, e.Value.Int)
		}
		return whole(values)
	}
	b := block{format: fmt.Sprintf("(%dE%d.17)", reals, realWidth), each: reals, width: realWidth}
	for _, e := range entries {
		b.words = append(b.words, strconv.FormatFloat(real(e.Value.Num), 'E', 17, 64))
		if t.IsComplex() {
			b.words = append(b.words, strconv.FormatFloat(imag(e.Value.Num), 'E', 17, 64))
		}
	}
	return b
}
