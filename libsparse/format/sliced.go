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
func (Sliced) Props() Props {
	p := Padded{}.Props()
	p.Segmented = true
	return p
}

func (l Sliced) String() string { return fmt.Sprintf("l(%d)", l.Height) }

// Name implements Level.
func (Sliced) Name() string { return "in slices, as in SELL" }

// Arrays implements Level.
func (Sliced) Arrays() string {
	return "pos divides crd into the slices, in which -1 marks a place that holds nothing"
}

// Numbers implements Numbered.
func (l Sliced) Numbers() []int64 { return []int64{l.Height} }

// With implements Numbered.
func (Sliced) With(numbers []int64) Level { return Sliced{Height: numbers[0]} }

// CrdRange implements Level.
func (Sliced) CrdRange(s Storage) Range { return Padded{}.CrdRange(s) }

// Invariants implements Checked.
func (l Sliced) Invariants(s Storage, parent, element, step ir.Expr) []Invariant {
	whole := ir.Is(mod(element, l.Height), ir.Eq, ir.Const(0))
	return []Invariant{{Of: OfPos, Holds: whole, Text: "slices hold a multiple of {number0} places"}, lastEmpty(l, s, parent, step)}
}

// Children implements Level.
func (l Sliced) Children(s Storage, parent Range) Range {
	slice := l.slice(parent)
	places := ir.Sub(ir.IndexAt(s.Pos, ir.Next(slice)), ir.IndexAt(s.Pos, slice))
	return Range{Lo: ir.Const(0), Hi: div(places, l.Height)}
}

// slice is the number of the slice that a parent is in.
func (l Sliced) slice(parent Range) ir.Expr {
	if parent.Group != nil {
		return parent.Group
	}
	return div(parent.Lo, l.Height)
}

// Group implements Grouped.
func (l Sliced) Group() int64 { return l.Height }

// Place implements Level.
func (l Sliced) Place(s Storage, parent Range, step ir.Expr) ir.Expr {
	slice := l.slice(parent)
	first := ir.Add(ir.IndexAt(s.Pos, slice), ir.Remainder(parent.Lo, slice, ir.Const(l.Height)))
	return ir.Add(first, ir.Mul(step, ir.Const(l.Height)))
}

// Coord implements Level.
func (l Sliced) Coord(s Storage, parent Range, step ir.Expr) ir.Expr {
	return ir.IndexAt(s.Crd, l.Place(s, parent, step))
}

// Valid implements Level.
func (l Sliced) Valid(s Storage, parent Range, step ir.Expr) ir.Expr {
	return notNegative(l.Coord(s, parent, step))
}

// Size implements Level.
func (l Sliced) Size(s Storage, parents ir.Expr) ir.Expr {
	return ir.IndexAt(s.Pos, l.slices(parents))
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

// PosLen implements Level.
func (l Sliced) PosLen(_ Storage, parents ir.Expr) ir.Expr { return ir.Next(l.slices(parents)) }

// CrdLen implements Level.
func (l Sliced) CrdLen(s Storage, parents ir.Expr) ir.Expr { return l.Size(s, parents) }

// Positions implements Layouter.
func (Sliced) Positions(crd, _ ir.Expr) ir.Expr { return crd }

// slices is the number of slices.
func (l Sliced) slices(parents ir.Expr) ir.Expr {
	return ceilDiv(parents, l.Height)
}

// Measure implements Layouter: the width of a slice is the greatest number of coordinates in it.
func (l Sliced) Measure(layout *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	width, s, p := layout.Index("width"), layout.Index("s"), layout.Index("p")
	slices := l.slices(layout.Parents)
	first := ir.Mul(s, ir.Const(l.Height))
	return append([]ir.Stmt{
		ir.Count(s, slices,
			ir.Declare(width, ir.Const(0)),
			ir.Loop(p, first, ir.Min(layout.Parents, ir.Add(first, ir.Const(l.Height))), ir.Set(width, ir.Max(width, layout.length(p)))),
			ir.Put(layout.To.Pos, ir.Next(s), width)),
	}, layout.Sum(layout.To.Pos, slices, l.Height)...), ir.IndexAt(layout.To.Pos, slices)
}

// Fill implements Layouter. The places of parents that the last slice is short of hold nothing.
func (l Sliced) Fill(layout *Layout) []ir.Stmt {
	s, lane, p, width, k := layout.Index("s"), layout.Index("lane"), layout.Index("p"), layout.Index("width"), layout.Index("k")
	base := ir.IndexAt(layout.To.Pos, s)
	at := func(step ir.Expr) ir.Expr { return ir.Add(ir.Add(base, lane), ir.Mul(step, ir.Const(l.Height))) }
	places := ir.Sub(ir.IndexAt(layout.To.Pos, ir.Next(s)), base)
	return []ir.Stmt{layout.Shared(nil, ir.Count(s, l.slices(layout.Parents),
		ir.Let(width, div(places, l.Height)),
		ir.Count(lane, ir.Const(l.Height),
			ir.Let(p, ir.Add(ir.Mul(s, ir.Const(l.Height)), lane)),
			&ir.If{
				Cond: ir.Is(p, ir.Lt, layout.Parents),
				Then: ir.Do(layout.column(p, layout.length(p), width, at)...),
				Else: ir.Do(ir.Count(k, width, ir.Put(layout.To.Crd, at(k), ir.Const(-1)))),
			})), nil)}
}
