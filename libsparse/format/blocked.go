package format

import (
	"fmt"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Blocked stores small dense blocks, as BSR does. Height neighbouring rows of the level above share the blocks from pos[r]
// to pos[r+1]; crd has the coordinate of each, counted in blocks of Width. Blocks are row-major and cover the shape: what
// stands out of it is padding. Everything else in a block counts as stored.
//
// A walk goes through one row: step t is element t % Width of block t / Width.
type Blocked struct {
	Height, Width int64
	searched
}

// Props implements Level.
func (Blocked) Props() Props { return Offset{}.Props() }

func (l Blocked) String() string { return fmt.Sprintf("k(%d,%d)", l.Height, l.Width) }

// row is the row of blocks that a parent belongs to.
func (l Blocked) row(s Storage) ir.Expr {
	return add(mul(s.Above, l.rows(s)), div(s.Row, l.Height))
}

// Children implements Level.
func (l Blocked) Children(s Storage, _ Range) Range {
	row, width := l.row(s), integer(l.Width)
	return Range{Lo: mul(load(s.Pos, row), width), Hi: mul(load(s.Pos, add(row, integer(1))), width)}
}

// Place implements Level.
func (l Blocked) Place(s Storage, _ Range, step ir.Expr) ir.Expr {
	block := mul(div(step, l.Width), integer(l.Height*l.Width))
	return add(add(block, mul(mod(s.Row, l.Height), integer(l.Width))), mod(step, l.Width))
}

// Coord implements Level.
func (l Blocked) Coord(s Storage, _ Range, step ir.Expr) ir.Expr {
	return add(mul(load(s.Crd, div(step, l.Width)), integer(l.Width)), mod(step, l.Width))
}

// Valid implements Level.
func (l Blocked) Valid(s Storage, parent Range, step ir.Expr) ir.Expr {
	if l.Width == 1 {
		return nil
	}
	return &ir.Compare{Op: ir.Lt, X: l.Coord(s, parent, step), Y: s.Extent}
}

// Size implements Level.
func (l Blocked) Size(s Storage, parents ir.Expr) ir.Expr {
	above := &ir.Binary{Op: dtype.Div, X: parents, Y: &ir.Binary{Op: dtype.Max, X: s.Rows, Y: integer(1)}}
	blocks := load(s.Pos, mul(above, l.rows(s)))
	return mul(blocks, integer(l.Height*l.Width))
}

// rows is the number of rows of blocks below one position of the level over the rows.
func (l Blocked) rows(s Storage) ir.Expr { return div(add(s.Rows, integer(l.Height-1)), l.Height) }

// Pack implements Level.
func (l Blocked) Pack(below [][]int, g Geometry) (pos, crd []int64) {
	height, width := int(l.Height), int(l.Width)
	pos, crd = []int64{0}, []int64{}
	for above := 0; above < g.Parents; above += g.Rows {
		for first := 0; first < g.Rows; first += height {
			found := map[int64]bool{}
			for _, coords := range below[above+first : above+min(first+height, g.Rows)] {
				for _, c := range coords {
					found[int64(c/width)] = true
				}
			}
			for c := range int64((g.Extent + width - 1) / width) {
				if found[c] {
					crd = append(crd, c)
				}
			}
			pos = append(pos, int64(len(crd)))
		}
	}
	return pos, crd
}

// Unpack implements Level.
func (l Blocked) Unpack(pos, crd []int64, g Geometry) (below [][]Child, size int) {
	height, width := int(l.Height), int(l.Width)
	blocks := (g.Rows + height - 1) / height
	below = make([][]Child, g.Parents)
	for p := range below {
		row := p/g.Rows*blocks + p%g.Rows/height
		for b := int(pos[row]); b < int(pos[row+1]); b++ {
			for k := range width {
				if c := int(crd[b])*width + k; c < g.Extent {
					below[p] = append(below[p], Child{c, (b*height+p%g.Rows%height)*width + k})
				}
			}
		}
	}
	return below, int(pos[len(pos)-1]) * height * width
}
