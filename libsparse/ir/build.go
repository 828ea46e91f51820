package ir

import (
	"math"
	"slices"
	"strconv"

	"libsparse/libsparse/dtype"
)

// Builder makes the variables and arrays of one function. Names are unique within it.
type Builder struct {
	used map[string]bool
	// once are the declarations of what is computed once in a function.
	once []*Decl
}

// NewBuilder is a builder that leaves out the names of slots.
func NewBuilder(slots []Slot) *Builder {
	b := &Builder{used: map[string]bool{}}
	for _, s := range slots {
		b.used[s.Name()] = true
	}
	return b
}

// builderFor is a builder for more variables of f.
func builderFor(slots []Slot, f *Func) *Builder {
	b := NewBuilder(slots)
	EachStmt(f.Body, func(s Stmt) {
		for _, name := range declared(s) {
			b.used[name] = true
		}
		if loop, ok := s.(*For); ok {
			b.used[loop.Var.Name] = true
		}
	})
	return b
}

// Fresh is name, with a number behind it if that is taken.
func (b *Builder) Fresh(name string) string {
	free := name
	for i := 2; b.used[free]; i++ {
		free = name + "_" + strconv.Itoa(i)
	}
	b.used[free] = true
	return free
}

// Index is a new variable for a coordinate, a position or a count.
func (b *Builder) Index(name string) *Var { return &Var{Name: b.Fresh(name), T: Index} }

// Once is a variable with the value of x, which depends on slots alone, in all of a function.
func (b *Builder) Once(name string, x Expr) *Var {
	text := ExprText(x)
	for _, d := range b.once {
		if ExprText(d.Init) == text {
			return d.Var
		}
	}
	d := &Decl{Var: b.Index(name), Init: x, Const: true}
	b.once = append(b.once, d)
	return d.Var
}

// declareOnce is the body of a function with what is computed once declared before the first statement that uses it.
func (b *Builder) declareOnce(body *Block) *Block {
	out := slices.Clone(body.Stmts)
	for _, d := range b.once {
		first := slices.IndexFunc(out, func(s Stmt) bool { return mentions(&For{Var: d.Var, Body: Do(s)}, nil, d.Var.Name) })
		if first >= 0 {
			out = slices.Insert(out, first, Stmt(d))
		}
	}
	return &Block{Stmts: out}
}

// Scalar is a new variable of type t.
func (b *Builder) Scalar(name string, t dtype.T) *Var { return &Var{Name: b.Fresh(name), T: Scalar(t)} }

// Array is a new local array.
func (b *Builder) Array(name string, elem dtype.T) *Array {
	return &Array{Name: b.Fresh(name), Elem: elem}
}

// The functions below are short forms of nodes. They fold nothing: that is the simplifier's.

// Const is an integer of type Index.
func Const(n int64) *Int { return &Int{Value: n, T: dtype.I64} }

// Bool is a boolean literal.
func Bool(set bool) *Int {
	if set {
		return &Int{Value: 1, T: dtype.Bool}
	}
	return &Int{T: dtype.Bool}
}

// Number is a literal of type t; infinities become the extreme integers.
func Number(v float64, t dtype.T) Expr {
	switch {
	case t.IsFloat() || t.IsComplex():
		return &Float{Value: v, T: t}
	case math.IsInf(v, 0):
		lo, hi := t.Range()
		if v < 0 {
			return &Int{Value: lo, T: t}
		}
		return &Int{Value: hi, T: t}
	default:
		return &Int{Value: int64(v), T: t}
	}
}

// Apply is an operator on two values.
func Apply(op dtype.Op, x, y Expr) Expr { return &Binary{Op: op, X: x, Y: y} }

// Add is x + y.
func Add(x, y Expr) Expr { return Apply(dtype.Add, x, y) }

// Sub is x - y.
func Sub(x, y Expr) Expr { return Apply(dtype.Sub, x, y) }

// Mul is x * y.
func Mul(x, y Expr) Expr { return Apply(dtype.Mul, x, y) }

// Div is x / y.
func Div(x, y Expr) Expr { return Apply(dtype.Div, x, y) }

// Min is the smaller of x and y.
func Min(x, y Expr) Expr { return Apply(dtype.Min, x, y) }

