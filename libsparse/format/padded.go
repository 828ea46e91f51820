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
	return Props{Ordered: true, Unique: true, Padded: true, Fixed: true, HasPos: true, HasCrd: true}
}

func (Padded) String() string { return "p" }

// Children implements Level.
func (Padded) Children(s Storage, _ Range) Range {
	return Range{Lo: integer(0), Hi: load(s.Pos, integer(0))}
}

// Place implements Level.
func (Padded) Place(s Storage, parent Range, step ir.Expr) ir.Expr {
	return add(mul(step, s.Parents), parent.Lo)
}

// Coord implements Level.
func (l Padded) Coord(s Storage, parent Range, step ir.Expr) ir.Expr {
	return load(s.Crd, l.Place(s, parent, step))
}

// Valid implements Level.
func (l Padded) Valid(s Storage, parent Range, step ir.Expr) ir.Expr {
	return notNegative(l.Coord(s, parent, step))
}

// Size implements Level.
func (Padded) Size(s Storage, parents ir.Expr) ir.Expr { return mul(parents, load(s.Pos, integer(0))) }

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

// PosLen implements Layouter.
func (Padded) PosLen(Geometry) int { return 1 }

// Places implements Layouter.
func (Padded) Places(crd, _ int) int { return crd }

// Measure implements Layouter: the width is the greatest number of coordinates.
func (Padded) Measure(l *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	width, p := l.Var("width"), l.Var("p")
	return []ir.Stmt{
		declare(width, integer(0)),
		loop(p, integer(0), l.Parents, set(width, larger(width, l.length(p)))),
		store(l.To.Pos, integer(0), width),
	}, mul(width, l.Parents)
}

// Fill implements Layouter.
func (Padded) Fill(l *Layout) []ir.Stmt {
	width := l.Var("width")
	return []ir.Stmt{let(width, load(l.To.Pos, integer(0))), l.parents(func(p *ir.Var) []ir.Stmt {
		at := func(step ir.Expr) ir.Expr { return add(mul(step, l.Parents), p) }
		return l.column(p, l.length(p), width, at)
	})}
}

// column fills the places of one parent: its coordinates at first, then what marks places that hold nothing.
func (l *Layout) column(p, length, width ir.Expr, at func(step ir.Expr) ir.Expr) []ir.Stmt {
	first, unused, to := l.Var("first"), l.Var("k"), l.Var("to")
	return []ir.Stmt{
		let(first, load(l.From.Pos, p)),
		l.each(p, func(q, c *ir.Var) []ir.Stmt {
			return []ir.Stmt{let(to, at(sub(q, first))), store(l.To.Crd, to, c), store(l.Place, q, to)}
		}),
		loop(unused, length, width, store(l.To.Crd, at(unused), integer(-1))),
	}
}
