package format

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Compressed stores the coordinates of parent p at positions pos[p] to pos[p+1] of crd, in ascending order. Without
// Unique a coordinate may be repeated: the first level of COO.
type Compressed struct{ Unique bool }

// Props implements Level.
func (l Compressed) Props() Props {
	return Props{Ordered: true, Unique: l.Unique, HasPos: true, HasCrd: true}
}

// Letter implements Level.
func (l Compressed) Letter() byte {
	if l.Unique {
		return 's'
	}
	return 'u'
}

// Children implements Level.
func (Compressed) Children(s Storage, parent Range) Range {
	return Range{Lo: load(s.Pos, parent.Lo), Hi: load(s.Pos, parent.Hi)}
}

// Coord implements Level.
func (Compressed) Coord(s Storage, _ Range, pos ir.Expr) ir.Expr { return load(s.Crd, pos) }

// At panics: finding a coordinate takes a search.
func (Compressed) At(Storage, ir.Expr, ir.Expr) ir.Expr {
	panic("BUG: a compressed level can't be located in")
}

// Size implements Level.
func (Compressed) Size(Storage, ir.Expr) ir.Expr { return nil }

// CrdType implements Level.
func (Compressed) CrdType(index dtype.T) dtype.T { return index }

// Valid implements Level.
func (Compressed) Valid(Storage, ir.Expr) ir.Expr { return nil }
