package format

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Dense stores every coordinate: position = parent * extent + coordinate. It has no arrays.
type Dense struct{}

// Props implements Level.
func (Dense) Props() Props { return Props{Full: true, Ordered: true, Unique: true, Locate: true} }

// Letter implements Level.
func (Dense) Letter() byte { return 'd' }

// Children implements Level.
func (Dense) Children(s Storage, parent Range) Range {
	lo := mul(parent.Lo, s.Extent)
	return Range{Lo: lo, Hi: add(lo, s.Extent)}
}

// Coord panics: dense levels are walked by coordinate.
func (Dense) Coord(Storage, Range, ir.Expr) ir.Expr {
	panic("BUG: a dense level has no coordinate array")
}

// At implements Level.
func (Dense) At(s Storage, parent, coord ir.Expr) ir.Expr { return add(mul(parent, s.Extent), coord) }

// Size implements Level.
func (Dense) Size(s Storage, parents ir.Expr) ir.Expr { return mul(parents, s.Extent) }

// CrdType implements Level.
func (Dense) CrdType(index dtype.T) dtype.T { return index }

// Valid implements Level.
func (Dense) Valid(Storage, ir.Expr) ir.Expr { return nil }
