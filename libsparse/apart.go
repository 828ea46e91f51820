package libsparse

import (
	"slices"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// termsGain is how many times as much a product with a sum has to cost as those with its terms for it to be distributed: that changes how the sum is
// rounded.
const termsGain = 4

// apart takes sums out of a that don't depend on all variables for which the terms beside them are summed. A product with a sum is distributed for that
// where its terms cost far less: (A(i,j) + d(j)) * X(j,k) has a value at each i and j, where A(i,j) * X(j,k) has some for the entries of A, and
// d(j) * X(j,k) is the same for each i.
func (c *Compilation) apart(a *index.Assignment, names map[string]bool) (steps []*index.Assignment, rest *index.Assignment) {
	if c.single() || c.Request.Output.Step {
		return nil, a
	}
	a = a.Distributed(func(product index.Expr, terms []index.Expr) bool {
		cost := 0.0
		for _, term := range terms {
			cost += c.cost(a, term)
		}
		return c.cost(a, product) >= termsGain*cost
	})
	sums, rest := a.Apart(names)
	if len(sums) == 0 {
		return nil, a
	}
	var parts []*index.Assignment
	for _, sum := range sums {
		parts = append(parts, sum.StepsAmong(names, c.sparseLevels, c.Storage.Together)...)
	}
	steps = c.paths(parts, stepElems(append(slices.Clone(parts), rest), a.LHS.Tensor.Elem), a, names)
	return steps, c.results.Assignment(rest)
}

// cost is what it costs to sum e, a term of a, for those variables of the result that it has; it is 0 where there is nothing to sum, or more than one step does.
func (c *Compilation) cost(a *index.Assignment, e index.Expr) float64 {
	vars := slices.DeleteFunc(slices.Clone(a.LHS.Vars), func(v index.Var) bool { return !slices.Contains(index.Vars(e), v) })
	t := &index.Tensor{Name: "t", Elem: a.LHS.Tensor.Elem}
	term := &index.Assignment{LHS: &index.Access{Tensor: t, Vars: vars}, Reduce: dtype.Add, RHS: e}
	if len(term.Reduced()) == 0 || len(term.Steps(index.Names([]*index.Assignment{term}))) > 1 || len(index.Uses(e)) > len(index.Vars(e)) {
		return 0
	}
	s := bind.Storage{Format: format.AllDense(len(vars)), Index: dtype.I32}
	for _, v := range vars {
		s.Extents = append(s.Extents, c.bound(term).Extent(v))
	}
	return autoschedule.Least(bind.Assignment{Assignment: term, Table: c.Storage.With(t, s)}, c.Request.Target.CPU)
}
