// Package ir is the imperative loop language that concrete index notation is lowered to: scalar and fixed-width
// vector expressions, loops, branches, arrays.
//
// It knows nothing of tensors, formats or index notation, and nothing of C. Nodes are immutable once built; build.go has short
// forms for them, and a Builder that names variables and arrays. A printer, a simplifier, other passes, a verifier and an
// interpreter have a file each.
package ir

import "libsparse/libsparse/dtype"

// Type is a scalar type, or a vector of Lanes scalars where Lanes > 1.
type Type struct {
	Elem  dtype.T
	Lanes int
}

// Scalar is the scalar type t.
func Scalar(t dtype.T) Type { return Type{Elem: t, Lanes: 1} }

// Index is the type of coordinates, positions and extents in registers, whatever their type in memory.
var Index = Scalar(dtype.I64)

// Expr is an expression without side effects. The set of nodes is closed.
type Expr interface {
	// Type is the type of the value.
	Type() Type
	expr()
}

type (
	// Var is a local variable or a scalar bound by a slot. Variables of one Func have distinct names.
	Var struct {
		Name        string
		T           Type
		Least, Most int64 // bound what it holds, where Most isn't 0
	}
	// Int is an integer or boolean literal.
	Int struct {
		Value int64
		T     dtype.T
	}
	// Float is a floating literal, or a complex one without an imaginary part; infinities are allowed.
	Float struct {
		Value float64
		T     dtype.T
	}
	// Load reads Array[Index], or Lanes consecutive elements from Index on where Lanes > 1.
	Load struct {
		Array *Array
		Index Expr
		Lanes int
	}
	// Binary applies Op to two values of one element type; a scalar meets a vector by being broadcast.
	// First and Second don't occur. The result has the operands' type, which is not a half: those are only loaded,
	// converted and stored.
	Binary struct {
		Op   dtype.Op
		X, Y Expr
	}
	// Compare yields a scalar Bool.
	Compare struct {
		Op   Cmp
		X, Y Expr
	}
	// Unary applies an operator with one argument: Neg, or a function. The absolute value and the parts of a complex
	// value are real.
	Unary struct {
		Op dtype.Op
		X  Expr
	}
	// Cast converts each lane to the element type To, as C does.
	Cast struct {
		X  Expr
		To dtype.T
	}
	// Select is Then where Cond holds, else Else. Only the chosen one is evaluated.
	Select struct {
		Cond, Then, Else Expr
	}
	// Lanes is the vector of several scalars of one type.
	Lanes struct {
		Of []Expr
		Gathering
	}
	// ReduceLanes reduces the lanes of each of several vectors of one type by Op, which commutes. Lanes of a group (GroupLanes) that are
	// half a group apart are combined, then those a quarter apart, until one is left of each group; then groups that are half a vector
	// apart, and so on. One vector gives a scalar, several give a vector with a lane for each.
	ReduceLanes struct {
		Op dtype.Op
		Of []Expr
	}
	// Tail is the last Count lanes of the vector X, with those of the vector Else before.
	Tail struct{ X, Count, Else Expr }
	// Head is the first Count lanes of the vector X, with those of the vector Else behind; none where Count is negative, all where it is
	// more than there are.
	Head struct{ X, Count, Else Expr }
	// Where is the lanes of the vector X in which integers of the vector Of are not negative, and those of the vector Else in the others.
	Where struct{ X, Of, Else Expr }
	// Hash is the place of a key in a table of Size places, a power of two; see HashOf.
	Hash struct{ Key, Size Expr }
	// Aligned reports whether the address of an array is a multiple of Bytes.
	Aligned struct {
		Array *Array
		Bytes int64
	}
)

// Cmp is a comparison.
type Cmp string

// The comparisons, and the two connectives of booleans (which evaluate their right side only if needed).
const (
	Lt     Cmp = "<"
	Le     Cmp = "<="
	Gt     Cmp = ">"
	Ge     Cmp = ">="
	Eq     Cmp = "=="
	Ne     Cmp = "!="
	LogAnd Cmp = "&&"
	LogOr  Cmp = "||"
	// NotAbove is Le of integers that are not negative: without signs a comparison leaves a carry, which processors add to a position at once.
	NotAbove Cmp = "<=+"
)

// Array is a one-dimensional array: a kernel argument, or local to the statement that allocates it.
type Array struct {
	Name string
	Elem dtype.T
	// ReadOnly arrays are never stored to.
	ReadOnly bool
}

// Type implements Expr.
func (e *Var) Type() Type { return e.T }

// Type implements Expr.
func (e *Int) Type() Type { return Scalar(e.T) }

// Type implements Expr.
func (e *Float) Type() Type { return Scalar(e.T) }

