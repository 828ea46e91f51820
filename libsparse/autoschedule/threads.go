package autoschedule

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/schedule"
)

// threads divides the outermost loop where its iterations own what they write.
func (d *Decision) threads(a *index.Assignment) {
	if len(d.Order) == 0 {
		return
	}
	inserted := false
	for _, c := range d.Commands {
		switch c := c.(type) {
		case schedule.Precompute:
			if c.At == 0 {
				d.together(a, c.Storage)
				return
			}
		case schedule.Assemble:
			inserted = c.Insert && !masked(a.LHS.Tensor, a.LHS.Tensor.Format.Levels...)
		case schedule.Parallelize: // inside of strips
			return
		}
	}
	outermost, root := d.outermost()
	switch {
	case !inserted && !owned(a.LHS, root):
		d.note("one thread: the iterations of the outermost loop over %s don't own what they write", outermost)
	case !divisible(a, root) && !(root == outermost && d.stripes(a, root)):
		d.note("one thread: the outermost loop over %s merges what several levels store", outermost)
	case !divisible(a, root):
	default:
		d.add(schedule.Parallelize{Var: outermost})
		d.share(a, root)
	}
}

// together divides the loop that fills a workspace which holds the whole result, if that is a list.
func (d *Decision) together(a *index.Assignment, storage cin.Storage) {
	outermost := d.Order[0]
	switch {
	case storage != cin.List:
		d.note("one thread: a workspace holds the whole result")
	case !divisible(a, outermost):
		d.note("one thread: a list holds the whole result, and the outermost loop over %s merges what several levels store", outermost)
	case !d.fillsTogether(a): // too few to be worth a loop that counts
	default:
		d.add(schedule.Parallelize{Var: outermost})
		d.note("threads fill the list that holds the whole result in blocks of %s, sort it and reduce it", outermost)
	}
}

// fillsTogether reports whether threads fill a list of the whole result.
func (d *Decision) fillsTogether(a *index.Assignment) bool {
	return divisible(a, d.Order[0]) && stored(a) >= worthThreads
}

// stored is how many entries the tensors have together.
func stored(a *index.Assignment) (entries int64) {
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		entries += acc.Tensor.NNZ
	}
	return entries
}

// owned reports whether iterations over v write elements, rows and masks of the result that no other iteration does.
func owned(lhs *index.Access, v index.Var) bool {
	m := slices.Index(lhs.Vars, v)
	if m < 0 {
		return false
	}
	at := lhs.Tensor.Format.LevelOf(m)
	if discovered(lhs.Tensor) && !lhs.Tensor.Format.Rowwise() {
		return at == 0 // blocks of the outermost loop append to places of their own
	}
	return !masked(lhs.Tensor, lhs.Tensor.Format.Levels[:at]...)
}

// divisible reports whether the loop over v is over all coordinates, or over what one level stores.
func divisible(a *index.Assignment, v index.Var) bool {
	l := lattice.Loop(a.RHS, v)
	its := l.Iterators()
	return len(its) == 0 || len(l.Points) == 1 && len(its) == 1 && !l.Full() &&
		its[0].Access.Tensor.Format.Levels[its[0].Level].Props().Unique
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
func Team(a *index.Assignment, m Machine) cin.Team {
	c, _ := ConstantsFor(m.CPU)
	team := cin.Team{Grain: int64(c.Grain)}
	for _, acc := range index.Accesses(a.RHS) {
		if weighed(acc, c) {
			team.Weighed = append(team.Weighed, acc.Tensor)
		}
	}
	return team
}

// weighed reports whether rows of an access are divided by their entries; of zero entries it is not known how many there are.
func weighed(a *index.Access, c *Constants) bool {
	return cin.Uneven(a) && (a.Tensor.NNZ <= 0 || float64(a.Tensor.NNZ) >= c.Uneven)
}

// share says how threads divide the loop over v: where what is stored below its iterations differs, kernels search for
// blocks of equal numbers of entries, in the positions of the operand and when they are called.
func (d *Decision) share(a *index.Assignment, v index.Var) {
	for _, acc := range index.Accesses(a.RHS) {
		if weighed(acc, d.constants) && acc.Vars[acc.Tensor.Format.ModeOrder[0]] == v {
			d.note("threads take blocks of %s with equal numbers of entries of %s, where there are enough of them", v, acc.Tensor.Name)
			return
		}
	}
	d.note("threads take blocks of equally many %s, where there is enough to compute", v)
}
