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
