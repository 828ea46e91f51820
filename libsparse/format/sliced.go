package format

import (
	"fmt"

	"libsparse/libsparse/ir"
)

// Sliced is Padded with a width for each slice of Height neighbouring parents, as in SELL-C: slice s has the places from
// pos[s] to pos[s+1], those of one step side by side. The last slice may be short of parents and not of places.
type Sliced struct {
	Height int64
	searched
}

// Props implements Level.
func (Sliced) Props() Props { return Padded{}.Props() }

func (l Sliced) String() string { return fmt.Sprintf("l(%d)", l.Height) }

// Children implements Level.
func (l Sliced) Children(s Storage, parent Range) Range {
	slice := div(parent.Lo, l.Height)
	places := sub(load(s.Pos, add(slice, integer(1))), load(s.Pos, slice))
	return Range{Lo: integer(0), Hi: div(places, l.Height)}
}

// Place implements Level.
func (l Sliced) Place(s Storage, parent Range, step ir.Expr) ir.Expr {
	first := add(load(s.Pos, div(parent.Lo, l.Height)), mod(parent.Lo, l.Height))
	return add(first, mul(step, integer(l.Height)))
}

// Coord implements Level.
func (l Sliced) Coord(s Storage, parent Range, step ir.Expr) ir.Expr {
	return load(s.Crd, l.Place(s, parent, step))
}

// Valid implements Level.
func (l Sliced) Valid(s Storage, parent Range, step ir.Expr) ir.Expr {
	return notNegative(l.Coord(s, parent, step))
}

// Size implements Level.
func (l Sliced) Size(s Storage, parents ir.Expr) ir.Expr {
	return load(s.Pos, div(add(parents, integer(l.Height-1)), l.Height))
}

// Pack implements Level.
func (l Sliced) Pack(below [][]int, _ Geometry) (pos, crd []int64) {
	height := int(l.Height)
	pos = []int64{0}
	for first := 0; first < len(below); first += height {
		slice := below[first:min(first+height, len(below))]
		width := 0
		for _, coords := range slice {
			width = max(width, len(coords))
		}
		places := empty(width * height)
		for lane, coords := range slice {
			for k, c := range coords {
				places[k*height+lane] = int64(c)
			}
		}
		crd = append(crd, places...)
		pos = append(pos, int64(len(crd)))
	}
	return pos, crd
}

// Unpack implements Level.
func (l Sliced) Unpack(pos, crd []int64, g Geometry) (below [][]Child, size int) {
	height := int(l.Height)
	below = make([][]Child, g.Parents)
	for p := range below {
		slice := p / height
		for q := int(pos[slice]) + p%height; q < int(pos[slice+1]); q += height {
			if crd[q] >= 0 {
				below[p] = append(below[p], Child{int(crd[q]), q})
			}
		}
	}
	return below, int(pos[(g.Parents+height-1)/height])
}
