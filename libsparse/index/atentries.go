package index

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Entries says what AtEntries computes by steps of their own.
type Entries struct {
	// Sparse and Together are as for StepsAmong.
	Sparse   func(*Tensor) int
	Together func(x, y *Access) bool
	// Function tells whether a function that is approximated is computed at the entries of an access to a sparse tensor from nothing else, where full
	// says that it reads nothing else as it is written; Values whether a step computes those at the entries of an access.
	Function func(at *Access, f *Call, full bool) bool
	Values   func(at *Access) bool
}

// AtEntries replaces factors of products at the entries of a sparse tensor by temporaries with those entries, which steps before compute: a
// function in A(i,j) * exp(e(i) + d(j)) * X(j,k) is a call for each entry beside the loop over k, and a vector of neighbours in a loop over
// entries alone. That one has no rows if all that it reads has the entries, so that e(i) + d(j) is a step before it. The names of temporaries are
// added to names.
func (a *Assignment) AtEntries(names map[string]bool, wanted *Entries) (steps []*Assignment, rest *Assignment) {
	s := &entrySplitter{splitter{assignment: a, names: names, sparse: wanted.Sparse, together: wanted.Together}, wanted}
	rhs := s.walk(a.RHS)
	if len(s.steps) == 0 {
		return nil, a
	}
	return s.steps, &Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: rhs}
}

type entrySplitter struct {
	splitter
	wanted *Entries
}

// walk is e with temporaries. Where it computes no such function it has none, however long it is.
func (s *entrySplitter) walk(e Expr) Expr {
	c, ok := e.(*Call)
	if !ok || !c.Computes(dtype.Op.Approximates) {
		return e
	}
	all := Factors(c)
	at := s.entriesOf(c, all)
	if at == nil {
		args := make([]Expr, len(c.Args))
		for i, arg := range c.Args {
			args[i] = s.walk(arg)
		}
		return c.With(args)
	}
	var values, others []Expr
	for _, f := range all {
		switch {
		case s.isFunction(f, at):
			values = append(values, s.apart(f.(*Call), at, c))
		case OfElements(f, at.Vars) && s.full(f, at):
			values = append(values, f)
		default:
			others = append(others, s.walk(f))
		}
	}
	if s.wanted.Values(at) && s.requires(Product(values), at) {
		values = []Expr{s.step(dtype.Add, Product(values), at.Vars)}
	}
	return Product(append(values, others...))
}

// entriesOf is an access to a sparse tensor without whose entries a product has no value, where it has a function that is wanted; nil if there is none.
func (s *entrySplitter) entriesOf(c *Call, all []Expr) *Access {
	for _, at := range Accesses(c) {
		if s.sparse(at.Tensor) == 0 || at.Windowed() || len(Vars(at)) < len(at.Vars) || !s.requires(c, at) {
			continue
		}
		if slices.ContainsFunc(all, func(f Expr) bool { return s.isFunction(f, at) && (s.wanted.Values(at) || !s.full(f, at)) }) {
			return at
		}
	}
	return nil
}

// isFunction reports whether f is a function at the entries of an access that is wanted.
func (s *entrySplitter) isFunction(f Expr, at *Access) bool {
	c, ok := f.(*Call)
	return ok && OfElements(f, at.Vars) && s.wanted.Function(at, c, s.full(f, at))
}

// apart is c, a part of whole, with steps for what functions in it are applied to, if that doesn't have the entries itself.
func (s *entrySplitter) apart(c *Call, at *Access, whole *Call) Expr {
	args := slices.Clone(c.Args)
	for i, arg := range args {
		call, ok := arg.(*Call)
		switch {
		case s.full(arg, at):
		case ok && (call.Computes(dtype.Op.Approximates) || !c.applies(dtype.Op.Approximates)):
			args[i] = s.apart(call, at, whole)
		case c.applies(dtype.Op.Approximates):
			args[i] = s.atPlaces(arg, at, whole)
		}
	}
	return c.With(args)
}

// atPlaces is the result of a step that computes e, a part of whole, at the entries of an access, which e may read itself. A step reads each access
// once. So another one of whole with the same entries says where they are, such as that of stored in exp(A(i,j) + e(i)) * stored(A(i,j)). Where e has
// no value elsewhere, nothing has to say it.
func (s *entrySplitter) atPlaces(e Expr, at *Access, whole *Call) Expr {
	if s.requires(e, at) {
		return s.step(dtype.Add, e, at.Vars)
	}
	read := Accesses(e)
	for _, a := range Accesses(whole) {
		if slices.Equal(a.Vars, at.Vars) && !a.Windowed() && s.sparse(a.Tensor) > 0 && s.together(a, at) && !slices.Contains(read, a) {
			return s.step(dtype.Add, NewCall(dtype.Mul, NewFunctionCall(Library()["stored"], a), e), at.Vars)
		}
	}
	return e
}

// full reports whether e is made of numbers and of elements at the entries of an access.
func (s *entrySplitter) full(e Expr, at *Access) bool {
	other := func(a *Access) bool {
		return !slices.Equal(a.Vars, at.Vars) || s.sparse(a.Tensor) == 0 || !s.together(a, at)
	}
	return len(positions(e)) == 0 && !slices.ContainsFunc(Accesses(e), other)
}

// Factors are the factors of e: itself if it is no product.
func Factors(e Expr) []Expr {
	if c, ok := e.(*Call); ok && c.Multiplies() {
		return append(Factors(c.Args[0]), Factors(c.Args[1])...)
	}
	return []Expr{e}
}

// Product is the product of factors.
func Product(factors []Expr) Expr {
	out := factors[0]
	for _, f := range factors[1:] {
		out = NewCall(dtype.Mul, out, f)
	}
	return out
}

// OfElements reports whether e is made of elements at places that vars tell, of numbers, and of vars themselves.
func OfElements(e Expr, vars []Var) bool {
	switch e := e.(type) {
	case *Access:
		other := func(v Var) bool { return !slices.Contains(vars, v) }
		return !e.Windowed() && len(Vars(e)) == len(e.Vars) && !slices.ContainsFunc(e.Vars, other)
	case *Literal:
		return true
	case *Position:
		return slices.Contains(vars, e.Var)
	case *Call:
		return e.Op != dtype.Sum && !e.Op.Pools() && !slices.ContainsFunc(e.Args, func(arg Expr) bool { return !OfElements(arg, vars) })
	default:
		return false
	}
}
