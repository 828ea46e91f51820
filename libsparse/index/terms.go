package index

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Terms are the additive terms of e, with the factors of sums distributed over those: (A(i,j) + B(i,j)) * X(j,k) has two. It is e alone where there are
// more than most.
func Terms(e Expr, most int) []Expr {
	if out := terms(e, most); out != nil {
		return out
	}
	return []Expr{e}
}

// mapTerms is e with what f makes of each of its additive terms, as they are written.
func mapTerms(e Expr, f func(Expr) Expr) Expr {
	c, ok := e.(*Call)
	if !ok || !c.additive() && !c.sums() && (c.Op != dtype.Neg || !c.written()) {
		return f(e)
	}
	args := make([]Expr, len(c.Args))
	for i, arg := range c.Args {
		args[i] = mapTerms(arg, f)
	}
	return c.With(args)
}

// sum is the sum of terms.
func sum(terms []Expr) Expr {
	out := terms[0]
	for _, e := range terms[1:] {
		out = NewCall(dtype.Add, out, e)
	}
	return out
}

// terms are the additive terms of e, nil where there are more than most: a product of n sums has at least 2^n.
func terms(e Expr, most int) []Expr {
	c, ok := e.(*Call)
	if !ok || !c.additive() && !c.distributes() {
		return []Expr{e}
	}
	args, number := make([][]Expr, len(c.Args)), 1
	for i, arg := range c.Args {
		args[i] = []Expr{arg}
		if i == 0 || c.Op != dtype.Div {
			args[i] = terms(arg, most)
		}
		if number *= len(args[i]); c.additive() {
			number = len(slices.Concat(args...))
		}
		if args[i] == nil || number > most {
			return nil
		}
	}
	switch c.Op {
	case dtype.Add:
		return slices.Concat(args...)
	case dtype.Sub:
		return append(args[0], negated(args[1])...)
	case dtype.Neg:
		return negated(args[0])
	}
	var out []Expr
	for _, x := range args[0] {
		for _, y := range args[1] {
			out = append(out, c.With([]Expr{x, y}))
		}
	}
	return out
}

func negated(terms []Expr) []Expr {
	out := make([]Expr, len(terms))
	for i, t := range terms {
		out[i] = NewCall(dtype.Neg, t)
	}
	return out
}
