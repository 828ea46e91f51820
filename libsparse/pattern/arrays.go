package pattern

import (
	"slices"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
)

// Array is the positions or coordinates of a level, of one of two types; the zero value is that of a level without.
type Array struct {
	Short []int32
	Long  []int64
}

// Len is the number of elements.
func (a Array) Len() int { return max(len(a.Short), len(a.Long)) }

// At is an element.
func (a Array) At(i int) int64 {
	if a.Short != nil {
		return int64(a.Short[i])
	}
	return a.Long[i]
}

// Pattern is the arrays of a tensor, level by level in storage order. They are only read.
type Pattern struct {
	Format   format.Format
	Extents  []int64 // of the levels
	Pos, Crd []Array
}

// fibers are the entries below each position of the level above the last one: rows of a matrix in CSR, or the last mode's fibers.
type fibers struct {
	ends  Array // where they begin and end
	crd   Array // the last coordinate of each entry
	above Array // the coordinate of each fiber, empty where the level stores all
	rows  int64 // extent of that
	cols  int64
	first int // coordinates of the first level that are stored
}

// kind is the letter of a level.
func (p Pattern) kind(level int) string { return p.Format.Levels[level].String() }

// fibers are those of a pattern; false where its last level is no list, and nothing is known of the entries.
func (p Pattern) fibers() (f fibers, ok bool) {
	n := len(p.Extents)
	if n < 2 || p.Crd[n-1].Len() == 0 {
		return f, false
	}
	f = fibers{crd: p.Crd[n-1], above: p.Crd[n-2], rows: p.Extents[n-2], cols: p.Extents[n-1]}
	f.first = int(p.Extents[0])
	if p.Crd[0].Len() > 0 {
		f.first = p.Crd[0].Len()
	}
	switch p.kind(n - 1) {
	case "s", "u":
		f.ends = p.Pos[n-1]
	case "q":
		if p.Crd[n-2].Len() != f.crd.Len() {
			return f, false
		}
		f.runs()
		if n == 2 {
			f.first = f.above.Len()
		}
	default:
		return f, false
	}
	return f, f.ends.Len() > 1
}

// runs finds the fibers of a list of coordinates: neighbours with the same coordinate above.
func (f *fibers) runs() {
	ends, above := []int64{0}, []int64{f.above.At(0)}
	for i := 1; i < f.above.Len(); i++ {
		if row := f.above.At(i); row != above[len(above)-1] {
			ends, above = append(ends, int64(i)), append(above, row)
		}
	}
	f.ends, f.above = Array{Long: append(ends, int64(f.crd.Len()))}, Array{Long: above}
}

// row is the coordinate of a fiber.
func (f *fibers) row(fiber int) int64 {
	if f.above.Len() > 0 {
		return f.above.At(fiber)
	}
	return int64(fiber) % max(f.rows, 1)
}

func (f *fibers) count() int { return f.ends.Len() - 1 }

func (f *fibers) length(fiber int) int64 { return f.ends.At(fiber+1) - f.ends.At(fiber) }

// Check says what is wrong with the lengths of the arrays; what they hold has been checked when the tensor was made.
func (p Pattern) Check() error {
	n := p.Format.Order()
	if len(p.Extents) != n || len(p.Pos) != n || len(p.Crd) != n {
		return diag.Errorf(diag.Shape, "a pattern in format %s has %d extents, %d pos and %d crd arrays; expected %d of each", p.Format, len(p.Extents), len(p.Pos), len(p.Crd), n)
	}
	size := -1
	for level := range n {
		lists := slices.Contains([]string{"s", "u"}, p.kind(level))
		pos, crd := p.Pos[level].Len(), p.Crd[level].Len()
		if lists && (pos == 0 || p.Pos[level].At(0) != 0 || p.Pos[level].At(pos-1) != int64(crd)) {
			return diag.Errorf(diag.Format, "level %d of format %s: pos has to go from 0 to the %d elements of crd", level, p.Format, crd)
		}
		if strings.HasPrefix(p.kind(level), "q") && size >= 0 && crd != size {
			return diag.Errorf(diag.Format, "level %d of format %s has %d coordinates; expected %d, as the level above", level, p.Format, crd, size)
		}
		size = -1
		if crd > 0 {
			size = crd
		}
	}
	return nil
}
