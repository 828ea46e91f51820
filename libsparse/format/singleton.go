package format

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Singleton stores one coordinate for each parent position, in crd at that position: the later levels of COO. Unique
// says that no coordinate repeats within a run of equal parent coordinates.
type Singleton struct{ Unique bool }

// Props implements Level.
func (l Singleton) Props() Props {
	return Props{Ordered: true, Unique: l.Unique, Branchless: true, HasCrd: true}
}

// Letter implements Level.
func (l Singleton) Letter() byte {
	if l.Unique {
		return 'q'
	}
	return 'c'
}

// Children implements Level.
func (Singleton) Children(_ Storage, parent Range) Range { return parent }

// Coord implements Level.
func (Singleton) Coord(s Storage, _ Range, pos ir.Expr) ir.Expr { return load(s.Crd, pos) }

// At panics: finding a coordinate takes a search.
func (Singleton) At(Storage, ir.Expr, ir.Expr) ir.Expr {
	panic("BUG: a singleton level can't be located in")
}

// Size implements Level.
func (Singleton) Size(_ Storage, parents ir.Expr) ir.Expr { return parents }

// CrdType implements Level.
func (Singleton) CrdType(index dtype.T) dtype.T { return index }

// Valid implements Level.
func (Singleton) Valid(Storage, ir.Expr) ir.Expr { return nil }
