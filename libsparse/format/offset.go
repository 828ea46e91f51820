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
	return Props{Ordered: true, Unique: true, Padded: true, Filling: true, RowRelative: true, ConversionOnly: true, HasPos: true, HasCrd: true}
}

func (Offset) String() string { return "o" }

// Name implements Level.
func (Offset) Name() string { return "offset, as in DIA" }

// Arrays implements Level.
func (Offset) Arrays() string {
	return "pos holds one number n, crd n offsets of diagonals"
}

// CrdRange implements Level: an offset leads from some row to some column.
func (Offset) CrdRange(s Storage) Range {
	return Range{Lo: ir.Sub(ir.Const(1), ir.AtLeastOne(s.Rows)), Hi: ir.AtLeastOne(s.Extent)}
}

// Invariants implements Checked.
func (Offset) Invariants(_ Storage, _, element, _ ir.Expr) []Invariant {
	return []Invariant{{Of: OfPos, Holds: notNegative(element), Text: "pos holds one number of offsets, which is not negative"}}
}

// Children implements Level.
func (Offset) Children(s Storage, _ Range) Range {
	return Range{Lo: ir.Const(0), Hi: ir.IndexAt(s.Pos, ir.Const(0))}
}

// Group implements Grouped.
func (Offset) Group() int64 { return 0 }

// Place implements Level.
func (Offset) Place(s Storage, parent Range, step ir.Expr) ir.Expr {
	return ir.Add(ir.Mul(step, s.Parents), parent.Lo)
}

// Coord implements Level.
func (Offset) Coord(s Storage, _ Range, step ir.Expr) ir.Expr {
	return ir.Add(s.Row, ir.IndexAt(s.Crd, step))
}

// Valid implements Level.
func (l Offset) Valid(s Storage, parent Range, step ir.Expr) ir.Expr {
	at := l.Coord(s, parent, step)
	return ir.Apply(dtype.And, notNegative(at), ir.Is(at, ir.Lt, s.Extent))
}

// Size implements Level.
func (Offset) Size(s Storage, parents ir.Expr) ir.Expr {
	return ir.Mul(parents, ir.IndexAt(s.Pos, ir.Const(0)))
}

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

// PosLen implements Level.
func (Offset) PosLen(Storage, ir.Expr) ir.Expr { return ir.Const(1) }

// CrdLen implements Level.
func (Offset) CrdLen(s Storage, _ ir.Expr) ir.Expr { return ir.IndexAt(s.Pos, ir.Const(0)) }

// Positions implements Layouter.
func (Offset) Positions(crd, parents ir.Expr) ir.Expr { return ir.Mul(crd, parents) }

// diagonals marks the diagonals that are in use, numbered from that of the last row's first column on.
func (Offset) diagonals(l *Layout) (mark *ir.Array, number func(p, c ir.Expr) ir.Expr, count ir.Expr, stmts []ir.Stmt) {
	mark = l.Array("mark", dtype.U8)
	p := l.Index("p")
	rows := ir.AtLeastOne(l.Rows)
	number = func(p, c ir.Expr) ir.Expr {
		return ir.Add(ir.Sub(c, ir.Remainder(p, ir.Div(p, rows), rows)), ir.Sub(rows, ir.Const(1)))
	}
	count = ir.Add(rows, l.Extent)
	return mark, number, count, []ir.Stmt{
		&ir.Alloc{Array: mark, Size: count, Zero: true, Heap: true},
		ir.Count(p, l.Parents, l.each(p, func(_, c *ir.Var) []ir.Stmt {
			return []ir.Stmt{ir.Put(mark, number(p, c), ir.Const(1))}
		})),
	}
}

// Measure implements Layouter: the number of diagonals in use.
func (l Offset) Measure(layout *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	mark, _, count, stmts := l.diagonals(layout)
	d, used := layout.Index("d"), layout.Index("used")
	return append(stmts,
		ir.Declare(used, ir.Const(0)),
		ir.Count(d, count, ir.Set(used, ir.Add(used, ir.IndexAt(mark, d)))),
		ir.Put(layout.To.Pos, ir.Const(0), used),
		&ir.Free{Array: mark}), used
}

// Fill implements Layouter.
func (l Offset) Fill(layout *Layout) []ir.Stmt {
	mark, number, count, stmts := l.diagonals(layout)
	d, used, rank := layout.Index("d"), layout.Index("used"), layout.Array("rank", dtype.I64)
	offset := ir.Sub(d, ir.Sub(ir.AtLeastOne(layout.Rows), ir.Const(1)))
	return append(stmts,
		ir.NewArray(rank, count),
		ir.Declare(used, ir.Const(0)),
		ir.Count(d, count, ir.When(ir.Is(ir.IndexAt(mark, d), ir.Ne, ir.Const(0)),
			ir.Put(layout.To.Crd, used, offset), ir.Put(rank, d, used), ir.Increment(used))),
		layout.parents(func(p *ir.Var) []ir.Stmt {
			return []ir.Stmt{layout.each(p, func(q, c *ir.Var) []ir.Stmt {
				return []ir.Stmt{ir.Put(layout.Place, q, ir.Add(ir.Mul(ir.IndexAt(rank, number(p, c)), layout.Parents), p))}
			})}
		}),
		&ir.Free{Array: rank}, &ir.Free{Array: mark})
}
