package format

import (
	"math/bits"

	"libsparse/libsparse/ir"
)

// Hashed gives every parent a table of places pos[p] to pos[p+1], a power of two of them or none. A coordinate stands at
// the first free place from its hash on, around the end; -1 marks free places. A walk meets coordinates in no order.
type Hashed struct {
	direct
	searched
	compressed
}

// Props implements Level.
func (Hashed) Props() Props {
	return Props{Unique: true, Probe: true, Padded: true, Fixed: true, HasPos: true, HasCrd: true}
}

func (Hashed) String() string { return "h" }

// Children implements Level.
func (Hashed) Children(s Storage, parent Range) Range {
	return Compressed{}.Children(s, parent)
}

// Coord implements Level.
func (Hashed) Coord(s Storage, _ Range, pos ir.Expr) ir.Expr { return load(s.Crd, pos) }

// Valid implements Level.
func (Hashed) Valid(s Storage, _ Range, pos ir.Expr) ir.Expr { return notNegative(load(s.Crd, pos)) }

// Probes implements Prober.
func (Hashed) Probes(table Range, coord ir.Expr) (first ir.Expr, next func(at ir.Expr) ir.Expr) {
	first = add(table.Lo, &ir.Hash{Key: coord, Size: sub(table.Hi, table.Lo)})
	return first, func(at ir.Expr) ir.Expr {
		after := add(at, integer(1))
		return &ir.Select{Cond: &ir.Compare{Op: ir.Eq, X: after, Y: table.Hi}, Then: table.Lo, Else: after}
	}
}

// Size implements Level.
func (Hashed) Size(Storage, ir.Expr) ir.Expr { return nil }

// Pack implements Level. Tables are at most half full.
func (Hashed) Pack(below [][]int, _ Geometry) (pos, crd []int64) {
	pos, crd = []int64{0}, []int64{}
	for _, coords := range below {
		if len(coords) > 0 {
			width := bits.Len(uint(2*len(coords) - 1))
			table := empty(1 << width)
			for _, c := range coords {
				at := int(ir.HashOf(int64(c), 1<<width))
				for table[at] >= 0 {
					at = (at + 1) % len(table)
				}
				table[at] = int64(c)
			}
			crd = append(crd, table...)
		}
		pos = append(pos, int64(len(crd)))
	}
	return pos, crd
}

// Unpack implements Level.
func (Hashed) Unpack(pos, crd []int64, g Geometry) (below [][]Child, size int) {
	below, size = Compressed{}.Unpack(pos, crd, g)
	for p, children := range below {
		below[p] = nil
		for _, c := range children {
			if c.Coord >= 0 {
				below[p] = append(below[p], c)
			}
		}
	}
	return below, size
}

// PosLen implements Layouter.
func (Hashed) PosLen(g Geometry) int { return g.Parents + 1 }

// Places implements Layouter.
func (Hashed) Places(crd, _ int) int { return crd }

// Measure implements Layouter: tables are at most half full.
func (Hashed) Measure(l *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	p, room, twice := l.Var("p"), l.Var("room"), l.Var("twice")
	return append([]ir.Stmt{loop(p, integer(0), l.Parents,
		let(twice, mul(l.length(p), integer(2))),
		declare(room, smaller(twice, integer(2))),
		&ir.While{Cond: less(room, twice), Body: &ir.Block{Stmts: []ir.Stmt{set(room, mul(room, integer(2)))}}},
		store(l.To.Pos, add(p, integer(1)), room))}, l.Sum(l.To.Pos, l.Parents, 1)...), load(l.To.Pos, l.Parents)
}

// Fill implements Layouter: each coordinate goes to the first place from its hash on that is free.
func (h Hashed) Fill(l *Layout) []ir.Stmt {
	k, at := l.Var("k"), l.Var("at")
	return []ir.Stmt{l.parents(func(p *ir.Var) []ir.Stmt {
		table := Range{Lo: load(l.To.Pos, p), Hi: load(l.To.Pos, add(p, integer(1)))}
		return []ir.Stmt{
			loop(k, table.Lo, table.Hi, store(l.To.Crd, k, integer(-1))),
			l.each(p, func(q, c *ir.Var) []ir.Stmt {
				first, next := h.Probes(table, c)
				return []ir.Stmt{
					declare(at, first),
					&ir.While{Cond: notNegative(load(l.To.Crd, at)), Body: &ir.Block{Stmts: []ir.Stmt{set(at, next(at))}}},
					store(l.To.Crd, at, c), store(l.Place, q, at),
				}
			}),
		}
	})}
}
