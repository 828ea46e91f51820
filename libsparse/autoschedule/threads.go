package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/schedule"
)

// divide writes the commands that give the outermost loop to threads, or says why it stays with one.
func (d *Decision) divide(a bind.Assignment, s sharing) {
	outermost, root := d.outermost()
	switch s {
	case divided:
		d.add(schedule.Parallelize{Var: outermost})
		d.share(a, root)
	case inStrips:
		outer, inner := index.Var(free(a, string(root)+"0")), index.Var(free(a, string(root)+"1"))
		d.add(schedule.Divide{Var: root, Outer: outer, Inner: inner, Parts: int64(d.constants.StripCount)})
		d.add(schedule.Parallelize{Var: outer})
		d.note("%s is cut into %g strips of coordinates for threads, since its loop merges what several levels store", root, d.constants.StripCount)
	case together:
		d.add(schedule.Parallelize{Var: outermost})
		d.note("threads fill the list that holds the whole result in blocks of %s, sort it and reduce it", outermost)
	case apart:
		d.add(schedule.Parallelize{Var: outermost, Race: cin.Temporary})
		d.note("the iterations of the outermost loop over %s don't own what they write: where there is enough to compute, threads have results "+
			"of their own, which are added up", outermost)
	case aloneWhole:
		d.note("one thread: a workspace holds the whole result")
	case aloneListMerge:
		d.note("one thread: a list holds the whole result, and the outermost loop over %s merges what several levels store", outermost)
	case aloneShared:
		d.note("one thread: the iterations of the outermost loop over %s don't own what they write", outermost)
	case aloneMerge:
		d.note("one thread: the outermost loop over %s merges what several levels store", outermost)
	case aloneFew: // nothing that users could change
	}
}

// outermost is the first loop, and the variable of the expression that it belongs to.
func (d *Decision) outermost() (loop, root index.Var) {
	for _, c := range d.Commands {
		if r, ok := c.(schedule.Reorder); ok {
			loop = r.Vars[0]
		}
	}
	root = loop
	for _, c := range d.Commands {
		if s, ok := c.(schedule.Split); ok && s.Outer == loop {
			root = s.Var
		}
	}
	return loop, root
}

// Team is how the threads of any schedule of a divide their loops, the caller's too.
func Team(a bind.Assignment, m Machine) cin.Team {
	c, _ := ConstantsFor(m.CPU)
	team := cin.Team{Grain: int64(c.Grain), Shared: int64(max(c.SharedGrain, 2*c.Grain))}
	if everywhere(a) {
		return team
	}
	switch _, product := factors(a.Assignment); {
	case byEntries(a) && product && a.Result().Format.Dense() && len(a.LHS.Vars) < len(a.Vars()):
		team.Grain = int64(c.SumGrain)
	case byEntries(a):
		team.Grain, team.Shared = int64(c.EntryGrain), int64(c.SharedGrain)
	}
	for _, acc := range index.Accesses(a.RHS) {
		if owner := a.Owner(acc.Tensor); balances(a, owner, c) && !slices.Contains(team.Balanced, owner) {
			team.Balanced = append(team.Balanced, owner)
		}
	}
	return team
}

// everywhere reports whether loops visit every element, so that rows take as long as each other, however many entries they have.
func everywhere(a bind.Assignment) bool { return lattice.Everywhere(a.Table, a.RHS, a.Vars()) }

// byEntries reports whether a sparse operand has every variable of a, so that each iteration is one of its entries.
func byEntries(a bind.Assignment) bool {
	return slices.ContainsFunc(index.Accesses(a.RHS), func(acc *index.Access) bool {
		return !a.Of(acc.Tensor).Format.Dense() && len(acc.Vars) == len(a.Vars())
	})
}

// balances reports whether the loop over the rows of a tensor runs in parts of equal numbers of entries. It does where the result has these entries, too, however
// few they are: vectors that are stored may then run over the ends of rows, but for the last of a part.
func balances(a bind.Assignment, t *index.Tensor, c *Constants) bool {
	if a.Result().SamePattern != nil && a.Owner(a.LHS.Tensor) == t && cin.Uneven(a.Of(t).Format) {
		return true
	}
	return balanced(a.Of(t), c)
}

// balanced reports whether threads take rows of an operand with equal numbers of entries. An operand without a count may have many.
func balanced(s *bind.Storage, c *Constants) bool {
	return cin.Uneven(s.Format) && (s.NNZ <= 0 || float64(s.NNZ) >= c.Uneven)
}

// share says how threads divide the loop over v: where what is stored below its iterations differs, kernels search for
// blocks of equal numbers of entries, in the positions of the operand and when they are called.
func (d *Decision) share(a bind.Assignment, v index.Var) {
	for _, acc := range index.Accesses(a.RHS) {
		if !everywhere(a) && balances(a, a.Owner(acc.Tensor), d.constants) && acc.Vars[a.Of(acc.Tensor).Format.ModeOrder[0]] == v {
			d.note("threads take blocks of %s with equal numbers of entries of %s, where there are enough of them", v, acc.Tensor.Name)
			return
		}
	}
	d.note("threads take blocks of equally many %s, where there is enough to compute", v)
}
