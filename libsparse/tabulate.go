package libsparse

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

const (
	// tableGain is how many times as often a function would be computed in loops over entries as it is in a step of its own, from which on it
	// is: a step writes its results to memory, and they are read from there. A quotient or a root takes less time than tens of instructions.
	tableGain, quotientGain = 2, 8
	// tableTimes is how often it would be computed at least: a step takes as long to call as some thousand functions to compute.
	tableTimes = 1 << 12
	// tableElements is how many elements a table may have that has more than any operand, as those of exp(d(j) + b(k)).
	tableElements = 1 << 20
)

// tabulate takes functions of few elements out of the program: the steps that compute them come before all others, and what is left of the program
// reads their results. There are none in programs that have several assignments, or one that goes row by row.
func (c *Compilation) tabulate(whole *Nest) (steps, rest []*index.Assignment) {
	if len(c.Program) > 1 || whole != nil && whole.rowwise != nil {
		return nil, c.Program
	}
	a := c.bound(c.Program[0])
	steps, last := c.tables(a.Assignment, index.Names(c.Program))
	if len(steps) == 0 {
		return nil, c.Program
	}
	elems := stepElems(append(slices.Clone(steps), last), a.LHS.Tensor.Elem)
	for i, step := range steps {
		t := *step.LHS.Tensor
		t.Elem = elems[i]
		c.results[step.LHS.Tensor] = &t
		s := bind.Storage{Format: format.AllDense(len(step.LHS.Vars)), Index: dtype.I32}
		for _, v := range step.LHS.Vars {
			s.Extents = append(s.Extents, a.Extent(v))
		}
		c.Storage = c.Storage.With(&t, s)
		steps[i] = step.Into(&t)
	}
	return steps, []*index.Assignment{last}
}

// eachTabulated are steps with those before them that compute functions of few elements which other steps leave.
func (c *Compilation) eachTabulated(steps []*index.Assignment) (out []*index.Assignment) {
	names := index.Names(steps)
	for _, step := range steps {
		tables, rest := c.tables(step, names)
		elems := stepElems(append(slices.Clone(tables), rest), step.LHS.Tensor.Elem)
		for i, table := range tables {
			out = append(out, c.describeResult(c.results.Assignment(table), step, elems[i]))
		}
		out = append(out, c.results.Assignment(rest))
	}
	return out
}

// tables are the steps that compute functions of few elements in a, and what is left of a.
func (c *Compilation) tables(a *index.Assignment, names map[string]bool) (steps []*index.Assignment, rest *index.Assignment) {
	if c.single() || c.Request.Output.Step || a.Pooling() != nil {
		return nil, a
	}
	bound := c.bound(a)
	return a.Tabulate(names, func(call *index.Call) bool { return c.isWorthAStep(bound, call) })
}

// isWorthAStep reports whether a function of dense operands has far fewer elements than the loops of a would compute.
func (c *Compilation) isWorthAStep(a bind.Assignment, call *index.Call) bool {
	read, vars := index.Accesses(call), index.Vars(call)
	if len(read) == 0 || slices.ContainsFunc(read, func(acc *index.Access) bool { return c.sparseLevels(acc.Tensor) > 0 }) {
		return false
	}
	gain := 0.0
	switch {
	case call.Computes(dtype.Op.Approximates):
		gain = tableGain
	case call.Computes(func(op dtype.Op) bool { return op == dtype.Div || op == "sqrt" }):
		gain = quotientGain
	default:
		return false
	}
	elements, times := volume(a, vars), c.timesComputed(a, vars)
	return times >= tableTimes && times >= gain*elements && elements <= c.largest(a)
}

// volume is how many elements what has these variables has.
func volume(a bind.Assignment, vars []index.Var) float64 {
	n := 1.0
	for _, v := range vars {
		n *= float64(max(a.Extent(v), 1))
	}
	return n
}

// largest is how many elements a table may have: as many as the operand with the most.
func (c *Compilation) largest(a bind.Assignment) float64 {
	most := float64(tableElements)
	for _, acc := range index.Accesses(a.RHS) {
		if c.sparseLevels(acc.Tensor) > 0 {
			most = max(most, float64(a.Of(acc.Tensor).NNZ))
		} else {
			most = max(most, volume(a, acc.Vars))
		}
	}
	return most
}

// timesComputed is how often loops over the entries of a's sparse operands compute what has these variables: of those operands that have one of
// them, or else of all, it is that of the one with the fewest.
func (c *Compilation) timesComputed(a bind.Assignment, vars []index.Var) (times float64) {
	sparse := slices.DeleteFunc(index.Accesses(a.RHS), func(acc *index.Access) bool { return c.sparseLevels(acc.Tensor) == 0 })
	has := func(acc *index.Access) bool {
		return slices.ContainsFunc(vars, func(v index.Var) bool { return slices.Contains(acc.Vars, v) })
	}
	if slices.ContainsFunc(sparse, has) {
		sparse = slices.DeleteFunc(sparse, func(acc *index.Access) bool { return !has(acc) })
	}
	for _, acc := range sparse {
		others := slices.DeleteFunc(slices.Clone(vars), func(v index.Var) bool { return slices.Contains(acc.Vars, v) })
		visited := float64(a.Of(acc.Tensor).NNZ) * volume(a, others)
		if times == 0 || visited < times {
			times = visited
		}
	}
	return times
}
