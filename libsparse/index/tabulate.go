package index

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Tabulate replaces parts of an assignment by temporaries that steps before it compute, in which each element is computed once: functions in
// A(i,j) * tanh(d(j)) * X(j,k) are computed at each entry of A otherwise. worth tells of a function that reads elements alone whether it is
// one. The names of temporaries are added to names.
func (a *Assignment) Tabulate(names map[string]bool, worth func(c *Call) bool) (steps []*Assignment, rest *Assignment) {
	var walk func(e Expr) Expr
	walk = func(e Expr) Expr {
		c, ok := e.(*Call)
		if !ok {
			return e
		}
		if OfElements(c, Vars(c)) && worth(c) {
			access := &Access{Tensor: NewTemporary(names, a), Vars: Vars(c)}
			steps = append(steps, &Assignment{LHS: access, Reduce: dtype.Add, RHS: c})
			return access
		}
		args := make([]Expr, len(c.Args))
		for i, arg := range c.Args {
			args[i] = walk(arg)
		}
		return c.With(args)
	}
	rhs := walk(a.RHS)
	if len(steps) == 0 {
		return nil, a
	}
	return steps, &Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: rhs}
}

// Computes reports whether a call, an argument or the body of a function has an operator of a kind.
func (c *Call) Computes(kind func(op dtype.Op) bool) bool {
	return c.applies(kind) || slices.ContainsFunc(c.Args, func(e Expr) bool {
		part, ok := e.(*Call)
		return ok && part.Computes(kind)
	})
}

// applies reports whether an operator of a kind is applied by a call itself, whatever its arguments are. Powers that are products are none.
func (c *Call) applies(kind func(op dtype.Op) bool) bool {
	if c.Function != nil {
		return slices.ContainsFunc(c.Function.Cases, func(k Case) bool {
			body, ok := k.Body.(*Call)
			return ok && body.Computes(kind)
		})
	}
	if c.Op == dtype.Pow {
		if n, ok := constant(c.Args[1]); ok && dtype.Multiplies(n) {
			return false
		}
	}
	return kind(c.Op)
}
