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

// PosLen implements Layouter.
func (l Blocked) PosLen(g Geometry) int {
	return g.Parents/max(g.Rows, 1)*((g.Rows+int(l.Height)-1)/int(l.Height)) + 1
}

// Places implements Layouter.
func (l Blocked) Places(crd, _ int) int { return crd * int(l.Height*l.Width) }

// blockRows loops over the rows of blocks on threads, each of which marks the blocks that it has seen by the number of the
// row of blocks. once is done where a block is new, after behind all entries of a row of blocks.
func (l Blocked) blockRows(made *Layout, private []*ir.Array, before []ir.Stmt, once func(b *ir.Var) []ir.Stmt, after func(r *ir.Var) []ir.Stmt) ir.Stmt {
	r, b, seen := made.Var("r"), made.Var("b"), made.Array("seen", dtype.I64)
	width := add(div(made.Extent, l.Width), integer(1))
	allocs := []ir.Stmt{&ir.Alloc{Array: seen, Size: width, Zero: true, Heap: true}}
	frees := []ir.Stmt{&ir.Free{Array: seen}}
	for _, a := range private {
		allocs, frees = append(allocs, &ir.Alloc{Array: a, Size: width, Heap: true}), append(frees, &ir.Free{Array: a})
	}
	body := append(before, l.eachIn(made, r, func(_ ir.Expr, _, c *ir.Var) []ir.Stmt {
		isNew := append([]ir.Stmt{store(seen, b, add(r, integer(1)))}, once(b)...)
		return []ir.Stmt{let(b, div(c, l.Width)), when(differ(load(seen, b), add(r, integer(1))), isNew...)}
	}))
	return made.Shared(allocs, loop(r, integer(0), l.count(made), append(body, after(r)...)...), frees)
}

// count is the number of rows of blocks.
func (l Blocked) count(made *Layout) ir.Expr {
	return mul(quotient(made.Parents, larger(made.Rows, integer(1))), l.rows(Storage{Rows: made.Rows}))
}

// eachIn loops over the entries of a row of blocks; body gets the row within the block, the position and the coordinate.
func (l Blocked) eachIn(made *Layout, r ir.Expr, body func(row ir.Expr, q, c *ir.Var) []ir.Stmt) ir.Stmt {
	p, above, first, height := made.Var("p"), made.Var("above"), made.Var("first"), made.Var("height")
	rows := l.rows(Storage{Rows: made.Rows})
	row := mul(remainder(r, rows), integer(l.Height))
	return &ir.Block{Stmts: []ir.Stmt{
		let(above, quotient(r, rows)),
		let(first, add(mul(above, made.Rows), row)),
		let(height, smaller(integer(l.Height), sub(made.Rows, row))),
		loop(p, first, add(first, height), made.each(p, func(q, c *ir.Var) []ir.Stmt { return body(sub(p, first), q, c) })),
	}}
}

// Measure implements Layouter: the number of different blocks in every row of blocks.
func (l Blocked) Measure(made *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	n := made.Var("n")
	all := l.count(made)
	return append([]ir.Stmt{l.blockRows(made, nil, []ir.Stmt{declare(n, integer(0))},
		func(*ir.Var) []ir.Stmt { return []ir.Stmt{advance(n)} },
		func(r *ir.Var) []ir.Stmt { return []ir.Stmt{store(made.To.Pos, add(r, integer(1)), n)} },
	)}, made.Sum(made.To.Pos, all, 1)...), load(made.To.Pos, all)
}

// Fill implements Layouter.
func (l Blocked) Fill(made *Layout) []ir.Stmt {
	n, x, at := made.Var("n"), made.Var("x"), made.Array("at", dtype.I64)
	row := made.Var("r_first")
	return []ir.Stmt{l.blockRows(made, []*ir.Array{at}, []ir.Stmt{declare(n, integer(0))},
		func(b *ir.Var) []ir.Stmt { return []ir.Stmt{store(at, n, b), advance(n)} },
		func(r *ir.Var) []ir.Stmt {
			return []ir.Stmt{
				let(row, load(made.To.Pos, r)),
				loop(x, integer(0), n, store(made.To.Crd, add(row, x), load(at, x))),
				&ir.Sort{Array: made.To.Crd, Lo: row, Hi: add(row, n)},
				l.placeBlocks(made, row, n, at),
				l.eachIn(made, r, func(row ir.Expr, q, c *ir.Var) []ir.Stmt {
					block := add(mul(load(at, div(c, l.Width)), integer(l.Height)), row)
					return []ir.Stmt{store(made.Place, q, add(mul(block, integer(l.Width)), mod(c, l.Width)))}
				}),
			}
		})}
}

// placeBlocks notes where each block of a row of blocks stands.
func (Blocked) placeBlocks(made *Layout, row, n ir.Expr, at *ir.Array) ir.Stmt {
	x := made.Var("x")
	return loop(x, row, add(row, n), store(at, load(made.To.Crd, x), x))
}
