package format

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Offset stores diagonals, as DIA does: crd holds the offsets from the coordinate of the level above, ascending, and pos
// their number. Every parent has a place on each diagonal: position = diagonal * parents + parent. All places within the
// extent count as stored.
type Offset struct {
	searched
	compressed
}

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

// PosLen implements Layouter.
func (Offset) PosLen(Geometry) int { return 1 }

// Places implements Layouter.
func (Offset) Places(crd, parents int) int { return crd * parents }

// diagonals marks the diagonals that are in use, numbered from that of the last row's first column on.
func (Offset) diagonals(l *Layout) (mark *ir.Array, number func(p, c ir.Expr) ir.Expr, count ir.Expr, stmts []ir.Stmt) {
	mark = l.Array("mark", dtype.U8)
	p := l.Var("p")
	rows := larger(l.Rows, integer(1))
	number = func(p, c ir.Expr) ir.Expr { return add(sub(c, remainder(p, rows)), sub(rows, integer(1))) }
	count = add(rows, l.Extent)
	return mark, number, count, []ir.Stmt{
		&ir.Alloc{Array: mark, Size: count, Zero: true, Heap: true},
		loop(p, integer(0), l.Parents, l.each(p, func(_, c *ir.Var) []ir.Stmt {
			return []ir.Stmt{store(mark, number(p, c), integer(1))}
		})),
	}
}

// Measure implements Layouter: the number of diagonals in use.
func (l Offset) Measure(made *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	mark, _, count, stmts := l.diagonals(made)
	d, used := made.Var("d"), made.Var("used")
	return append(stmts,
		declare(used, integer(0)),
		loop(d, integer(0), count, set(used, add(used, load(mark, d)))),
		store(made.To.Pos, integer(0), used),
		&ir.Free{Array: mark}), used
}

// Fill implements Layouter.
func (l Offset) Fill(made *Layout) []ir.Stmt {
	mark, number, count, stmts := l.diagonals(made)
	d, used, rank := made.Var("d"), made.Var("used"), made.Array("rank", dtype.I64)
	offset := sub(d, sub(larger(made.Rows, integer(1)), integer(1)))
	return append(stmts,
		&ir.Alloc{Array: rank, Size: count, Heap: true},
		declare(used, integer(0)),
		loop(d, integer(0), count, when(differ(load(mark, d), integer(0)),
			store(made.To.Crd, used, offset), store(rank, d, used), advance(used))),
		made.parents(func(p *ir.Var) []ir.Stmt {
			return []ir.Stmt{made.each(p, func(q, c *ir.Var) []ir.Stmt {
				return []ir.Stmt{store(made.Place, q, add(mul(load(rank, number(p, c)), made.Parents), p))}
			})}
		}),
		&ir.Free{Array: rank}, &ir.Free{Array: mark})
}
