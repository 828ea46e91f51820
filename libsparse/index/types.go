package index

import (
	"cmp"
	"slices"

	"libsparse/libsparse/dtype"
)

// Elem is the type of the values of e: what its operands and numbers promote to, as in torch. It is Invalid where
// patterns alone say nothing.
func Elem(e Expr) dtype.T {
	t, number := elem(e)
	return dtype.PromoteNumber(t, number)
}

// elem promotes the types of operands and of numbers separately: a number only widens the category of an operand's type, as in torch.
func elem(e Expr) (t, number dtype.T) {
	switch e := e.(type) {
	case *Access:
		if !e.Tensor.PatternOnly {
			t = e.Tensor.Elem
		}
	case *Literal:
		number = dtype.F32
		if e.Whole {
			number = dtype.I64
		}
	case *Call:
		return e.elem()
	}
	return t, number
}

// elem is the type of the value of c, as Python has it too: truth values of comparisons, that of one argument where the other is only
// looked up, else what all arguments promote to.
func (c *Call) elem() (t, number dtype.T) {
	own := c.Function != nil && Library()[c.Function.Name] != c.Function
	switch {
	case own:
		return elems(c.Bodies())
	case c.Op.IsLogical(), c.Function != nil && c.Function.logical():
		return dtype.Bool, dtype.Invalid
	case c.Op == "stored": // a one of any type
		return dtype.Invalid, dtype.I64
	case c.Op == dtype.First:
		return elem(c.Args[0])
	case c.Op == dtype.Second:
		return elem(c.Args[1])
	}
	t, number = elems(c.Args)
	if c.Op == dtype.Sum && t == dtype.Bool && counts(c.Args[0]) {
		number = dtype.Promote(number, dtype.I64)
	}
	if c.Function != nil && needsFloat(c.Function.Cases[0].Body) || c.Op.NeedsFloat() {
		number = dtype.Promote(number, dtype.F32)
	}
	return c.Op.Result(t), c.Op.Result(number)
}

// counts reports whether a sum of e counts truth values of comparisons; elements that are bool themselves are true where one of them is.
func counts(e Expr) bool {
	c, ok := e.(*Call)
	switch {
	case !ok, c.Op == dtype.Sum && c.Function == nil:
		return false
	case c.Op.IsLogical(), c.Function != nil && Library()[c.Function.Name] == c.Function && c.Function.logical():
		return true
	default:
		return slices.ContainsFunc(c.Args, counts)
	}
}

// elems is what expressions promote to.
func elems(es []Expr) (t, number dtype.T) {
	for _, e := range es {
		u, n := elem(e)
		t, number = dtype.Promote(t, u), dtype.Promote(number, n)
	}
	return t, number
}

// logical reports whether the values of f are truth values: it is a comparison written out.
func (f *Function) logical() bool {
	c, ok := f.Cases[0].Body.(*Call)
	return ok && c.Op.IsLogical()
}

// ArgType is the type in which the arguments of c are computed if its value has type t. What is compared has a type of its own, as in
// torch, whatever is made of the truth value. Else it is t, made complex if an argument is complex and real if none is: sqrt(-1) and
// abs(-1j) depend on it.
func (c *Call) ArgType(t dtype.T) dtype.T {
	if c.Function == nil && c.Op.IsLogical() {
		t = cmp.Or(c.compared(), t)
	}
	if !t.IsComplex() && !c.Op.IsPart() {
		return t
	}
	for _, arg := range c.Args {
		if Elem(arg).IsComplex() {
			return t.Complex()
		}
	}
	return t.Real()
}

// compared is the type in which the arguments of a comparison are compared: that of all of them, also where parts have no value and are
// left out. It is Invalid where they are patterns and index variables.
func (c *Call) compared() dtype.T {
	return dtype.PromoteNumber(elems(c.wholeArgs())).Accum()
}

// ReadType is the type in which e, of type t, computes with the elements of a tensor; Invalid if it doesn't read them.
func ReadType(e Expr, t dtype.T, tensor *Tensor) (out dtype.T) {
	switch e := e.(type) {
	case *Access:
		if e.Tensor == tensor {
			return t
		}
	case *Call:
		parts := e.Bodies()
		if e.Function == nil {
			parts, t = e.Args, e.ArgType(t)
		}
		for _, part := range parts {
			out = dtype.Promote(out, ReadType(part, t, tensor))
		}
	}
	return out
}
