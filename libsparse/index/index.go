// Package index is index notation: the computation without an order. It holds the syntax tree, the parsers of einsum and
// assignment syntax, the printer, the verifier and the dense evaluator that defines the meaning of every program.
//
// It must not know about loops.
package index

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Var is an index variable.
type Var string

// Tensor is a named tensor of an expression: notation, which never changes. How it is stored is in a table beside it, see bind.Table.
type Tensor struct {
	Name string
	// Elem is the type of the values.
	Elem dtype.T
	// PatternOnly tensors have no values: each stored element counts as one.
	PatternOnly bool
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
		whole    []Expr // the arguments before parts of them were left out, which say what type is compared; nil if none were
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
	EachAccess(e, func(a *Access) bool {
		out = append(out, a)
		return true
	})
	return out
}

// EachAccess calls visit for the accesses of e from left to right, until it returns false, which EachAccess then does too.
func EachAccess(e Expr, visit func(*Access) bool) bool {
	switch e := e.(type) {
	case *Access:
		return visit(e)
	case *Call:
		for _, arg := range e.Args {
			if !EachAccess(arg, visit) {
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
		EachAccess(e, func(a *Access) bool {
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

// Uses lists the variables of the expressions, including those that are used as values.
func Uses(exprs ...Expr) []Var {
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
	EachAccess(a.RHS, func(acc *Access) bool {
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
