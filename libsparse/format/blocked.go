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
	compressed
}

// Props implements Level.
func (Blocked) Props() Props {
	p := Offset{}.Props()
	p.Segmented = true
	return p
}

func (l Blocked) String() string { return fmt.Sprintf("k(%d,%d)", l.Height, l.Width) }

// Name implements Level.
func (Blocked) Name() string { return "blocked, as in BSR" }

// Arrays implements Level.
func (Blocked) Arrays() string {
	return "pos divides crd into the blocks of each row of blocks, and coordinates are counted in blocks"
}

// Numbers implements Numbered.
func (l Blocked) Numbers() []int64 { return []int64{l.Height, l.Width} }

// With implements Numbered.
func (Blocked) With(numbers []int64) Level { return Blocked{Height: numbers[0], Width: numbers[1]} }

// CrdRange implements Level: coordinates are counted in blocks.
func (l Blocked) CrdRange(s Storage) Range {
	return Range{Lo: ir.Const(0), Hi: ceilDiv(s.Extent, l.Width)}
}

// row is the row of blocks that a parent belongs to, and how far it is from the first parent there.
func (l Blocked) row(s Storage, parent Range) (row, from ir.Expr) {
	number := parent.Group
	if number == nil {
		number = div(s.Row, l.Height)
	}
	return ir.Add(ir.Mul(s.Above, l.rows(s)), number), ir.Remainder(s.Row, number, ir.Const(l.Height))
}

// Block implements Blocks.
func (l Blocked) Block() (height, width int64) { return l.Height, l.Width }

// Within implements Blocks.
func (l Blocked) Within(s Storage, parent Range) Range {
	row, _ := l.row(s, parent)
	return Range{Lo: ir.IndexAt(s.Pos, row), Hi: ir.IndexAt(s.Pos, ir.Next(row))}
}

// First implements Blocks.
func (l Blocked) First(s Storage, block ir.Expr) ir.Expr {
	return ir.Mul(ir.IndexAt(s.Crd, block), ir.Const(l.Width))
}

// Element implements Blocks.
func (l Blocked) Element(s Storage, parent Range, block, from ir.Expr) ir.Expr {
	_, row := l.row(s, parent)
	begin := ir.Mul(block, ir.Mul(ir.Const(l.Height), ir.Const(l.Width)))
	return ir.Add(ir.Add(begin, ir.Mul(row, ir.Const(l.Width))), from)
}

// Children implements Level.
func (l Blocked) Children(s Storage, parent Range) Range {
	blocks, width := l.Within(s, parent), ir.Const(l.Width)
	return Range{Lo: ir.Mul(blocks.Lo, width), Hi: ir.Mul(blocks.Hi, width)}
}

// Place implements Level.
func (l Blocked) Place(s Storage, parent Range, step ir.Expr) ir.Expr {
	return l.Element(s, parent, div(step, l.Width), mod(step, l.Width))
}

// Coord implements Level.
func (l Blocked) Coord(s Storage, _ Range, step ir.Expr) ir.Expr {
	return ir.Add(l.First(s, div(step, l.Width)), mod(step, l.Width))
}

// Valid implements Level.
func (l Blocked) Valid(s Storage, parent Range, step ir.Expr) ir.Expr {
	if l.Width == 1 {
		return nil
	}
	return ir.Is(l.Coord(s, parent, step), ir.Lt, s.Extent)
}

// Size implements Level.
func (l Blocked) Size(s Storage, parents ir.Expr) ir.Expr {
	return l.Positions(l.CrdLen(s, parents), parents)
}

// rows is the number of rows of blocks below one position of the level over the rows.
func (l Blocked) rows(s Storage) ir.Expr { return ceilDiv(s.Rows, l.Height) }

// allRows is the number of rows of blocks in all.
func (l Blocked) allRows(s Storage, parents ir.Expr) ir.Expr {
	return ir.Mul(ir.Div(parents, ir.AtLeastOne(s.Rows)), l.rows(s))
}

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

// PosLen implements Level.
func (l Blocked) PosLen(s Storage, parents ir.Expr) ir.Expr { return ir.Next(l.allRows(s, parents)) }

// CrdLen implements Level.
func (l Blocked) CrdLen(s Storage, parents ir.Expr) ir.Expr {
	return ir.IndexAt(s.Pos, l.allRows(s, parents))
}

// Positions implements Layouter.
func (l Blocked) Positions(crd, _ ir.Expr) ir.Expr {
	return ir.Mul(crd, ir.Mul(ir.Const(l.Height), ir.Const(l.Width)))
}

