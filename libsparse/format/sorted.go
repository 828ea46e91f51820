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
	return Props{Full: true, Unique: true, Locate: true, Fixed: true, HasPos: true, HasCrd: true}
}

func (l Sorted) String() string { return fmt.Sprintf("w(%d)", l.Window) }

// Children implements Level.
func (Sorted) Children(s Storage, parent Range) Range { return Dense{}.Children(s, parent) }

// Coord implements Level.
func (Sorted) Coord(s Storage, _ Range, pos ir.Expr) ir.Expr { return load(s.Crd, pos) }

// At implements Level.
func (Sorted) At(s Storage, parent, coord ir.Expr) ir.Expr {
	first := mul(parent, s.Extent)
	return add(first, load(s.Pos, add(first, coord)))
}

// Size implements Level.
func (Sorted) Size(s Storage, parents ir.Expr) ir.Expr { return mul(parents, s.Extent) }

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

// PosLen implements Layouter.
func (Sorted) PosLen(g Geometry) int { return g.Parents * g.Extent }

// Places implements Layouter.
func (Sorted) Places(crd, _ int) int { return crd }

// Measure implements Layouter: two stable passes, by what is stored below and by window, give the order.
func (l Sorted) Measure(made *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	count := mul(made.Parents, made.Extent)
	if made.Below == nil { // the same below each
		return []ir.Stmt{made.rows(func(q, _, i *ir.Var) []ir.Stmt { return []ir.Stmt{store(made.To.Pos, q, i)} })}, count
	}
	order, key := made.Array("order", dtype.I64), made.Array("key", dtype.I64)
	most, q, t := made.Var("most"), made.Var("q"), made.Var("t")
	room, windows := larger(count, integer(1)), div(add(made.Extent, integer(l.Window-1)), l.Window)
	sort := func(extent ir.Expr) ir.Stmt {
		return &ir.SortBy{Perm: order, Key: key, Count: count, Extent: extent, Threads: made.Threads}
	}
	return []ir.Stmt{
		&ir.Alloc{Array: order, Size: room, Heap: true}, &ir.Alloc{Array: key, Size: room, Heap: true},
		declare(most, integer(0)),
		loop(q, integer(0), count, set(most, larger(most, made.Below(q)))),
		made.rows(func(q, _, _ *ir.Var) []ir.Stmt {
			return []ir.Stmt{store(order, q, q), store(key, q, sub(most, made.Below(q)))}
		}),
		sort(add(most, integer(1))),
		made.rows(func(q, p, i *ir.Var) []ir.Stmt {
			return []ir.Stmt{store(key, q, add(mul(p, windows), div(i, l.Window)))}
		}),
		sort(larger(mul(made.Parents, windows), integer(1))),
		made.rows(func(q, _, i *ir.Var) []ir.Stmt {
			return []ir.Stmt{let(t, load(order, q)), store(made.To.Pos, t, i)}
		}),
		&ir.Free{Array: order}, &ir.Free{Array: key},
	}, count
}

// Fill implements Layouter.
func (Sorted) Fill(made *Layout) []ir.Stmt {
	place := made.Var("place")
	return []ir.Stmt{made.rows(func(q, p, i *ir.Var) []ir.Stmt {
		return []ir.Stmt{
			let(place, add(mul(p, made.Extent), load(made.To.Pos, q))),
			store(made.To.Crd, place, i),
			store(made.Place, q, place),
		}
	})}
}

// rows loops over all positions of a dense level on threads, with the parent and the coordinate of each.
func (l *Layout) rows(body func(q, p, i *ir.Var) []ir.Stmt) ir.Stmt {
	q, p, i := l.Var("q"), l.Var("p"), l.Var("i")
	stmts := []ir.Stmt{let(p, quotient(q, l.Extent)), let(i, sub(q, mul(p, l.Extent)))}
	return l.Shared(nil, loop(q, integer(0), mul(l.Parents, l.Extent), append(stmts, body(q, p, i)...)...), nil)
}
