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
	// Full levels store every coordinate. Those that aren't ordered say by pos where each stands.
	Full bool `json:"full"`
	// Ordered levels store the coordinates of one parent in ascending order.
	Ordered bool `json:"ordered"`
	// Unique levels store a coordinate of one parent once.
	Unique bool `json:"unique"`
	// Branchless levels have exactly one coordinate for each parent position.
	Branchless bool `json:"branchless"`
	// Locate says that the position of a coordinate is computed without a search.
	Locate bool `json:"locate"`
	// Probe says that a coordinate stands at one of a few places; see Prober.
	Probe bool `json:"probe"`
	// Padded levels have positions that hold nothing.
	Padded bool `json:"padded"`
	// Filling levels store elements beside the entries that they are made from, as blocks and diagonals do; these count as
	// stored.
	Filling bool `json:"filling"`
	// RowRelative levels need the coordinate of the level above, which has to be dense.
	RowRelative bool `json:"row_relative"`
	// ConversionOnly levels are not appended to: their layout depends on the whole pattern, so tensors are converted to them
	// from their source level.
	ConversionOnly bool `json:"conversion_only"`
	// HasPos and HasCrd name the arrays that the level is made of.
	HasPos bool `json:"has_pos"`
	HasCrd bool `json:"has_crd"`
	// Segmented levels divide crd by pos into segments, one after the other: pos begins with 0, never decreases, and ends with
	// the length of crd.
	Segmented bool `json:"segmented"`
}

// Storage is the parts of one level of one tensor inside a kernel.
type Storage struct {
	// Extent is the number of coordinates of the level's mode.
	Extent ir.Expr
	// Pos and Crd are nil where the level has no such array.
	Pos, Crd *ir.Array
	// Parents is the number of positions of the level above; only padded levels are given it.
	Parents ir.Expr
	// Row is the coordinate of the level above, Rows its extent, and Above the position over that; only levels with RowRelative
	// are given them.
	Row, Rows, Above ir.Expr
}

// Range is a half-open range of positions.
type Range struct {
	Lo, Hi ir.Expr
	// Group is the number of the group that a position below which levels are Grouped is known to be in; nil where it isn't known.
	Group ir.Expr
}

// Level is one kind of level. Positions count the places of a level over all parents. A walk counts steps, which are
// positions in most kinds.
type Level interface {
	Props() Props
	// String is how a format names the level: a letter, with numbers in parentheses where the kind has any.
	String() string
	// Name says in a few words what kind of level it is, Arrays what its arrays hold.
	Name() string
	Arrays() string
	// Children is the range of steps below the parent positions in parent. A parent range longer than one occurs only
	// where the parent level is not unique: the same coordinate stored at neighbouring positions.
	Children(s Storage, parent Range) Range
	// CrdType is the type of the elements of the crd array, given the tensor's index type.
	CrdType(index dtype.T) dtype.T
	// Coord is the coordinate at a step below parent. Full levels have no such array; they are walked by coordinate.
	Coord(s Storage, parent Range, step ir.Expr) ir.Expr
	// Place is the position of a step below parent.
	Place(s Storage, parent Range, step ir.Expr) ir.Expr
	// Valid says whether something is stored at a step; nil where every step is in use.
	Valid(s Storage, parent Range, step ir.Expr) ir.Expr
	// Locate is the position of a coordinate below one parent position; only levels with Locate have it.
	Locate(s Storage, parent, coord ir.Expr) ir.Expr
	// Size is the number of positions, given that of the parent level, where that is known before the coordinates are;
	// else nil.
	Size(s Storage, parents ir.Expr) ir.Expr
	// PosLen is the length of pos, given the number of positions of the parent level; only levels with HasPos have it.
	PosLen(s Storage, parents ir.Expr) ir.Expr
	// CrdLen is the length of crd, given the number of positions of the parent level and pos; only levels with HasCrd have it.
	CrdLen(s Storage, parents ir.Expr) ir.Expr
	// CrdRange is the half-open range of the elements of crd.
	CrdRange(s Storage) Range

	// Pack lays out the coordinates below each parent position, which are in ascending order.
	Pack(below [][]int, g Geometry) (pos, crd []int64)
	// Unpack lists what is stored below each parent position in the order of a walk, and the number of positions.
	Unpack(pos, crd []int64, g Geometry) (below [][]Child, size int)
}

// Numbered is what levels with numbers implement, such as the height of a slice.
type Numbered interface {
	Level
	// Numbers are those of this level.
	Numbers() []int64
	// With is the level with other numbers.
	With(numbers []int64) Level
}

