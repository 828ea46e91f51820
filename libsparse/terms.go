package libsparse

import (
	"slices"
	"strconv"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// mostTerms is how many loops a sum is divided into at most: each has a workspace.
const mostTerms = 4

// termsApart has a loop of its own for each additive term of a sum into a workspace, in place of one that merges the entries of several operands: the
// next of these is anyone's guess to a processor, and one operand's are added in lanes. Terms that walk the same entries stay together.
func termsApart(p *cin.Program, m autoschedule.Machine) *cin.Program {
	if !p.Source.Result().Format.Dense() {
		return p
	}
	constants, _ := autoschedule.ConstantsFor(m.CPU)
	s := &termSplitter{program: p.Clone(), shortRow: constants.ShortRow}
	s.program.Body = s.stmt(p.Body)
	if !s.found {
		return p
	}
	return s.program
}

type termSplitter struct {
	program *cin.Program
	found   bool
	// shortRow is how many entries rows have on average for their sums to be kept in lanes.
	shortRow float64
}

func (s *termSplitter) stmt(t cin.Stmt) cin.Stmt {
	switch t := t.(type) {
	case *cin.Forall:
		return t.With(s.stmt(t.Body))
	case *cin.Where:
		out := &cin.Where{Consumer: s.stmt(t.Consumer), Producer: s.stmt(t.Producer)}
		return s.where(out)
	default:
		return t
	}
}

// where is w with a producer for each term of what it adds up.
func (s *termSplitter) where(w *cin.Where) cin.Stmt {
	loops, sum := nestOf(w.Producer)
	if sum == nil || sum.Reduce != dtype.Add || s.program.Workspaces[sum.LHS.Tensor] != cin.Tile || !sum.LHS.Tensor.Elem.IsFloat() {
		return w
	}
	apart := index.Terms(sum.RHS, mostTerms)
	if len(apart) < 2 || !s.merges(loops, sum.RHS) || slices.ContainsFunc(apart, func(e index.Expr) bool { return !s.visits(sum.RHS, e) }) {
		return w
	}
	s.found = true
	held := []*index.Access{sum.LHS}
	for range apart[1:] {
		held = append(held, &index.Access{Tensor: s.workspaceLike(sum.LHS.Tensor), Vars: sum.LHS.Vars})
	}
	out := added(w.Consumer, held)
	for k, term := range apart {
		out = &cin.Where{Consumer: out, Producer: around(s.inLanes(loops, sum, term), &cin.Assign{LHS: held[k], Reduce: sum.Reduce, RHS: term})}
	}
	return out
}

// inLanes are loops of which the last is on lanes if a term walks the entries of one operand there, which are summed to a number.
func (s *termSplitter) inLanes(loops []*cin.Forall, sum *cin.Assign, term index.Expr) []*cin.Forall {
	last := loops[len(loops)-1]
	all := lattice.Build(s.program.Source.Table, term, s.program.Original(last.Var)).Points
	if len(sum.LHS.Vars) > 0 || last.Unit != cin.Serial || len(all) > 1 || all[0].Full || len(all[0].Iterators) > 1 {
		return loops
	}
	a := s.program.Source
	if at := all[0].Iterators[0].Access; !cin.Walks(a, at, last.Var) || entriesOfRow(a, at) < s.shortRow {
		return loops
	}
	f := last.With(last.Body)
	f.Unit = cin.Lanes
	return append(slices.Clone(loops[:len(loops)-1]), f)
}

// merges reports whether one of the loops visits the entries of several operands.
func (s *termSplitter) merges(loops []*cin.Forall, e index.Expr) bool {
	return slices.ContainsFunc(loops, func(f *cin.Forall) bool {
		return len(lattice.Build(s.program.Source.Table, e, s.program.Original(f.Var)).Points) > 1
	})
}

// visits reports whether e has all variables that the whole is summed over.
func (s *termSplitter) visits(whole, e index.Expr) bool {
	used := index.Uses(e)
	return !slices.ContainsFunc(s.program.Source.Reduced(), func(v index.Var) bool {
		return slices.Contains(index.Vars(whole), v) && !slices.Contains(used, v)
	})
}

// workspaceLike is another workspace that is stored as w is.
func (s *termSplitter) workspaceLike(w *index.Tensor) *index.Tensor {
	p := s.program
	taken := map[string]bool{}
	for _, t := range append(p.Source.Tensors(), p.Source.LHS.Tensor) {
		taken[t.Name] = true
	}
	for t := range p.Workspaces {
		taken[t.Name] = true
	}
	n := 2
	for taken[w.Name+strconv.Itoa(n)] {
		n++
	}
	out := &index.Tensor{Name: w.Name + strconv.Itoa(n), Elem: w.Elem}
	p.Workspaces[out] = p.Workspaces[w]
	p.Source = p.Source.With(out, *p.Source.Of(w))
	return out
}

// nestOf are the loops around the only assignment of s; that is nil where there are several.
func nestOf(s cin.Stmt) (loops []*cin.Forall, a *cin.Assign) {
	for {
		switch t := s.(type) {
		case *cin.Forall:
			loops, s = append(loops, t), t.Body
		case *cin.Assign:
			return loops, t
		default:
			return nil, nil
		}
	}
}

func around(loops []*cin.Forall, body cin.Stmt) cin.Stmt {
	for _, f := range slices.Backward(loops) {
		body = f.With(body)
	}
	return body
}

// added is s with the sum of several workspaces where it reads the first.
func added(s cin.Stmt, held []*index.Access) cin.Stmt {
	switch s := s.(type) {
	case *cin.Forall:
		return s.With(added(s.Body, held))
	case *cin.Where:
		return &cin.Where{Consumer: added(s.Consumer, held), Producer: added(s.Producer, held)}
	case *cin.Assign:
		rhs := index.Replace(s.RHS, func(a *index.Access) index.Expr {
			if a.Tensor != held[0].Tensor {
				return nil
			}
			var sum index.Expr = a
			for _, other := range held[1:] {
				sum = index.NewCall(dtype.Add, sum, &index.Access{Tensor: other.Tensor, Vars: a.Vars})
			}
			return sum
		})
		return &cin.Assign{LHS: s.LHS, Reduce: s.Reduce, RHS: rhs}
	default:
		return s
	}
}
