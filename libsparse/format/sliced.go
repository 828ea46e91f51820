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
	compressed
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

// PosLen implements Layouter.
func (l Sliced) PosLen(g Geometry) int { return (g.Parents+int(l.Height)-1)/int(l.Height) + 1 }

// Places implements Layouter.
func (Sliced) Places(crd, _ int) int { return crd }

// slices is the number of slices.
func (l Sliced) slices(parents ir.Expr) ir.Expr {
	return div(add(parents, integer(l.Height-1)), l.Height)
}

// Measure implements Layouter: the width of a slice is the greatest number of coordinates in it.
func (l Sliced) Measure(made *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	width, s, p := made.Var("width"), made.Var("s"), made.Var("p")
	slices := l.slices(made.Parents)
	first := mul(s, integer(l.Height))
	return append([]ir.Stmt{
		loop(s, integer(0), slices,
			declare(width, integer(0)),
			loop(p, first, smaller(made.Parents, add(first, integer(l.Height))), set(width, larger(width, made.length(p)))),
			store(made.To.Pos, add(s, integer(1)), width)),
	}, made.Sum(made.To.Pos, slices, l.Height)...), load(made.To.Pos, slices)
}

// Fill implements Layouter. The places of parents that the last slice is short of hold nothing.
func (l Sliced) Fill(made *Layout) []ir.Stmt {
	s, lane, p, width, k := made.Var("s"), made.Var("lane"), made.Var("p"), made.Var("width"), made.Var("k")
	base := load(made.To.Pos, s)
	at := func(step ir.Expr) ir.Expr { return add(add(base, lane), mul(step, integer(l.Height))) }
	places := sub(load(made.To.Pos, add(s, integer(1))), base)
	return []ir.Stmt{made.Shared(nil, loop(s, integer(0), l.slices(made.Parents),
		let(width, div(places, l.Height)),
		loop(lane, integer(0), integer(l.Height),
			let(p, add(mul(s, integer(l.Height)), lane)),
			&ir.If{
				Cond: less(p, made.Parents),
				Then: &ir.Block{Stmts: made.column(p, made.length(p), width, at)},
				Else: &ir.Block{Stmts: []ir.Stmt{loop(k, integer(0), width, store(made.To.Crd, at(k), integer(-1)))}},
			})), nil)}
}
