package format

import (
	"cmp"
	"fmt"
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Sorted stores every coordinate, as Dense does, but in another order: each window of Window neighbouring coordinates by how
// much is stored below them, most first. Over slices that is SELL-C-sigma of Kreutzer, Hager, Wellein, Fehske and Bishop,
// "A Unified Sparse Matrix Data Format for Efficient General Sparse Matrix-Vector Multiplication on Modern Processors with
// Wide SIMD Units": a slice is as wide as its longest row, and holds rows of about that length. crd has the coordinate at
// each place, pos the place of each coordinate, both below the same parent: so a loop that may visit coordinates in any
// order follows the storage, and any other finds them without a search.
type Sorted struct {
	Window int64
	direct
}

// Props implements Level.
func (Sorted) Props() Props {
	return Props{Full: true, Unique: true, Locate: true, ConversionOnly: true, HasPos: true, HasCrd: true}
}

func (l Sorted) String() string { return fmt.Sprintf("w(%d)", l.Window) }

// Name implements Level.
func (Sorted) Name() string { return "dense, sorted within windows, as in SELL-C-sigma" }

// Arrays implements Level.
func (Sorted) Arrays() string {
	return "crd has the coordinate at each place, pos the place of each: one for every coordinate"
}

// Numbers implements Numbered.
func (l Sorted) Numbers() []int64 { return []int64{l.Window} }

// With implements Numbered.
func (Sorted) With(numbers []int64) Level { return Sorted{Window: numbers[0]} }

// Invariants implements Checked.
func (l Sorted) Invariants(s Storage, parent, _, step ir.Expr) []Invariant {
	at := ir.Sub(step, ir.Mul(parent, s.Extent))
	return []Invariant{{
		Of: OfSteps, Holds: ir.Is(div(l.Coord(s, Range{}, step), l.Window), ir.Eq, div(at, l.Window)),
		Text: "a coordinate is outside of its window of {number0}",
	}}
}

// Children implements Level.
func (Sorted) Children(s Storage, parent Range) Range { return Dense{}.Children(s, parent) }

// Coord implements Level.
func (Sorted) Coord(s Storage, _ Range, pos ir.Expr) ir.Expr { return ir.IndexAt(s.Crd, pos) }

// Locate implements Level.
func (Sorted) Locate(s Storage, parent, coord ir.Expr) ir.Expr {
	first := ir.Mul(parent, s.Extent)
	return ir.Add(first, ir.IndexAt(s.Pos, ir.Add(first, coord)))
}

// Size implements Level.
func (Sorted) Size(s Storage, parents ir.Expr) ir.Expr { return ir.Mul(parents, s.Extent) }

// CrdType implements Level.
func (Sorted) CrdType(index dtype.T) dtype.T { return index }

// Pack implements Level.
func (l Sorted) Pack(_ [][]int, g Geometry) (pos, crd []int64) {
	pos, crd = make([]int64, g.Parents*g.Extent), make([]int64, g.Parents*g.Extent)
	for p := range g.Parents {
		rows := crd[p*g.Extent : (p+1)*g.Extent]
		for i := range rows {
			rows[i] = int64(i)
		}
		for window := range slices.Chunk(rows, int(l.Window)) {
			slices.SortStableFunc(window, func(a, b int64) int { return cmp.Compare(g.Below(p, int(b)), g.Below(p, int(a))) })
		}
		for at, i := range rows {
			pos[p*g.Extent+int(i)] = int64(at)
		}
	}
	return pos, crd
}

// Unpack implements Level.
func (Sorted) Unpack(_, crd []int64, g Geometry) (below [][]Child, size int) {
	below, size = Dense{}.Unpack(nil, nil, g)
	for _, children := range below {
		for k, c := range children {
			children[k].Coord = int(crd[c.Pos])
		}
	}
	return below, size
}

// Source implements Layouter.
func (Sorted) Source() Level { return Dense{} }

// PosLen implements Level.
func (Sorted) PosLen(s Storage, parents ir.Expr) ir.Expr { return ir.Mul(parents, s.Extent) }

// CrdLen implements Level.
func (Sorted) CrdLen(s Storage, parents ir.Expr) ir.Expr { return ir.Mul(parents, s.Extent) }

// Positions implements Layouter.
func (Sorted) Positions(crd, _ ir.Expr) ir.Expr { return crd }

// Measure implements Layouter: two stable passes, by what is stored below and by window, give the order.
func (l Sorted) Measure(layout *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	count := ir.Mul(layout.Parents, layout.Extent)
	if layout.Below == nil { // the same below each
		return []ir.Stmt{layout.rows(func(q, _, i *ir.Var) []ir.Stmt { return []ir.Stmt{ir.Put(layout.To.Pos, q, i)} })}, count
	}
	order, key := layout.Array("order", dtype.I64), layout.Array("key", dtype.I64)
	most, q, t := layout.Index("most"), layout.Index("q"), layout.Index("t")
	room, windows := ir.AtLeastOne(count), ceilDiv(layout.Extent, l.Window)
	sort := func(extent ir.Expr) ir.Stmt {
		return &ir.SortBy{Perm: order, Key: key, Count: count, Extent: extent, Threads: layout.Threads}
	}
	return []ir.Stmt{
		ir.NewArray(order, room), ir.NewArray(key, room),
		ir.Declare(most, ir.Const(0)),
		ir.Count(q, count, ir.Set(most, ir.Max(most, layout.Below(q)))),
		layout.rows(func(q, _, _ *ir.Var) []ir.Stmt {
			return []ir.Stmt{ir.Put(order, q, q), ir.Put(key, q, ir.Sub(most, layout.Below(q)))}
		}),
		sort(ir.Next(most)),
		layout.rows(func(q, p, i *ir.Var) []ir.Stmt {
			return []ir.Stmt{ir.Put(key, q, ir.Add(ir.Mul(p, windows), div(i, l.Window)))}
		}),
		sort(ir.AtLeastOne(ir.Mul(layout.Parents, windows))),
		layout.rows(func(q, _, i *ir.Var) []ir.Stmt {
			return []ir.Stmt{ir.Let(t, ir.IndexAt(order, q)), ir.Put(layout.To.Pos, t, i)}
		}),
		&ir.Free{Array: order}, &ir.Free{Array: key},
	}, count
}

// Fill implements Layouter.
func (Sorted) Fill(layout *Layout) []ir.Stmt {
	place := layout.Index("place")
	return []ir.Stmt{layout.rows(func(q, p, i *ir.Var) []ir.Stmt {
		return []ir.Stmt{
			ir.Let(place, ir.Add(ir.Mul(p, layout.Extent), ir.IndexAt(layout.To.Pos, q))),
			ir.Put(layout.To.Crd, place, i),
			ir.Put(layout.Place, q, place),
		}
	})}
}

// rows loops over all positions of a dense level on threads, with the parent and the coordinate of each.
func (l *Layout) rows(body func(q, p, i *ir.Var) []ir.Stmt) ir.Stmt {
	q, p, i := l.Index("q"), l.Index("p"), l.Index("i")
	stmts := []ir.Stmt{ir.Let(p, ir.Div(q, l.Extent)), ir.Let(i, ir.Sub(q, ir.Mul(p, l.Extent)))}
	return l.Shared(nil, ir.Count(q, ir.Mul(l.Parents, l.Extent), append(stmts, body(q, p, i)...)...), nil)
}
