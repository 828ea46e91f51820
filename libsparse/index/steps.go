package index

import (
	"slices"
	"strconv"

	"libsparse/libsparse/dtype"
)

// Steps splits an assignment into steps whose additive terms are all reduced over the same variables. A variable that is only on the
// right is reduced in the terms that have it, and one loop nest can't reduce one term and not another. The steps before the last
// compute temporaries, whose formats are inferred later; their names are added to names. An assignment that needs no split is its
// own only step.
//
// A mean becomes a sum divided by the number of its terms. Logical reductions get operands that are converted to truth values.
func (a *Assignment) Steps(names map[string]bool) []*Assignment {
	s := &splitter{assignment: a, names: names}
	if m := a.SoftmaxMean(); m != nil {
		return s.softmaxMean(m)
	}
	rhs := s.rewrite(a.RHS, a.LHS.Vars)
	last := &Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: rhs}
	if len(last.Reduced()) > 0 && a.Reduce == dtype.Mean {
		last.RHS = s.temporary(rhs, a.LHS.Vars)
	}
	if len(last.Reduced()) > 0 {
		last.RHS = Reducible(a.Reduce, last.RHS)
	}
	if a.Reduce == dtype.Mean {
		last.Reduce = dtype.Add
	}
	return append(s.steps, last)
}

// Reducible is e, converted to truth values if op is a logical reduction.
func Reducible(op dtype.Op, e Expr) Expr {
	c, ok := e.(*Call)
	if logical := op == dtype.And || op == dtype.Or || op == dtype.Xor; !logical || ok && c.Op == "truth" {
		return e
	}
	return NewFunctionCall(Library()["truth"], e)
}

// Names is the set of names of a program's tensors.
func Names(program []*Assignment) map[string]bool {
	names := map[string]bool{}
	for _, a := range program {
		for _, t := range append(a.Tensors(), a.LHS.Tensor) {
			names[t.Name] = true
		}
	}
	return names
}

type splitter struct {
	assignment *Assignment
	names      map[string]bool
	steps      []*Assignment
	sparse     func(*Tensor) int // see Narrow
}

// summed lists the variables of e that are not in kept, sorted: those that e is reduced over.
func (s *splitter) summed(e Expr, kept []Var) []Var {
	var out []Var
	for _, v := range uses(e) {
		if !slices.Contains(kept, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// rewrite replaces additive terms by temporaries if the terms of their sum are reduced over different variables. kept are the variables
// that are used outside e, over which it isn't reduced.
func (s *splitter) rewrite(e Expr, kept []Var) Expr {
	c, ok := e.(*Call)
	if !ok {
		return e
	}
	args := slices.Clone(c.Args)
	for i, arg := range c.Args {
		others := slices.Clone(kept)
		for j, other := range c.Args { // factors, and arguments of functions, are reduced together
			if !c.additive() && j != i {
				others = append(others, uses(other)...)
			}
		}
		args[i] = s.rewrite(arg, others)
	}
	if !c.additive() || s.alike(args, kept) {
		return c.With(args)
	}
	for i, arg := range args {
		if len(s.summed(arg, kept)) > 0 {
			args[i] = s.temporary(arg, kept)
		}
	}
	return c.With(args)
}

// additive reports whether the arguments of c are additive terms, each summed by itself.
func (c *Call) additive() bool { return (c.Op == dtype.Add || c.Op == dtype.Sub) && c.written() }

// Added reports whether e only adds and subtracts t, if it reads it at all.
func Added(e Expr, t *Tensor) bool {
	c, ok := e.(*Call)
	if !ok {
		return true
	}
	if !c.additive() {
		return !slices.ContainsFunc(Accesses(c), func(a *Access) bool { return a.Tensor == t })
	}
	return !slices.ContainsFunc(c.Args, func(arg Expr) bool { return !Added(arg, t) })
}

func (s *splitter) alike(args []Expr, kept []Var) bool {
	first := s.summed(args[0], kept)
	return !slices.ContainsFunc(args[1:], func(e Expr) bool { return !slices.Equal(s.summed(e, kept), first) })
}

// temporary adds a step that computes e, reduced over all variables but kept, and returns the access to its result.
func (s *splitter) temporary(e Expr, kept []Var) Expr {
	e = s.carried(e, kept)
	var held []Var
	for _, v := range Vars(e) {
		if slices.Contains(kept, v) {
			held = append(held, v)
		}
	}
	if s.assignment.Reduce != dtype.Mean {
		return s.step(s.assignment.Reduce, e, held)
	}
	total := s.step(dtype.Add, e, held)
	number := s.step(dtype.Add, NewFunctionCall(Library()["stored"], e), held)
	return NewCall(dtype.Div, total, NewCall(dtype.Max, number, &Literal{Value: 1, Int: 1, Whole: true}))
}

// carried prepares e for a step of its own. Index variables that e uses only as values need an operand that gives their extents, so e
// gets one that doesn't change its value.
func (s *splitter) carried(e Expr, kept []Var) Expr {
	for _, v := range positions(e) {
		if slices.Contains(Vars(e), v) {
			continue
		}
		if acc := s.carrier(v, append(uses(e), kept...)); acc != nil {
			e = &Call{Op: dtype.First, Args: []Expr{e, acc}, Region: Argument(0, 2)}
		}
	}
	return e
}

// carrier is an access with v whose other variables are in known. If there is none, a step reduces an operand that has v to v alone. It
// is nil if no operand has v.
func (s *splitter) carrier(v Var, known []Var) *Access {
	var other *Access
	for _, acc := range Accesses(s.assignment.RHS) {
		switch {
		case !slices.Contains(acc.Vars, v):
		case !slices.ContainsFunc(acc.Vars, func(u Var) bool { return !slices.Contains(known, u) }):
			return acc
		default:
			other = acc
		}
	}
	if other == nil {
		return nil
	}
	return s.step(dtype.Add, NewFunctionCall(Library()["stored"], other), []Var{v})
}

func (s *splitter) step(reduce dtype.Op, e Expr, held []Var) *Access {
	access := &Access{Tensor: NewTemporary(s.names, s.assignment), Vars: held}
	s.steps = append(s.steps, &Assignment{LHS: access, Reduce: reduce, RHS: Reducible(reduce, e)})
	return access
}

// NewTemporary is a tensor for a part of a, with a name that isn't in names; it adds the name.
func NewTemporary(names map[string]bool, a *Assignment) *Tensor {
	n := 1
	for names["t"+strconv.Itoa(n)] {
		n++
	}
	name := "t" + strconv.Itoa(n)
	names[name] = true
	return &Tensor{Name: name, Elem: a.LHS.Tensor.Elem}
}
