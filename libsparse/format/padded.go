package format

import "libsparse/libsparse/ir"

// Padded gives every parent the same number of places, the width, which is the only element of pos. The places of one
// step stand side by side, as in ELL: position = step * parents + parent. In crd, -1 marks a place that holds nothing;
// such places come last.
type Padded struct {
	searched
	compressed
}

// Props implements Level.
func (Padded) Props() Props {
	return Props{Ordered: true, Unique: true, Padded: true, ConversionOnly: true, HasPos: true, HasCrd: true}
}

func (Padded) String() string { return "p" }

// Name implements Level.
func (Padded) Name() string { return "padded, as in ELL" }

// Arrays implements Level.
func (Padded) Arrays() string {
	return "pos holds one number n, crd n places for each parent, in which -1 marks one that holds nothing"
}

// CrdRange implements Level: -1 marks a place that holds nothing.
func (Padded) CrdRange(s Storage) Range { return Range{Lo: ir.Const(-1), Hi: s.Extent} }

// Invariants implements Checked.
func (l Padded) Invariants(s Storage, parent, element, step ir.Expr) []Invariant {
	return []Invariant{
		{Of: OfPos, Holds: notNegative(element), Text: "pos holds one number of places, which is not negative"},
		lastEmpty(l, s, parent, step),
	}
}

// lastEmpty is that the places of a parent which hold nothing come behind those that hold something: the step before one that holds something does so,
// too.
func lastEmpty(l Level, s Storage, parent, step ir.Expr) Invariant {
	before := ir.Max(ir.Sub(step, ir.Const(1)), ir.Const(0))
	return Invariant{
		Of: OfSteps, Holds: l.Valid(s, Range{Lo: parent, Hi: ir.Next(parent)}, before),
		Text: "-1 stands before a coordinate of the same parent",
	}
}

// Children implements Level.
func (Padded) Children(s Storage, _ Range) Range {
	return Range{Lo: ir.Const(0), Hi: ir.IndexAt(s.Pos, ir.Const(0))}
}

// Group implements Grouped.
func (Padded) Group() int64 { return 0 }

// Place implements Level.
func (Padded) Place(s Storage, parent Range, step ir.Expr) ir.Expr {
	return ir.Add(ir.Mul(step, s.Parents), parent.Lo)
}

// Coord implements Level.
func (l Padded) Coord(s Storage, parent Range, step ir.Expr) ir.Expr {
	return ir.IndexAt(s.Crd, l.Place(s, parent, step))
}

// Valid implements Level.
func (l Padded) Valid(s Storage, parent Range, step ir.Expr) ir.Expr {
	return notNegative(l.Coord(s, parent, step))
}

// Size implements Level.
func (Padded) Size(s Storage, parents ir.Expr) ir.Expr {
	return ir.Mul(parents, ir.IndexAt(s.Pos, ir.Const(0)))
}

// Pack implements Level.
func (Padded) Pack(below [][]int, g Geometry) (pos, crd []int64) {
	width := 0
	for _, coords := range below {
		width = max(width, len(coords))
	}
	crd = empty(width * g.Parents)
	for p, coords := range below {
		for k, c := range coords {
			crd[k*g.Parents+p] = int64(c)
		}
	}
	return []int64{int64(width)}, crd
}

// Unpack implements Level.
func (Padded) Unpack(pos, crd []int64, g Geometry) (below [][]Child, size int) {
	below = make([][]Child, g.Parents)
	for q, c := range crd {
		if c >= 0 {
			below[q%g.Parents] = append(below[q%g.Parents], Child{int(c), q})
		}
	}
	return below, int(pos[0]) * g.Parents
}

// empty is a crd array of places that hold nothing.
func empty(n int) []int64 {
	crd := make([]int64, n)
	for i := range crd {
		crd[i] = -1
	}
	return crd
}

// PosLen implements Level.
func (Padded) PosLen(Storage, ir.Expr) ir.Expr { return ir.Const(1) }

// CrdLen implements Level.
func (l Padded) CrdLen(s Storage, parents ir.Expr) ir.Expr { return l.Size(s, parents) }

// Positions implements Layouter.
func (Padded) Positions(crd, _ ir.Expr) ir.Expr { return crd }

// Measure implements Layouter: the width is the greatest number of coordinates.
func (Padded) Measure(l *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	width, p := l.Index("width"), l.Index("p")
	return []ir.Stmt{
		ir.Declare(width, ir.Const(0)),
		ir.Count(p, l.Parents, ir.Set(width, ir.Max(width, l.length(p)))),
		ir.Put(l.To.Pos, ir.Const(0), width),
	}, ir.Mul(width, l.Parents)
}

// Fill implements Layouter.
func (Padded) Fill(l *Layout) []ir.Stmt {
	width := l.Index("width")
	return []ir.Stmt{ir.Let(width, ir.IndexAt(l.To.Pos, ir.Const(0))), l.parents(func(p *ir.Var) []ir.Stmt {
		at := func(step ir.Expr) ir.Expr { return ir.Add(ir.Mul(step, l.Parents), p) }
		return l.column(p, l.length(p), width, at)
	})}
}

// column fills the places of one parent: its coordinates at first, then what marks places that hold nothing.
func (l *Layout) column(p, length, width ir.Expr, at func(step ir.Expr) ir.Expr) []ir.Stmt {
	first, unused, to := l.Index("first"), l.Index("k"), l.Index("to")
	return []ir.Stmt{
		ir.Let(first, ir.IndexAt(l.From.Pos, p)),
		l.each(p, func(q, c *ir.Var) []ir.Stmt {
			return []ir.Stmt{ir.Let(to, at(ir.Sub(q, first))), ir.Put(l.To.Crd, to, c), ir.Put(l.Place, q, to)}
		}),
		ir.Loop(unused, length, width, ir.Put(l.To.Crd, at(unused), ir.Const(-1))),
	}
}