// Bounded is what levels implement that can't store every coordinate.
type Bounded interface {
	// Most is the largest extent that the level's mode may have.
	Most() int64
}

// Grouped is what levels implement whose parents come in groups of neighbours, which have the same number of steps and the places of
// each step side by side.
type Grouped interface {
	// Group is how many parents a group has; 0 where all are one.
	Group() int64
}

// Blocks is what levels implement that store dense blocks: as many neighbouring parents as a block is high share them, and each has as
// many neighbouring coordinates in a block as that is wide.
type Blocks interface {
	// Block is the height and the width of a block.
	Block() (height, width int64)
	// Within is the range of the numbers of the blocks below a parent.
	Within(s Storage, parent Range) Range
	// First is the first coordinate of a block, and Element the position of a coordinate so far from that one.
	First(s Storage, block ir.Expr) ir.Expr
	Element(s Storage, parent Range, block, from ir.Expr) ir.Expr
}

// Repeating is what levels implement that may store a coordinate of one parent several times, for different coordinates below.
type Repeating interface {
	// Distinct is the same level where nothing is below, so that each coordinate is stored once.
	Distinct() Level
}

// Prober is what levels with the property Probe implement. Their tables have a power of two of places, at least one of which
// holds nothing, so that every search ends; it goes from place to place, around the end.
type Prober interface {
	// Probes says where to look for a coordinate among the children of one parent, if there are any: at first, then at what
	// next makes of it, until it is found or a place holds nothing.
	Probes(children Range, coord ir.Expr) (first ir.Expr, next func(at ir.Expr) ir.Expr)
}

// Geometry is the shape around a level of a packed tensor: its extent, the extent of the level above (1 for the first),
// and the number of positions of that.
type Geometry struct {
	Extent, Rows, Parents int
	// Below is how many coordinates of the next level are stored below a coordinate of this one; only Pack is given it.
	Below func(parent, coord int) int
}

// Child is what one step of a walk finds.
type Child struct{ Coord, Pos int }

// direct is part of the levels whose steps are positions, all in use.
type direct struct{}

// CrdRange implements Level.
func (direct) CrdRange(s Storage) Range { return Range{Lo: ir.Const(0), Hi: s.Extent} }

// Place implements Level.
func (direct) Place(_ Storage, _ Range, step ir.Expr) ir.Expr { return step }

// Valid implements Level.
func (direct) Valid(Storage, Range, ir.Expr) ir.Expr { return nil }

// searched is part of the levels in which finding a coordinate takes a search.
type searched struct{}

// Locate panics.
func (searched) Locate(Storage, ir.Expr, ir.Expr) ir.Expr {
	panic("BUG: the level can't be located in")
}

// CrdType implements Level.
func (searched) CrdType(index dtype.T) dtype.T { return index }

// unsegmented is part of the levels that have no pos.
type unsegmented struct{}

// PosLen panics.
func (unsegmented) PosLen(Storage, ir.Expr) ir.Expr { panic("BUG: the level has no positions") }

// segmented is part of the levels with a segment of crd for each parent position.
type segmented struct{}

// PosLen implements Level.
func (segmented) PosLen(_ Storage, parents ir.Expr) ir.Expr { return ir.Next(parents) }

// CrdLen implements Level.
func (segmented) CrdLen(s Storage, parents ir.Expr) ir.Expr { return ir.IndexAt(s.Pos, parents) }

// Levels lists every kind of level. A format gives the numbers of kinds that have any.
func Levels() []Level {
	return []Level{
		Dense{},
		Sorted{},
		Compressed{Unique: true},
		Compressed{},
		Narrow{},
		Singleton{Unique: true},
		Singleton{},
		Bitmap{},
		Hashed{},
		Padded{},
		Sliced{},
		Offset{},
		Blocked{},
	}
}

func mod(x ir.Expr, n int64) ir.Expr { return ir.Remainder(x, div(x, n), ir.Const(n)) }

func div(x ir.Expr, n int64) ir.Expr { return ir.Div(x, ir.Const(n)) }

func notNegative(x ir.Expr) ir.Expr { return ir.Is(x, ir.Ge, ir.Const(0)) }

// ceilDiv is x / n, rounded up.
func ceilDiv(x ir.Expr, n int64) ir.Expr {
	return div(ir.Add(x, ir.Sub(ir.Const(n), ir.Const(1))), n)
}
