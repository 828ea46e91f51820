package index

import (
	"maps"
	"slices"
	"strconv"

	"libsparse/libsparse/dtype"
)

// Steps splits an assignment into steps that are each reduced as a whole. A sum over a variable that is only on the right is taken in
// the additive terms that have it, and one loop nest can't sum one term and not another. Factors distribute over such terms, so that
// 2 * (A(i,j) * x(j) + b(i)) has two; an argument of a function is a part of the term that the call is in, unless it is written
// sum(...). Other reductions reduce the whole right side. The steps before the last compute temporaries, whose formats are inferred
// later; their names are added to names. An assignment that needs no split is its own only step.
//
// A mean becomes a sum divided by the number of its terms. Logical reductions get operands that are converted to truth values.
func (a *Assignment) Steps(names map[string]bool) []*Assignment { return a.StepsAmong(names, nil, nil) }

// StepsAmong is Steps, given how many levels of a tensor don't store every coordinate, and which accesses have the same entries: a sum that is
// only read where one stores an entry is computed there alone, as in A(i,j) * exp(sum(X(i,k) * Y(j,k))), where it would be a dense matrix else.
func (a *Assignment) StepsAmong(names map[string]bool, sparse func(*Tensor) int, together func(x, y *Access) bool) []*Assignment {
	s := &splitter{assignment: a, names: names, sparse: sparse, together: together, term: a.RHS}
	if m := a.Pooling(); m != nil {
		return s.pooling(m)
	}
	terms := s.sums
	if a.Reduce == dtype.Add || a.Reduce == "" {
		terms = s.rewrite
	}
	rhs := terms(a.RHS, a.LHS.Vars)
	last := &Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: rhs}
	if len(last.Reduced()) > 0 && a.Reduce == dtype.Mean {
		last.RHS = s.mean(rhs, a.LHS.Vars)
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
	sparse     func(*Tensor) int // see Narrow and StepsAmong
	together   func(x, y *Access) bool
	term       Expr // the additive term that is being split
}

// summed lists the variables of e that are not in kept, sorted: those that e is reduced over.
func (s *splitter) summed(e Expr, kept []Var) []Var {
	var out []Var
	for _, v := range Uses(e) {
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
	switch {
	case !ok:
		return e
	case c.sums():
		return s.rewrite(c.Args[0], kept)
	case !c.additive() && !c.distributes():
		return s.sums(e, kept)
	}
	args := slices.Clone(c.Args)
	for i, arg := range c.Args {
		switch others := append(slices.Clone(kept), besides(c, i)...); {
		case c.additive():
			args[i] = s.rewriteTerm(e, arg, kept)
		case c.Op == dtype.Div && i == 1:
			args[i] = s.sums(arg, others)
		default:
			args[i] = s.rewrite(arg, others)
		}
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

// rewriteTerm rewrites arg, a term of the sum e: an additive term of the whole right side where e is all of that.
func (s *splitter) rewriteTerm(e, arg Expr, kept []Var) Expr {
	whole := s.term
	if whole == e {
		s.term = arg
	}
	out := s.rewrite(arg, kept)
	s.term = whole
	return out
}

// sums replaces the sums that e writes out, as sum(...), by temporaries.
func (s *splitter) sums(e Expr, kept []Var) Expr {
	c, ok := e.(*Call)
	if !ok {
		return e
	}
	if c.sums() {
		arg := s.rewrite(c.Args[0], kept)
		if len(s.summed(arg, kept)) > 0 {
			arg = s.temporary(arg, kept)
		}
		return arg
	}
	args := slices.Clone(c.Args)
	for i, arg := range c.Args {
		args[i] = s.sums(arg, append(slices.Clone(kept), besides(c, i)...))
	}
	return c.With(args)
}

// besides lists the variables of all arguments of c but one.
func besides(c *Call, i int) []Var { return append(Uses(c.Args[:i]...), Uses(c.Args[i+1:]...)...) }

// distributes reports whether c distributes over the additive terms of its arguments: a product, the opposite, a quotient over its first.
func (c *Call) distributes() bool {
	return (c.Op == dtype.Mul || c.Op == dtype.Div || c.Op == dtype.Neg) && c.written()
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

// temporary adds a step that computes e, summed over all variables but kept, and returns the access to its result.
func (s *splitter) temporary(e Expr, kept []Var) Expr {
	e, held := s.held(e, kept)
	if entries := s.entries(e, held); entries != nil {
		e = NewCall(dtype.Mul, NewFunctionCall(Library()["stored"], entries), e)
	}
	return s.step(dtype.Add, e, held)
}

// entries is an access to a sparse tensor that tells where e, which is dense, is read: its term has a value only where that stores an entry. It
// is nil if there is none with variables among those in held.
func (s *splitter) entries(e Expr, held []Var) (found *Access) {
	stored := func(a *Access) bool { return s.sparse != nil && s.sparse(a.Tensor) > 0 }
	if slices.ContainsFunc(Accesses(e), stored) {
		return nil
	}
	for _, a := range Accesses(s.term) {
		other := func(v Var) bool { return !slices.Contains(held, v) }
		if stored(a) && !a.Windowed() && !slices.ContainsFunc(a.Vars, other) && (found == nil || len(a.Vars) > len(found.Vars)) && s.requires(s.term, a) {
			found = a
		}
	}
	return found
}

// requires reports whether e has no value where an access has none.
func (s *splitter) requires(e Expr, a *Access) bool {
	switch e := e.(type) {
	case *Access:
		return !e.Windowed() && s.sparse(e.Tensor) > 0 && slices.Equal(e.Vars, a.Vars) && s.together(e, a)
	case *Call:
		sets := e.Region.Least()
		return len(sets) > 0 && !slices.ContainsFunc(sets, func(set uint) bool {
			for k, arg := range e.Args {
				if set&(1<<k) != 0 && s.requires(arg, a) {
					return false
				}
			}
			return true
		})
	default:
		return false
	}
}

// held prepares e for a step of its own, and lists the variables of the step's result.
func (s *splitter) held(e Expr, kept []Var) (Expr, []Var) {
	e = s.carried(e, kept)
	return e, slices.DeleteFunc(Vars(e), func(v Var) bool { return !slices.Contains(kept, v) })
}

// mean adds steps for the sum of e and for the number of its terms. A sum would take the additive terms of e one by one where they have
// different variables, so that these get a step of their own first.
func (s *splitter) mean(e Expr, kept []Var) Expr {
	e, held := s.held(e, kept)
	whole := &Assignment{LHS: &Access{Tensor: s.assignment.LHS.Tensor, Vars: held}, Reduce: dtype.Add, RHS: e}
	if len(whole.Steps(maps.Clone(s.names))) > 1 {
		e = s.step(dtype.Add, e, Vars(e))
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
		if acc := s.carrier(v, append(Uses(e), kept...)); acc != nil {
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