// Type implements Expr.
func (e *Load) Type() Type { return Type{Elem: e.Array.Elem, Lanes: max(e.Lanes, 1)} }

// Type implements Expr.
func (e *Binary) Type() Type {
	x, y := e.X.Type(), e.Y.Type()
	return Type{Elem: x.Elem, Lanes: max(x.Lanes, y.Lanes)}
}

// Type implements Expr.
func (e *Compare) Type() Type { return Scalar(dtype.Bool) }

// Type implements Expr.
func (e *Unary) Type() Type {
	t := e.X.Type()
	return Type{Elem: e.Op.Result(t.Elem), Lanes: t.Lanes}
}

// Type implements Expr.
func (e *Cast) Type() Type { return Type{Elem: e.To, Lanes: e.X.Type().Lanes} }

// Type implements Expr.
func (e *Select) Type() Type { return e.Then.Type() }

// Type implements Expr.
func (e *Lanes) Type() Type { return Type{Elem: e.Of[0].Type().Elem, Lanes: len(e.Of)} }

// Type implements Expr.
func (e *ReduceLanes) Type() Type { return Type{Elem: e.Of[0].Type().Elem, Lanes: len(e.Of)} }

// Type implements Expr.
func (e *Tail) Type() Type { return e.X.Type() }

// Type implements Expr.
func (e *Head) Type() Type { return e.X.Type() }

// Type implements Expr.
func (e *Where) Type() Type { return e.X.Type() }

// Type implements Expr.
func (e *Hash) Type() Type { return Index }

// Type implements Expr.
func (e *Aligned) Type() Type { return Scalar(dtype.Bool) }

func (*Var) expr()         {}
func (*Int) expr()         {}
func (*Float) expr()       {}
func (*Load) expr()        {}
func (*Binary) expr()      {}
func (*Compare) expr()     {}
func (*Unary) expr()       {}
func (*Cast) expr()        {}
func (*Select) expr()      {}
func (*Lanes) expr()       {}
func (*ReduceLanes) expr() {}
func (*Tail) expr()        {}
func (*Head) expr()        {}
func (*Where) expr()       {}
func (*Hash) expr()        {}
func (*Aligned) expr()     {}

// Stmt is a statement. The set of nodes is closed.
type Stmt interface{ stmt() }

