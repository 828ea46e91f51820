package format

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Bitmap has a position for every coordinate, as Dense has, and a byte that says whether it is stored.
type Bitmap struct{}

// Props implements Level.
func (Bitmap) Props() Props { return Props{Ordered: true, Unique: true, Locate: true, HasCrd: true} }

// Letter implements Level.
func (Bitmap) Letter() byte { return 'b' }

// CrdType implements Level: the mask is one byte a position.
func (Bitmap) CrdType(dtype.T) dtype.T { return dtype.U8 }

// Children implements Level.
func (Bitmap) Children(s Storage, parent Range) Range { return Dense{}.Children(s, parent) }

// Coord implements Level.
func (Bitmap) Coord(s Storage, parent Range, pos ir.Expr) ir.Expr {
	return &ir.Binary{Op: dtype.Sub, X: pos, Y: mul(parent.Lo, s.Extent)}
}

// Valid implements Level.
func (Bitmap) Valid(s Storage, pos ir.Expr) ir.Expr {
	return &ir.Compare{Op: ir.Ne, X: &ir.Load{Array: s.Crd, Index: pos}, Y: &ir.Int{T: dtype.U8}}
}

// At implements Level.
func (Bitmap) At(s Storage, parent, coord ir.Expr) ir.Expr { return Dense{}.At(s, parent, coord) }

// Size implements Level.
func (Bitmap) Size(s Storage, parents ir.Expr) ir.Expr { return mul(parents, s.Extent) }
