package index

import (
	"slices"
	"strconv"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
)

// Steps splits an assignment so that each part sums over the same variables everywhere: variables that are only on the
// right are summed over per additive term, and one loop nest can't sum one term and not its neighbour. The parts before
// the last compute temporaries, whose formats are left to be inferred. An assignment that needs no split is its own only
// step.
func (a *Assignment) Steps() []*Assignment {
	s := &splitter{assignment: a, names: map[string]bool{a.LHS.Tensor.Name: true}}
	for _, t := range a.Tensors() {
		s.names[t.Name] = true
	}
	rhs := s.rewrite(a.RHS, a.LHS.Vars)
	return append(s.steps, &Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: rhs})
}

type splitter struct {
	assignment *Assignment
	names      map[string]bool
	steps      []*Assignment
}

// summed is the variables of e that are in neither kept nor the result.
func (s *splitter) summed(e Expr, kept []Var) []Var {
	var out []Var
	for _, v := range Vars(e) {
		if !slices.Contains(kept, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// rewrite replaces the terms of sums that are summed over other variables than their neighbours by temporaries. kept are
// the variables that live outside e.
func (s *splitter) rewrite(e Expr, kept []Var) Expr {
	c, ok := e.(*Call)
	if !ok {
		return e
	}
	args := slices.Clone(c.Args)
	for i, arg := range c.Args {
		others := slices.Clone(kept)
		if c.Region == Every { // factors share their sums
			for j, other := range c.Args {
				if j != i {
					others = append(others, Vars(other)...)
				}
			}
		}
		args[i] = s.rewrite(arg, others)
	}
	if c.Region == Every || s.alike(args, kept) {
		return &Call{Op: c.Op, Args: args, Region: c.Region}
	}
	for i, arg := range args {
		if len(s.summed(arg, kept)) > 0 {
			args[i] = s.temporary(arg, kept)
		}
	}
	return &Call{Op: c.Op, Args: args, Region: c.Region}
}

func (s *splitter) alike(args []Expr, kept []Var) bool {
	first := s.summed(args[0], kept)
	return !slices.ContainsFunc(args[1:], func(e Expr) bool { return !slices.Equal(s.summed(e, kept), first) })
}

func (s *splitter) temporary(e Expr, kept []Var) Expr {
	var held []Var
	for _, v := range Vars(e) {
		if slices.Contains(kept, v) {
			held = append(held, v)
		}
	}
	t := NewTemporary(s.names, s.assignment, held)
	access := &Access{Tensor: t, Vars: held}
	s.steps = append(s.steps, &Assignment{LHS: access, Reduce: s.assignment.Reduce, RHS: e})
	return access
}

// NewTemporary is a tensor over vars with a name that is in none of names, to which it is added.
func NewTemporary(names map[string]bool, a *Assignment, vars []Var) *Tensor {
	n := 1
	for names["t"+strconv.Itoa(n)] {
		n++
	}
	name := "t" + strconv.Itoa(n)
	names[name] = true
	t := &Tensor{Name: name, Format: format.AllDense(len(vars)), Elem: a.LHS.Tensor.Elem, Index: dtype.I32}
	for _, v := range vars {
		t.Extents = append(t.Extents, a.Extent(v))
	}
	return t
}