// blockRows loops over the rows of blocks on threads, each of which marks the blocks that it has seen by the number of the
// row of blocks. once is done where a block is new, after behind all entries of a row of blocks.
func (l Blocked) blockRows(layout *Layout, private []*ir.Array, before []ir.Stmt, once func(b *ir.Var) []ir.Stmt, after func(r *ir.Var) []ir.Stmt) ir.Stmt {
	r, b, seen := layout.Index("r"), layout.Index("b"), layout.Array("seen", dtype.I64)
	width := ir.Next(div(layout.Extent, l.Width))
	allocs := []ir.Stmt{&ir.Alloc{Array: seen, Size: width, Zero: true, Heap: true}}
	frees := []ir.Stmt{&ir.Free{Array: seen}}
	for _, a := range private {
		allocs, frees = append(allocs, ir.NewArray(a, width)), append(frees, &ir.Free{Array: a})
	}
	body := append(before, l.eachIn(layout, r, func(_ ir.Expr, _, c *ir.Var) []ir.Stmt {
		isNew := append([]ir.Stmt{ir.Put(seen, b, ir.Next(r))}, once(b)...)
		return []ir.Stmt{ir.Let(b, div(c, l.Width)), ir.When(ir.Is(ir.IndexAt(seen, b), ir.Ne, ir.Next(r)), isNew...)}
	}))
	return layout.Shared(allocs, ir.Count(r, l.count(layout), append(body, after(r)...)...), frees)
}

// count is the number of rows of blocks.
func (l Blocked) count(layout *Layout) ir.Expr {
	return l.allRows(Storage{Rows: layout.Rows}, layout.Parents)
}

// eachIn loops over the entries of a row of blocks; body gets the row within the block, the position and the coordinate.
func (l Blocked) eachIn(layout *Layout, r ir.Expr, body func(row ir.Expr, q, c *ir.Var) []ir.Stmt) ir.Stmt {
	p, above, first, height := layout.Index("p"), layout.Index("above"), layout.Index("first"), layout.Index("height")
	rows := l.rows(Storage{Rows: layout.Rows})
	row := ir.Mul(ir.Remainder(r, ir.Div(r, rows), rows), ir.Const(l.Height))
	return &ir.Block{Stmts: []ir.Stmt{
		ir.Let(above, ir.Div(r, rows)),
		ir.Let(first, ir.Add(ir.Mul(above, layout.Rows), row)),
		ir.Let(height, ir.Min(ir.Const(l.Height), ir.Sub(layout.Rows, row))),
		ir.Loop(p, first, ir.Add(first, height), layout.each(p, func(q, c *ir.Var) []ir.Stmt { return body(ir.Sub(p, first), q, c) })),
	}}
}

// Measure implements Layouter: the number of different blocks in every row of blocks.
func (l Blocked) Measure(layout *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	n := layout.Index("n")
	all := l.count(layout)
	return append([]ir.Stmt{l.blockRows(layout, nil, []ir.Stmt{ir.Declare(n, ir.Const(0))},
		func(*ir.Var) []ir.Stmt { return []ir.Stmt{ir.Increment(n)} },
		func(r *ir.Var) []ir.Stmt { return []ir.Stmt{ir.Put(layout.To.Pos, ir.Next(r), n)} },
	)}, layout.Sum(layout.To.Pos, all, 1)...), ir.IndexAt(layout.To.Pos, all)
}

// Fill implements Layouter.
func (l Blocked) Fill(layout *Layout) []ir.Stmt {
	n, x, at := layout.Index("n"), layout.Index("x"), layout.Array("at", dtype.I64)
	row := layout.Index("r_first")
	return []ir.Stmt{l.blockRows(layout, []*ir.Array{at}, []ir.Stmt{ir.Declare(n, ir.Const(0))},
		func(b *ir.Var) []ir.Stmt { return []ir.Stmt{ir.Put(at, n, b), ir.Increment(n)} },
		func(r *ir.Var) []ir.Stmt {
			return []ir.Stmt{
				ir.Let(row, ir.IndexAt(layout.To.Pos, r)),
				ir.Count(x, n, ir.Put(layout.To.Crd, ir.Add(row, x), ir.IndexAt(at, x))),
				&ir.Sort{Array: layout.To.Crd, Lo: row, Hi: ir.Add(row, n)},
				l.placeBlocks(layout, row, n, at),
				l.eachIn(layout, r, func(row ir.Expr, q, c *ir.Var) []ir.Stmt {
					block := ir.Add(ir.Mul(ir.IndexAt(at, div(c, l.Width)), ir.Const(l.Height)), row)
					return []ir.Stmt{ir.Put(layout.Place, q, ir.Add(ir.Mul(block, ir.Const(l.Width)), mod(c, l.Width)))}
				}),
			}
		})}
}

// placeBlocks notes where each block of a row of blocks stands.
func (Blocked) placeBlocks(layout *Layout, row, n ir.Expr, at *ir.Array) ir.Stmt {
	x := layout.Index("x")
	return ir.Loop(x, row, ir.Add(row, n), ir.Put(at, ir.IndexAt(layout.To.Crd, x), x))
}
