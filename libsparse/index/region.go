package index

import "libsparse/libsparse/dtype"

// Region says at which coordinates a call has a value, given where its arguments have one. Elsewhere it has none, and an
// argument without a value counts as zero.
type Region int

// The regions.
const (
	// Every argument has a value: products, and the terms of semirings.
	Every Region = iota
	// Some argument has a value: sums.
	Some
	// Only one of the arguments has a value.
	One
	// The first argument has a value.
	Left
	// All coordinates.
	All
)

var regionNames = [...]string{Every: "every", Some: "some", One: "one", Left: "left", All: "all"}

func (r Region) String() string { return regionNames[r] }

// RegionOf is where op is defined when it is written out in an expression, so that the result is what dense tensors would
// give: wherever it may differ from zero.
func RegionOf(op dtype.Op) Region {
	switch {
	case op == dtype.Div:
		return Left
	case op.Annihilates() || op.Arity() == 1:
		return Every
	case op == dtype.First:
		return Left
	default:
		return Some
	}
}

// NewCall applies an operator as an expression writes it.
func NewCall(op dtype.Op, args ...Expr) *Call {
	return &Call{Op: op, Args: args, Region: RegionOf(op)}
}

// Term applies an operator to factors that all have to be stored, as in a semiring's product.
func Term(op dtype.Op, args ...Expr) *Call { return &Call{Op: op, Args: args} }

// Holds reports whether a call over region r is defined, given which arguments are.
func (r Region) Holds(defined ...bool) bool {
	count := 0
	for _, d := range defined {
		if d {
			count++
		}
	}
	switch r {
	case Every:
		return count == len(defined)
	case Some:
		return count > 0
	case One:
		return count == 1
	case Left:
		return defined[0]
	default:
		return true
	}
}