// Max is the larger of x and y.
func Max(x, y Expr) Expr { return Apply(dtype.Max, x, y) }

// Next is x + 1.
func Next(x Expr) Expr { return Add(x, Const(1)) }

// AtLeastOne is x, or 1 where that is larger: the size of an allocation, or a divisor.
func AtLeastOne(x Expr) Expr { return Max(x, Const(1)) }

// Remainder is x modulo n, given the quotient.
func Remainder(x, quotient, n Expr) Expr { return Sub(x, Mul(quotient, n)) }

// Is compares x with y.
func Is(x Expr, op Cmp, y Expr) Expr { return &Compare{Op: op, X: x, Y: y} }

// All is the conjunction of conditions.
func All(conds ...Expr) Expr {
	e := conds[0]
	for _, c := range conds[1:] {
		e = Is(e, LogAnd, c)
	}
	return e
}

// Convert is x as a value of type t.
func Convert(x Expr, t dtype.T) Expr {
	if x.Type().Elem == t {
		return x
	}
	return &Cast{X: x, To: t}
}

// At reads an element.
func At(a *Array, at Expr) Expr { return &Load{Array: a, Index: at} }

// IndexAt reads a coordinate or position, which is wider in a register than in memory.
func IndexAt(a *Array, at Expr) Expr { return Convert(At(a, at), dtype.I64) }

// Put writes an element, converted to the type of the array: coordinates and positions are narrower in memory than in a
// register.
func Put(a *Array, at, x Expr) Stmt { return &Store{Array: a, Index: at, Value: Convert(x, a.Elem)} }

// Update reduces x into an element.
func Update(a *Array, at Expr, op dtype.Op, x Expr) Stmt {
	return &Store{Array: a, Index: at, Reduce: op, Value: x}
}

// Declare declares a variable that may change.
func Declare(v *Var, x Expr) Stmt { return &Decl{Var: v, Init: x} }

// Let declares a variable that keeps its value.
func Let(v *Var, x Expr) Stmt { return &Decl{Var: v, Init: x, Const: true} }

// Set changes a variable.
func Set(v *Var, x Expr) Stmt { return &Assign{Var: v, Value: x} }

// Increase adds x to a variable.
func Increase(v *Var, x Expr) Stmt { return &Assign{Var: v, Reduce: dtype.Add, Value: x} }

// Increment adds one to a variable.
func Increment(v *Var) Stmt { return Increase(v, Const(1)) }

// Do runs statements in order.
func Do(stmts ...Stmt) *Block { return &Block{Stmts: stmts} }

// When runs statements where a condition holds.
func When(cond Expr, then ...Stmt) *If { return &If{Cond: cond, Then: Do(then...)} }

// Loop runs statements for v from lo to below hi.
func Loop(v *Var, lo, hi Expr, body ...Stmt) *For {
	return &For{Var: v, Lo: lo, Hi: hi, Step: 1, Body: Do(body...)}
}

// Count runs statements for v from zero to below n.
func Count(v *Var, n Expr, body ...Stmt) *For { return Loop(v, Const(0), n, body...) }

// Repeat runs statements as long as a condition holds.
func Repeat(cond Expr, body ...Stmt) *While { return &While{Cond: cond, Body: Do(body...)} }

// NewArray allocates an array on the heap.
func NewArray(a *Array, size Expr) *Alloc { return &Alloc{Array: a, Size: size, Heap: true} }

// PlacesRoom is how many elements more than it sorts the array of a SortPlaces has: vectors of them are read and written whole.
const PlacesRoom = 8

// PlacesBits is the number of elements of a bitmap of places: one bit for each place, in groups of four words.
func PlacesBits(extent Expr) Expr {
	return Mul(Div(Add(extent, Const(255)), Const(256)), Const(4))
}

// PlacesBytes is the number of elements of a map of places with a byte for each place, in groups of 64.
func PlacesBytes(extent Expr) Expr { return Mul(Div(Add(extent, Const(63)), Const(64)), Const(64)) }

// PlacesWords is the number of bytes that say which words of a bitmap of places are not zero, in groups of 64.
func PlacesWords(extent Expr) Expr {
	return Mul(Div(Add(extent, Const(4095)), Const(4096)), Const(64))
}
