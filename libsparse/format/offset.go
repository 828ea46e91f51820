package format

import (
	"slices"

	"libsparse/libsparse/ir"
)

// Offset stores diagonals, as DIA does: crd holds the offsets from the coordinate of the level above, ascending, and pos
// their number. Every parent has a place on each diagonal: position = diagonal * parents + parent. All places within the
// extent count as stored.
type Offset struct{ searched }

// Props implements Level.
func (Offset) Props() Props {
	return Props{Ordered: true, Unique: true, Padded: true, OfRow: true, Fixed: true, HasPos: true, HasCrd: true}
}

func (Offset) String() string { return "o" }

// Children implements Level.
func (Offset) Children(s Storage, _ Range) Range {
	return Range{Lo: integer(0), Hi: load(s.Pos, integer(0))}
}

// Place implements Level.
func (Offset) Place(s Storage, parent Range, step ir.Expr) ir.Expr {
	return add(mul(step, s.Parents), parent.Lo)
}

// Coord implements Level.
func (Offset) Coord(s Storage, _ Range, step ir.Expr) ir.Expr { return add(s.Row, load(s.Crd, step)) }

// Valid implements Level.
func (l Offset) Valid(s Storage, parent Range, step ir.Expr) ir.Expr {
	return inRange(l.Coord(s, parent, step), s.Extent)
}

// Size implements Level.
func (Offset) Size(s Storage, parents ir.Expr) ir.Expr { return mul(parents, load(s.Pos, integer(0))) }

// Pack implements Level.
func (Offset) Pack(below [][]int, g Geometry) (pos, crd []int64) {
	crd = []int64{}
	for p, coords := range below {
		for _, c := range coords {
			crd = append(crd, int64(c-p%g.Rows))
		}
	}
	slices.Sort(crd)
	crd = slices.Compact(crd)
	return []int64{int64(len(crd))}, crd
}

// Unpack implements Level.
func (Offset) Unpack(_, crd []int64, g Geometry) (below [][]Child, size int) {
	below = make([][]Child, g.Parents)
	for p := range below {
		for d, offset := range crd {
			if c := p%g.Rows + int(offset); c >= 0 && c < g.Extent {
				below[p] = append(below[p], Child{c, d*g.Parents + p})
			}
		}
	}
	return below, len(crd) * g.Parents
}
