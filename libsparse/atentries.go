package libsparse

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
)

const (
	// filledRow is how many entries rows have on average from which on they fill vectors well.
	filledRow = 20
	// shortestRow is how many they have at least where a step for what a function is applied to takes less time than vectors save.
	shortestRow = 8
)

// before takes steps out of the program that come before all others: functions of few elements, sums that are needed once, and functions at entries.
func (c *Compilation) before(whole *Nest) (steps, rest []*index.Assignment) {
	steps, rest = c.tabulate(whole)
	if len(c.Program) > 1 || whole != nil && whole.rowwise != nil {
		return steps, rest
	}
	last := c.results.Assignment(rest[0])
	names := index.Names(append(slices.Clone(steps), last))
	sums, apart := c.apart(last, names)
	at, divided := c.atEntries(apart, names)
	if len(sums)+len(at) == 0 && apart == last {
		return steps, rest
	}
	return slices.Concat(steps, sums, at), []*index.Assignment{divided}
}

// eachAtEntries are steps with those before them that compute functions at entries.
func (c *Compilation) eachAtEntries(steps []*index.Assignment) (out []*index.Assignment) {
	names := index.Names(steps)
	for _, step := range steps {
		before, rest := c.atEntries(step, names)
		out = append(append(out, before...), rest)
	}
	return out
}

// atEntries are the steps that compute functions at the entries of sparse operands of a, and what is left of a.
func (c *Compilation) atEntries(a *index.Assignment, names map[string]bool) (steps []*index.Assignment, rest *index.Assignment) {
	if c.single() || c.Request.Output.Step || a.Pooling() != nil {
		return nil, a
	}
	bound := c.bound(a)
	steps, rest = a.AtEntries(names, &index.Entries{
		Sparse: c.sparseLevels, Together: c.Storage.Together,
		Function: func(at *index.Access, f *index.Call, full bool) bool { return isAtEntries(bound, at, f, full) },
		Values:   func(at *index.Access) bool { return isBesideLoops(bound, at) },
	})
	if steps == nil {
		return nil, a
	}
	elems := stepElems(append(slices.Clone(steps), rest), a.LHS.Tensor.Elem)
	for i, step := range steps {
		steps[i] = c.describeResult(c.results.Assignment(step), a, elems[i])
		t := steps[i].LHS.Tensor
		s := *c.Storage.Of(t)
		_, s.SamePattern = infer.Output(c.bound(steps[i]))
		c.Storage = c.Storage.With(t, s)
	}
	return steps, c.results.Assignment(rest)
}

// isAtEntries reports whether f is a function at many entries of an access that takes time, and isn't one of the rows alone. Where it reads what has
// other variables, rows are loops of their own: vectors of them are filled badly where they are short.
func isAtEntries(a bind.Assignment, at *index.Access, f *index.Call, full bool) bool {
	s, stored := a.Of(at.Tensor), a.Stored(at)
	if s.NNZ < tableTimes || len(s.Format.Levels) != len(at.Vars) || !slices.Contains(index.Uses(f), stored[len(stored)-1]) || !f.Computes(dtype.Op.Approximates) {
		return false
	}
	each := entriesOfRow(a, at)
	if isBesideLoops(a, at) {
		return full || each >= shortestRow
	}
	return !full && each < filledRow && len(a.Reduced()) == 0 && len(a.Vars()) == len(at.Vars)
}

// entriesOfRow is how many entries an access has on average where all its variables but the last that is stored are given.
func entriesOfRow(a bind.Assignment, at *index.Access) float64 {
	rows := 1.0
	stored := a.Stored(at)
	for _, v := range stored[:len(stored)-1] {
		rows *= float64(max(a.Extent(v), 1))
	}
	return float64(a.Of(at.Tensor).NNZ) / rows
}

// isBesideLoops reports whether functions at entries of an access are computed once for each beside loops over other variables, or beside updates of
// elements that lie apart: a loop over entries that are summed for each row computes vectors of them itself.
func isBesideLoops(a bind.Assignment, at *index.Access) bool {
	stored := a.Stored(at)
	summed := slices.ContainsFunc(at.Vars, func(v index.Var) bool { return !slices.Contains(a.LHS.Vars, v) })
	return summed && (len(a.Vars()) > len(at.Vars) || slices.Contains(a.LHS.Vars, stored[len(stored)-1]))
}
