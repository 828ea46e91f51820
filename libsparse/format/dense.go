package format

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Dense stores every coordinate: position = parent * extent + coordinate. It has no arrays.
type Dense struct {
	direct
	unsegmented
}

// Props implements Level.
func (Dense) Props() Props { return Props{Full: true, Ordered: true, Unique: true, Locate: true} }

func (Dense) String() string { return "d" }

// Name implements Level.
func (Dense) Name() string { return "dense" }

// Arrays implements Level.
func (Dense) Arrays() string {
	return "a dense level has no arrays"
}

// Children implements Level.
func (Dense) Children(s Storage, parent Range) Range {
	lo := ir.Mul(parent.Lo, s.Extent)
	return Range{Lo: lo, Hi: ir.Add(lo, s.Extent)}
}

// Coord panics: dense levels are walked by coordinate.
func (Dense) Coord(Storage, Range, ir.Expr) ir.Expr {
	panic("BUG: a dense level has no coordinate array")
}

// Locate implements Level.
func (Dense) Locate(s Storage, parent, coord ir.Expr) ir.Expr {
	return ir.Add(ir.Mul(parent, s.Extent), coord)
}

// Size implements Level.
func (Dense) Size(s Storage, parents ir.Expr) ir.Expr { return ir.Mul(parents, s.Extent) }

// CrdLen panics: dense levels have no coordinate array.
func (Dense) CrdLen(Storage, ir.Expr) ir.Expr { panic("BUG: a dense level has no coordinate array") }

// CrdType implements Level.
func (Dense) CrdType(index dtype.T) dtype.T { return index }

// Pack implements Level: there is nothing to lay out.
func (Dense) Pack([][]int, Geometry) (pos, crd []int64) { return nil, nil }

// Unpack implements Level.
func (Dense) Unpack(_, _ []int64, g Geometry) (below [][]Child, size int) {
	below = make([][]Child, g.Parents)
	for p := range below {
		for c := range g.Extent {
			below[p] = append(below[p], Child{c, p*g.Extent + c})
		}
	}
	return below, g.Parents * g.Extent
}
