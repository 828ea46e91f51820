package format

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Bitmap has a position for every coordinate, as Dense has, and a byte that says whether it is stored.
type Bitmap struct {
	direct
	unsegmented
}

// Props implements Level.
func (Bitmap) Props() Props {
	return Props{Ordered: true, Unique: true, Locate: true, Padded: true, HasCrd: true}
}

func (Bitmap) String() string { return "b" }

// CrdType implements Level: the mask is one byte a position.
func (Bitmap) CrdType(dtype.T) dtype.T { return dtype.U8 }

// Name implements Level.
func (Bitmap) Name() string { return "bitmap" }

// Arrays implements Level.
func (Bitmap) Arrays() string {
	return "crd has one byte for every coordinate, 1 where there is an entry and 0 elsewhere"
}

// Children implements Level.
func (Bitmap) Children(s Storage, parent Range) Range { return Dense{}.Children(s, parent) }

// Coord implements Level.
func (Bitmap) Coord(s Storage, parent Range, pos ir.Expr) ir.Expr {
	return ir.Sub(pos, ir.Mul(parent.Lo, s.Extent))
}

// Valid implements Level.
func (Bitmap) Valid(s Storage, _ Range, pos ir.Expr) ir.Expr {
	return ir.Is(ir.At(s.Crd, pos), ir.Ne, &ir.Int{T: dtype.U8})
}

// Locate implements Level.
func (Bitmap) Locate(s Storage, parent, coord ir.Expr) ir.Expr {
	return Dense{}.Locate(s, parent, coord)
}

// CrdLen implements Level.
func (Bitmap) CrdLen(s Storage, parents ir.Expr) ir.Expr { return ir.Mul(parents, s.Extent) }

// CrdRange implements Level.
func (Bitmap) CrdRange(Storage) Range { return Range{Lo: ir.Const(0), Hi: ir.Const(2)} }

// Size implements Level.
func (Bitmap) Size(s Storage, parents ir.Expr) ir.Expr { return ir.Mul(parents, s.Extent) }

// Pack implements Level.
func (Bitmap) Pack(below [][]int, g Geometry) (pos, crd []int64) {
	crd = make([]int64, g.Parents*g.Extent)
	for p, coords := range below {
		for _, c := range coords {
			crd[p*g.Extent+c] = 1
		}
	}
	return nil, crd
}

// Unpack implements Level.
func (Bitmap) Unpack(_, crd []int64, g Geometry) (below [][]Child, size int) {
	below, size = Dense{}.Unpack(nil, nil, g)
	for p, children := range below {
		below[p] = nil
		for _, c := range children {
			if crd[c.Pos] != 0 {
				below[p] = append(below[p], c)
			}
		}
	}
	return below, size
}
