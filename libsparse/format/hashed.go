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
	segmented
	compressed
}

// Props implements Level.
func (Hashed) Props() Props {
	return Props{Unique: true, Probe: true, Padded: true, ConversionOnly: true, HasPos: true, HasCrd: true, Segmented: true}
}

func (Hashed) String() string { return "h" }

// Name implements Level.
func (Hashed) Name() string { return "hashed" }

// Arrays implements Level.
func (Hashed) Arrays() string {
	return "pos divides crd into the hash tables of the parents, in which -1 marks a place that holds nothing"
}

// CrdRange implements Level.
func (Hashed) CrdRange(s Storage) Range { return Padded{}.CrdRange(s) }

// Children implements Level.
func (Hashed) Children(s Storage, parent Range) Range {
	return Compressed{}.Children(s, parent)
}

// Coord implements Level.
func (Hashed) Coord(s Storage, _ Range, pos ir.Expr) ir.Expr { return ir.IndexAt(s.Crd, pos) }

// Valid implements Level.
func (Hashed) Valid(s Storage, _ Range, pos ir.Expr) ir.Expr {
	return notNegative(ir.IndexAt(s.Crd, pos))
}

// Probes implements Prober.
func (Hashed) Probes(table Range, coord ir.Expr) (first ir.Expr, next func(at ir.Expr) ir.Expr) {
	first = ir.Add(table.Lo, &ir.Hash{Key: coord, Size: ir.Sub(table.Hi, table.Lo)})
	return first, func(at ir.Expr) ir.Expr {
		after := ir.Next(at)
		return &ir.Select{Cond: ir.Is(after, ir.Eq, table.Hi), Then: table.Lo, Else: after}
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

// Positions implements Layouter.
func (Hashed) Positions(crd, _ ir.Expr) ir.Expr { return crd }

// Measure implements Layouter: tables are at most half full.
func (Hashed) Measure(l *Layout) (stmts []ir.Stmt, crd ir.Expr) {
	p, room, twice := l.Index("p"), l.Index("room"), l.Index("twice")
	return append([]ir.Stmt{ir.Count(p, l.Parents,
		ir.Let(twice, ir.Mul(l.length(p), ir.Const(2))),
		ir.Declare(room, ir.Min(twice, ir.Const(2))),
		ir.Repeat(ir.Is(room, ir.Lt, twice), ir.Set(room, ir.Mul(room, ir.Const(2)))),
		ir.Put(l.To.Pos, ir.Next(p), room))}, l.Sum(l.To.Pos, l.Parents, 1)...), ir.IndexAt(l.To.Pos, l.Parents)
}

// Fill implements Layouter: each coordinate goes to the first place from its hash on that is free.
func (h Hashed) Fill(l *Layout) []ir.Stmt {
	k, at := l.Index("k"), l.Index("at")
	return []ir.Stmt{l.parents(func(p *ir.Var) []ir.Stmt {
		table := Range{Lo: ir.IndexAt(l.To.Pos, p), Hi: ir.IndexAt(l.To.Pos, ir.Next(p))}
		return []ir.Stmt{
			ir.Loop(k, table.Lo, table.Hi, ir.Put(l.To.Crd, k, ir.Const(-1))),
			l.each(p, func(q, c *ir.Var) []ir.Stmt {
				first, next := h.Probes(table, c)
				return []ir.Stmt{
					ir.Declare(at, first),
					ir.Repeat(notNegative(ir.IndexAt(l.To.Crd, at)), ir.Set(at, next(at))),
					ir.Put(l.To.Crd, at, c), ir.Put(l.Place, q, at),
				}
			}),
		}
	})}
}
