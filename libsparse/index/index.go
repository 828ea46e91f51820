// Package index is index notation: what is computed, without how. It holds the syntax tree, the parsers of einsum and
// assignment syntax, the printer, the verifier and the dense evaluator that defines the meaning of every program.
//
// It must not know about loops.
package index

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// Var is an index variable.
type Var string

// Tensor is a named tensor of an expression.
type Tensor struct {
	Name   string
	Format format.Format
	// Elem is the type of the values, Index that of the pos and crd arrays.
	Elem, Index dtype.T
	// PatternOnly tensors have no values: each stored element counts as one.
	PatternOnly bool
	// SamePattern is an earlier tensor whose pos and crd arrays this one shares, or nil.
	SamePattern *Tensor
	// Permuted says that the values are in another order than the pattern: that of position p is at perm[p].
	Permuted bool
	// Extents are representative extents of the modes, for the scheduler only; NNZ likewise.
	Extents []int64
	NNZ     int64
}

// Order is the number of modes.
func (t *Tensor) Order() int { return t.Format.Order() }

// Owner is the tensor whose pos and crd arrays t uses: t itself, or the first one that it shares them with.
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
	// Literal is a number: Int if it is Whole, else Value, which is close to it in any case.
	Literal struct {
		Value float64
		Int   int64
		Whole bool
	}
	// Position is the value of an index variable itself.
	Position struct{ Var Var }
	// Missing stands for an argument that is known to have no value; it counts as zero.
	Missing struct{}
	// Call applies an operator, or a Function called Op, where Region says that it is defined.
	Call struct {
		Op       dtype.Op
		Function *Function
		Args     []Expr
		Region   Region
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
	switch e := e.(type) {
	case *Access:
		return []*Access{e}
	case *Call:
		var out []*Access
		for _, a := range e.Args {
			out = append(out, Accesses(a)...)
		}
		return out
	default:
		return nil
	}
}

// Vars lists the variables of the expressions in order of first appearance.
func Vars(exprs ...Expr) []Var {
	var out []Var
	seen := map[Var]bool{}
	for _, e := range exprs {
		for _, a := range Accesses(e) {
			for _, v := range a.Vars {
				if !seen[v] {
					seen[v] = true
					out = append(out, v)
				}
			}
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
		args := make([]Expr, len(e.Args))
		for i, a := range e.Args {
			args[i] = Replace(a, f)
		}
		return e.With(args)
	default:
		return e
	}
}

// Tensors lists the operands in order of first appearance.
func (a *Assignment) Tensors() []*Tensor {
	var out []*Tensor
	seen := map[*Tensor]bool{}
	for _, acc := range Accesses(a.RHS) {
		if !seen[acc.Tensor] {
			seen[acc.Tensor] = true
			out = append(out, acc.Tensor)
		}
	}
	return out
}

// Vars lists the variables: those of the left-hand side first, then the reduced ones.
func (a *Assignment) Vars() []Var { return Vars(a.LHS, a.RHS) }

// Reduced lists the variables that are only on the right.
func (a *Assignment) Reduced() []Var { return a.Vars()[len(Vars(a.LHS)):] }

// Extent is the representative extent of v, 0 if no tensor carries it.
func (a *Assignment) Extent(v Var) int64 {
	for _, acc := range append(Accesses(a.RHS), a.LHS) {
		for m, w := range acc.Vars {
			switch {
			case w != v:
			case acc.Window(m) != nil:
				return acc.Window(m).Extent()
			case m < len(acc.Tensor.Extents):
				return acc.Tensor.Extents[m]
			}
		}
	}
	return 0
}
