// Package index is index notation: the computation without an order. It holds the syntax tree, the parsers of einsum and
// assignment syntax, the printer, the verifier and the dense evaluator that defines the meaning of every program.
//
// It must not know about loops.
package index

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// Var is an index variable.
type Var string

// Tensor is a named tensor of an expression. It never changes once an expression reads it: a stage that knows more of its storage or
// statistics binds another tensor in its place, see Binding.
type Tensor struct {
	Name string
	// Elem is the type of the values.
	Elem dtype.T
	// PatternOnly tensors have no values: each stored element counts as one.
	PatternOnly bool
	// Temporary says that the tensor is the result of a step, which no user sees, so that its format may depend on estimates.
	Temporary bool
	Storage
	Statistics
}

// Storage is how a tensor is stored.
type Storage struct {
	Format format.Format
	// Index is the type of the pos and crd arrays.
	Index dtype.T
	// SamePattern is an earlier tensor whose pos and crd arrays this one shares, or nil.
	SamePattern *Tensor
	// Permuted says that the values are in another order than the pattern: the value at position p is stored at perm[p].
	Permuted bool
}

// Statistics are the known sizes of a tensor, for the scheduler and the choice of formats only.
type Statistics struct {
	// Extents are representative extents of the modes, NNZ a representative number of entries.
	Extents []int64
	NNZ     int64
	// Filled is the number of coordinates of the first level with entries, 0 if it isn't known.
	Filled int64
	// Skew says for each level how unevenly entries are spread over its coordinates: the sum of the squares of the numbers of entries,
	// divided by that sum for equal numbers. It is empty if it isn't known. Reach is the distance of entries from the diagonal, as
	// a share of Whole; it is 0 if it isn't known.
	Skew  []int64
	Reach int64
}

// Whole is the unit of Statistics.Reach: that of a row whose entries go to an end of the matrix.
const Whole = 1 << 10

// Order is the number of modes.
func (t *Tensor) Order() int { return t.Format.Order() }

// Owner is the tensor whose pos and crd arrays t uses: t itself, or the first of the tensors that share them.
func (t *Tensor) Owner() *Tensor {
	for t.SamePattern != nil {
		t = t.SamePattern
	}
	return t
}

// Expr is the right-hand side of an assignment. The set of nodes is closed.
type Expr interface{ expr() }

type (
	// Access is T(v0, v1, ...): one variable a mode. Windows are nil, or have for each mode the part that is accessed, nil
	// for all of it.
	Access struct {
		Tensor  *Tensor
		Vars    []Var
		Windows []*Window
	}
	// Literal is a number: Int if Whole is set, else Value. Value of a whole number is the closest float.
	Literal struct {
		Value float64
		Int   int64
		Whole bool
	}
	// Position is the value of an index variable itself.
	Position struct{ Var Var }
	// Missing takes the place of an argument that is known to have no value; it counts as zero.
	Missing struct{}
	// Call applies an operator, or a Function called Op, where Region says that it is defined.
	Call struct {
		Op       dtype.Op
		Function *Function
		Args     []Expr
		Region   Region
		replaced *Call // the comparison whose arguments were replaced by these
	}
)

func (*Access) expr()  {}
func (*Literal) expr() {}
func (*Missing) expr() {}

func (*Position) expr() {}
func (*Call) expr()     {}

// Assignment is LHS = RHS, where variables that are only on the right are reduced by Reduce.
type Assignment struct {
	LHS    *Access
	Reduce dtype.Op
	RHS    Expr
}

// Accesses lists the accesses of e from left to right.
func Accesses(e Expr) []*Access {
	if a, ok := e.(*Access); ok {
		return []*Access{a}
	}
	out := make([]*Access, 0, 4)
	eachAccess(e, func(a *Access) bool {
		out = append(out, a)
		return true
	})
	return out
}

// eachAccess calls visit for the accesses of e from left to right, until it returns false, which eachAccess then does too.
func eachAccess(e Expr, visit func(*Access) bool) bool {
	switch e := e.(type) {
	case *Access:
		return visit(e)
	case *Call:
		for _, arg := range e.Args {
			if !eachAccess(arg, visit) {
				return false
			}
		}
	}
	return true
}

// Vars lists the variables of the expressions in order of first appearance.
func Vars(exprs ...Expr) []Var {
	out := make([]Var, 0, 8)
	for _, e := range exprs {
		eachAccess(e, func(a *Access) bool {
			for _, v := range a.Vars {
				if !slices.Contains(out, v) { // there are few
					out = append(out, v)
				}
			}
			return true
		})
	}
	return out
}

// uses lists the variables of the expressions, including those that are used as values.
func uses(exprs ...Expr) []Var {
	out := Vars(exprs...)
	for _, e := range exprs {
		for _, v := range positions(e) {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// positions lists the variables that e uses as values.
func positions(e Expr) (out []Var) {
	switch e := e.(type) {
	case *Position:
		return []Var{e.Var}
	case *Call:
		for _, arg := range e.Args {
			out = append(out, positions(arg)...)
		}
	}
	return out
}

// Replace returns e with every access that f maps to a non-nil expression replaced by it.
func Replace(e Expr, f func(*Access) Expr) Expr {
	switch e := e.(type) {
	case *Access:
		if r := f(e); r != nil {
			return r
		}
		return e
	case *Call:
		var args []Expr // nil as long as none has changed
		for i, a := range e.Args {
			r := Replace(a, f)
			if r != a && args == nil {
				args = slices.Clone(e.Args)
			}
			if args != nil {
				args[i] = r
			}
		}
		if args == nil {
			return e
		}
		return e.With(args)
	default:
		return e
	}
}

// Tensors lists the operands in order of first appearance.
func (a *Assignment) Tensors() []*Tensor {
	var out []*Tensor
	eachAccess(a.RHS, func(acc *Access) bool {
		if !slices.Contains(out, acc.Tensor) {
			out = append(out, acc.Tensor)
		}
		return true
	})
	return out
}

// Vars lists the variables of the left-hand side, then the reduced variables.
func (a *Assignment) Vars() []Var { return Vars(a.LHS, a.RHS) }

// Reduced lists the variables that are only on the right.
func (a *Assignment) Reduced() []Var {
	return slices.DeleteFunc(Vars(a.RHS), func(v Var) bool { return slices.Contains(a.LHS.Vars, v) })
}

// Extent is the representative extent of v, 0 if no tensor carries it.
func (a *Assignment) Extent(v Var) (n int64) {
	find := func(acc *Access) bool {
		for m, w := range acc.Vars {
			switch {
			case w != v:
			case acc.Window(m) != nil:
				n = acc.Window(m).Extent()
				return false
			case m < len(acc.Tensor.Extents):
				n = acc.Tensor.Extents[m]
				return false
			}
		}
		return true
	}
	if eachAccess(a.RHS, find) {
		find(a.LHS)
	}
	return n
}
