package schedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// addsZeros reports whether f stores elements beside the entries that a tensor is made from: whole blocks, diagonals, or a dense level below a sparse one.
func addsZeros(f format.Format) bool {
	last := f.Levels[len(f.Levels)-1].Props()
	return !f.Dense() && (last.Full || last.Filling)
}

// noticed reports whether a computes something else where zeros are stored beside the entries of t.
func noticed(a bind.Assignment, t *index.Tensor) bool {
	e := ofZeros(a.RHS, t)
	return e == differs || e != unread && a.Reduce != "" && a.Reduce != dtype.Add
}

// An effect is what becomes of an expression where an element of a tensor is a stored zero, beside what it is without the element.
type effect int

const (
	unread  effect = iota // the expression doesn't have the tensor
	zero                  // 0, and no value without the element
	same                  // what it is without the element
	differs               // something else, or nobody knows
)

func ofZeros(e index.Expr, t *index.Tensor) effect {
	switch e := e.(type) {
	case *index.Access:
		switch {
		case e.Tensor != t:
			return unread
		case t.PatternOnly:
			return differs
		default:
			return zero
		}
	case *index.Call:
		args := make([]effect, len(e.Args))
		for i, arg := range e.Args {
			args[i] = ofZeros(arg, t)
		}
		return ofCall(e, args)
	default:
		return unread
	}
}

// ofCall is the effect on a call whose arguments have these.
func ofCall(c *index.Call, args []effect) effect {
	of := slices.Max(args)
	zeros := slices.Contains(args, zero)
	everywhere := c.Region == index.Everywhere(len(args)) && (c.Function == nil || len(c.Function.Cases) == 1)
	switch {
	case of == unread || of == differs:
		return of
	case c.Multiplies() && zeros:
		return zero
	case of == zero && slices.Min(args) == zero && !c.Region.Has(0) && keepsZeros(c):
		return zero
	case everywhere || !zeros:
		return same
	case (c.Op == dtype.Add || c.Op == dtype.Sub) && c.Function == nil && !c.Region.IsProduct():
		return same
	default:
		return differs
	}
}

// keepsZeros reports whether a call makes zero of zeros: all functions of the library do that have no value everywhere, but one.
func keepsZeros(c *index.Call) bool {
	if c.Function == nil {
		return c.Op.KeepsZeros()
	}
	return c.Function == index.Library()[c.Function.Name] && c.Function.Name != "stored"
}
