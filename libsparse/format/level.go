// Package format describes how a tensor is stored: a tree of levels, one for each mode, in some mode order.
//
// Each kind of level is one file that implements Level: its properties and the loop IR that walks it, locates in it and
// appends to it. The package must not know about expressions or schedules. The abstraction is that of Chou, Kjolstad
// and Amarasinghe, "Format Abstraction for Sparse Tensor Algebra Compilers".
package format

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Props are the properties of a level that the compiler's decisions rest on.
type Props struct {
	// Full levels store every coordinate.
	Full bool
	// Ordered levels store the coordinates of one parent in ascending order.
	Ordered bool
	// Unique levels store a coordinate of one parent once.
	Unique bool
	// Branchless levels have exactly one coordinate for each parent position.
	Branchless bool
	// Locate says that the position of a coordinate is computed without a search.
	Locate bool
	// HasPos and HasCrd name the arrays that the level is made of.
	HasPos, HasCrd bool
}

// Storage is what one level of one tensor is made of inside a kernel.
type Storage struct {
	// Extent is the number of coordinates of the level's mode.
	Extent ir.Expr
	// Pos and Crd are nil where the level has no such array.
	Pos, Crd *ir.Array
}

// Range is a half-open range of positions.
type Range struct{ Lo, Hi ir.Expr }

// Level is one kind of level. Positions count the stored coordinates of a level over all parents.
type Level interface {
	Props() Props
	// Letter is the level's letter in a format string.
	Letter() byte
	// Children is the range of positions below the parent positions in parent. A parent range longer than one occurs
	// only where the parent level is not unique: the same coordinate stored at neighbouring positions.
	Children(s Storage, parent Range) Range
	// CrdType is the type of the elements of the crd array, given the tensor's index type.
	CrdType(index dtype.T) dtype.T
	// Coord is the coordinate at a position below parent. Full levels have no such array; they are walked by coordinate.
	Coord(s Storage, parent Range, pos ir.Expr) ir.Expr
	// Valid says whether something is stored at a position; nil where every position is in use.
	Valid(s Storage, pos ir.Expr) ir.Expr
	// At is the position of a coordinate below one parent position; only levels with Locate have it.
	At(s Storage, parent, coord ir.Expr) ir.Expr
	// Size is the number of positions, given that of the parent level, where that follows from the extents; else nil.
	Size(s Storage, parents ir.Expr) ir.Expr
}

// levels lists every kind of level.
func levels() []Level {
	return []Level{Dense{}, Compressed{Unique: true}, Compressed{}, Singleton{Unique: true}, Singleton{}, Bitmap{}}
}

func levelOf(letter byte) (Level, bool) {
	for _, l := range levels() {
		if l.Letter() == letter {
			return l, true
		}
	}
	return nil, false
}

// load reads an index array into a register.
func load(a *ir.Array, at ir.Expr) ir.Expr {
	e := ir.Expr(&ir.Load{Array: a, Index: at})
	if a.Elem != dtype.I64 {
		e = &ir.Cast{X: e, To: dtype.I64}
	}
	return e
}

func add(x, y ir.Expr) ir.Expr { return &ir.Binary{Op: dtype.Add, X: x, Y: y} }
func mul(x, y ir.Expr) ir.Expr { return &ir.Binary{Op: dtype.Mul, X: x, Y: y} }
