package index

import "libsparse/libsparse/dtype"

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
		if e.Function != nil {
			for _, body := range e.Bodies() {
				u, n := elem(body)
				t, number = dtype.Promote(t, u), dtype.Promote(number, n)
			}
			if t != dtype.Invalid && number == dtype.I64 && Library()[e.Function.Name] == e.Function {
				number = dtype.Invalid // numbers in the bodies of relu and not have the type of the argument
			}
			return t, number
		}
		for _, arg := range e.Args {
			u, n := elem(arg)
			t, number = dtype.Promote(t, u), dtype.Promote(number, n)
		}
		if e.Op.NeedsFloat() {
			number = dtype.Promote(number, dtype.F32)
		}
		t, number = e.Op.Result(t), e.Op.Result(number)
	}
	return t, number
}

// ArgType is the type in which the arguments of c are computed if its value has type t. That is t, made complex if an argument is
// complex and real if none is: sqrt(-1) and abs(-1j) depend on it.
func (c *Call) ArgType(t dtype.T) dtype.T {
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