type (
	// Block runs its statements in order, in a scope of its own.
	Block struct{ Stmts []Stmt }
	// Decl declares Var with an initial value; Assign may change it unless Const.
	Decl struct {
		Var   *Var
		Init  Expr
		Const bool
	}
	// Assign sets Var to Value, or to Reduce(Var, Value) where Reduce is set.
	Assign struct {
		Var    *Var
		Reduce dtype.Op
		Value  Expr
	}
	// Store sets Array[Index] to Value, or to Reduce(old, Value); a vector Value covers consecutive elements, and
	// Lanes > 1 broadcasts a scalar Value to that many.
	Store struct {
		Array  *Array
		Index  Expr
		Reduce dtype.Op
		Value  Expr
		Lanes  int
		// Atomic says that other threads update the same element: Reduce is then Add or Mul, on numbers.
		Atomic bool
		// Streams sends a vector past the caches: its address is a multiple of its size, and Drain follows.
		Streams bool
	}
	// For runs Body for Var = Lo, Lo+Step, ... < Hi. Hi is evaluated once.
	For struct {
		Var    *Var
		Lo, Hi Expr
		Step   int64
		Kind   LoopKind
		// Chunk is the number of iterations a thread of a Shared loop takes at a time.
		Chunk Expr
		// Unroll asks for that many iterations to be written out at a time, where it is above one.
		Unroll int64
		// Within is the end of the values of Var, from Hi on, for which the body may also be evaluated, but for what it writes; nil where there
		// are none. It depends on nothing but slots.
		Within Expr
		// Ends says that the body is an If, and that where its condition does not hold, it holds in no later iteration.
		Ends bool
		// Gathering is of what the body reads by coordinates.
		Gathering
		Body *Block
	}
	// While runs Body as long as Cond holds.
	While struct {
		Cond Expr
		Body *Block
	}
	// If runs Then or Else; Else may be nil, a *Block or another *If.
	If struct {
		Cond Expr
		Then *Block
		Else Stmt
	}
	// Parallel runs Body on a team of Threads threads, on one where Cond does not hold. Variables declared and
	// arrays allocated inside are private; Shared loops inside divide their iterations.
	Parallel struct {
		Threads Expr
		Cond    Expr
		Body    *Block
	}
	// Alloc makes a local array of Size elements: on the stack where Size is an Int literal and Heap is not set, else on
	// the heap until a Free in the same block. Zero sets it to zero. Failure makes the Func return NoMemory.
	Alloc struct {
		Array *Array
		Size  Expr
		Zero  bool
		Heap  bool
	}
	// Grow reallocates a heap array to at least Size elements, keeping its contents. Capacity is the variable that
	// holds the number of elements it has room for; Grow updates it.
	Grow struct {
		Array    *Array
		Capacity *Var
		Size     Expr
	}
	// Free releases a heap array.
	Free struct{ Array *Array }
	// Fill sets Array[0:Count] to Value.
	Fill struct {
		Array *Array
		Count Expr
		Value Expr
	}
	// Prefetch asks for Array[Index:Index+Count] to be brought near, where a later iteration reads it. It has no other effect. Where Beyond
	// is set, these may be places behind the end of the array.
	Prefetch struct {
		Array  *Array
		Index  Expr
		Count  int64
		Beyond bool
	}
	// Drain waits, where If holds, until what the thread has sent past the caches is in memory, so that other threads read it.
	Drain struct{ If Expr }
	// PrefixSum turns Array[0:Count], counts, into running totals in place (inclusive).
	PrefixSum struct {
		Array *Array
		Count Expr
	}
	// Sort sorts the integers Array[Lo:Hi] in ascending order.
	Sort struct {
		Array  *Array
		Lo, Hi Expr
	}
	// SortPlaces sorts Array[0:Count], different numbers from 0 to before Extent. Behind them Array has room for PlacesRoom more.
	// Bits has PlacesBits(Extent) elements and Words PlacesWords(Extent), which are zero before and after.
	SortPlaces struct {
		Array, Bits, Words *Array
		Count, Extent      Expr
	}
	// MarkPlace sets the bit of Place in Bits, and the byte of its word in Words, which may be nil. Where Bits has bytes, it sets that of Place.
	MarkPlace struct {
		Bits, Words *Array
		Place       Expr
	}
	// ListPlaces writes the places that are marked, which are from Lo to before Hi, to Array in ascending order, with room for PlacesRoom
	// more behind them, sets Count, which is nil where nothing reads it, to their number, and clears the marks.
	ListPlaces struct {
		Array, Bits, Words *Array
		Count              *Var
		Lo, Hi             Expr
	}
	// SortBy is one stable pass of a sort of several keys: it rearranges Perm[0:Count], a permutation of
	// 0..Count-1, so that Key[Perm[.]] ascends. Keys are in 0..Extent-1. A team of Threads does it where that is set.
	SortBy struct {
		Perm, Key     *Array
		Count, Extent Expr
		Threads       Expr
	}
	// Return ends the Func with a status: 0 is success.
	Return struct{ Value Expr }
	// Comment explains the statements after it.
	Comment struct{ Text string }
)

// LoopKind says how a For may run.
type LoopKind int

// The kinds of loop.
const (
	Serial   LoopKind = iota
	Shared            // the iterations are divided among the threads of the enclosing Parallel
	Simd              // iterations are independent but for reductions into scalars; may use vector lanes
	Unrolled          // the bounds are constant; write every iteration out
)

// OnStack reports whether s makes a stack array.
func (s *Alloc) OnStack() bool {
	_, ok := s.Size.(*Int)
	return ok && !s.Heap
}

// groupBytes is the width in which processors exchange lanes of vectors cheaply.
const groupBytes = 16

// GroupLanes is how many neighbouring lanes of a vector of type t are a group of its reduction.
func GroupLanes(t Type) int { return min(t.Lanes, groupBytes/t.Elem.Size()) }

// Statuses that a Func returns.
const (
	OK       = 0
	NoMemory = 1
	// DividedByZero is what a Func returns in place of OK where an operator that divides (dtype.Op.Divides) met an integer
	// and a zero.
	DividedByZero = 4
)

func (*Block) stmt()      {}
func (*Decl) stmt()       {}
func (*Assign) stmt()     {}
func (*Store) stmt()      {}
func (*For) stmt()        {}
func (*While) stmt()      {}
func (*If) stmt()         {}
func (*Parallel) stmt()   {}
func (*Alloc) stmt()      {}
func (*Grow) stmt()       {}
func (*Free) stmt()       {}
func (*Fill) stmt()       {}
func (*Prefetch) stmt()   {}
func (*Drain) stmt()      {}
func (*PrefixSum) stmt()  {}
func (*Sort) stmt()       {}
func (*SortPlaces) stmt() {}
func (*MarkPlace) stmt()  {}
func (*ListPlaces) stmt() {}
func (*SortBy) stmt()     {}
func (*Return) stmt()     {}
func (*Comment) stmt()    {}
