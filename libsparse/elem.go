package libsparse

import (
	"cmp"
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
)

// resultElem is the type of the result: the one that the request names, else the promoted type of the operands.
func resultElem(a *index.Assignment, elem string) (dtype.T, error) {
	promoted := infer.Elem(a)
	if elem == "" {
		return promoted, nil
	}
	t, ok := dtype.Parse(elem)
	switch {
	case !ok:
		return t, diag.Errorf(diag.Dtype, "the result's dtype %q is none of %v", elem, dtype.All())
	case !t.Holds(promoted) && (a.Reduce == dtype.Mean || index.Elem(a.RHS) != dtype.Invalid): // patterns count as ones of any type
		return t, diag.Errorf(diag.Dtype, "the result's dtype %s can't hold values of type %s, which the operands of %s promote to", t, promoted, a)
	}
	return t, nil
}

// typed is a with a result of its type. It refuses what values of that type don't have.
func typed(a *index.Assignment, elem string) (*index.Assignment, error) {
	result := *a.LHS.Tensor
	var err error
	if result.Elem, err = resultElem(a, elem); err != nil {
		return nil, err
	}
	if err := checkOperators(a.RHS, result.Elem.Accum()); err != nil {
		return nil, err
	}
	a = a.Into(&result)
	return a, checkReduction(a)
}

// stepElems are the types of the results of the steps that an assignment is divided into. The last one has the type t; a temporary has
// the type in which later steps read it, which is that of a comparison's arguments where it is compared.
func stepElems(steps []*index.Assignment, t dtype.T) []dtype.T {
	own, typed := index.Binding{}, slices.Clone(steps)
	for i, step := range steps[:len(steps)-1] {
		typed[i] = own.Assignment(step)
		result := *step.LHS.Tensor
		result.Elem = ownElem(typed[i])
		own[step.LHS.Tensor] = &result
	}
	typed[len(steps)-1] = own.Assignment(steps[len(steps)-1])
	out := make([]dtype.T, len(steps))
	out[len(steps)-1] = t
	for i := len(steps) - 2; i >= 0; i-- {
		read := dtype.Invalid
		for j := i + 1; j < len(steps); j++ {
			read = dtype.Promote(read, index.ReadType(typed[j].RHS, out[j].Accum(), own[steps[i].LHS.Tensor]))
		}
		out[i] = stepElem(typed[i], cmp.Or(read, t))
	}
	return out
}

// stepElem is the type of a temporary that is read in type t.
func stepElem(a *index.Assignment, t dtype.T) dtype.T {
	own := ownElem(a)
	switch {
	case counts(a):
		return own
	case own.IsComplex() && !t.IsComplex():
		return t.Complex()
	case t.IsComplex() && !own.IsComplex():
		return t.Real()
	case index.Elem(a.RHS) != dtype.Invalid && !t.Holds(own): // a function makes something else of it
		return own.Accum()
	default:
		return t.Accum()
	}
}

// ownElem is the type that the values of a step have by themselves.
func ownElem(a *index.Assignment) dtype.T {
	if counts(a) {
		return dtype.I64 // a number of terms is exact
	}
	return infer.Elem(a)
}

func counts(a *index.Assignment) bool {
	c, ok := a.RHS.(*index.Call)
	return ok && c.Function == index.Library()["stored"]
}

// checkOperators refuses operators that values of type t don't have, and numbers that t can't hold.
func checkOperators(e index.Expr, t dtype.T) error {
	switch e := e.(type) {
	case *index.Literal:
		return checkLiteral(e, t)
	case *index.Call:
		for _, body := range e.Bodies() {
			if err := checkOperators(body, t); err != nil {
				return err
			}
		}
		if e.Function != nil {
			return nil
		}
		u := e.ArgType(t)
		if err := checkOperator(e, u); err != nil {
			return err
		}
		for _, arg := range e.Args {
			if err := checkOperators(arg, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOperator refuses the operator of e if values of type u don't have it.
func checkOperator(e *index.Call, u dtype.T) error {
	switch {
	case u.IsComplex() && !e.Op.On(u):
		return diag.Errorf(diag.Dtype, "%s: %s is not defined for complex values, as in torch; take real(...), imag(...) or abs(...) first", e, e.Op)
	case e.Op == dtype.Imag && !u.IsComplex():
		return diag.Errorf(diag.Dtype, "%s: imag is only defined for complex values, not %s", e, u)
	case e.Op.NeedsFloat() && (!e.Op.On(u) || e.Op == dtype.Div && u.IsInt()):
		return diag.Errorf(diag.Dtype, "%s needs floating values, not %s; convert the operands with .to(torch.float32)", e, u)
	case e.Op == dtype.Pow && u.IsInt() && negative(e.Args[1]):
		return diag.Errorf(diag.Dtype, "%s: integers have no negative powers, as in torch; convert the operands with .to(torch.float32)", e)
	case !e.Op.On(u):
		return diag.Errorf(diag.Dtype, "%s is not defined for %s; convert the operands first", e, u)
	default:
		return nil
	}
}

// negative reports whether e is a number below zero.
func negative(e index.Expr) bool {
	c, ok := e.(*index.Call)
	if !ok || c.Op != dtype.Neg {
		return false
	}
	l, ok := c.Args[0].(*index.Literal)
	return ok && l.Value > 0
}

func checkLiteral(l *index.Literal, t dtype.T) error {
	if t.IsFloat() || t.IsComplex() {
		return nil
	}
	lo, hi := t.Range()
	if !l.Whole || l.Int < lo || l.Int > hi {
		return diag.Errorf(diag.Dtype, "the number %s does not fit values of type %s; convert the operands with .to(torch.float32)", l, t)
	}
	return nil
}

// checkReduction refuses to order complex values.
func checkReduction(a *index.Assignment) error {
	if t := a.LHS.Tensor.Elem; (len(a.Reduced()) > 0 || a.Reduce != dtype.Add) && !a.Reduce.On(t) {
		return diag.Errorf(diag.Dtype, "%s: %s is not defined for values of type %s, as in torch; reduce their absolute values or parts", a, a.Reduce, t)
	}
	return nil
}
