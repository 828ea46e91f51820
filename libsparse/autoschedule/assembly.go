package autoschedule

import (
	"slices"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// stripsOf is how many strips a merging loop is cut into: more than most machines have threads, so that strips which hold
// more than others even out.
const stripsOf = 64

// worthStrips is how many entries the operands have at least where finding the ends of the strips costs nothing to speak of.
const worthStrips = 1 << 15

// masked reports whether one of some levels of a result has a mask that the kernel sets.
func masked(t *index.Tensor, levels ...format.Level) bool {
	return slices.ContainsFunc(levels, func(l format.Level) bool {
		return l.Props().Locate && l.Props().HasCrd && t.SamePattern == nil
	})
}

// strips cuts the outermost loop, which merges what several levels store, into strips of its coordinates that threads
// divide. It reports whether that is possible, which it isn't where a level is walked
// whole or not at all, and worth it.
func (d *Decision) strips(a *index.Assignment, v index.Var) bool {
	entries := int64(0)
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		entries += acc.Tensor.NNZ
		for m, w := range acc.Vars {
			level := acc.Tensor.Format.Levels[acc.Tensor.Format.LevelOf(m)].Props()
			if w == v && (level.Fixed || acc.Window(m) != nil && !level.Full) {
				return false
			}
		}
	}
	if entries < worthStrips {
		return false
	}
	outer, inner := index.Var(free(a, string(v)+"0")), index.Var(free(a, string(v)+"1"))
	d.add(schedule.Divide{Var: v, Outer: outer, Inner: inner, Parts: stripsOf})
	d.add(schedule.Parallelize{Var: outer})
	d.note("%s is cut into %d strips of coordinates for threads, since its loop merges what several levels store", v, stripsOf)
	return true
}
