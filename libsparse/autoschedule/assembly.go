package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// stripCount is how many strips a merging loop is cut into: more than most machines have threads, so that strips which hold
// more than others even out.
const stripCount = 64

// worthThreads is how many entries there are at least where what threads need costs nothing to speak of: the ends of strips,
// or a loop that counts.
const worthThreads = 1 << 15

// repeats is how many terms an element has from which on they are summed where the first of them stands: below, sorting them
// all costs less than finding each.
const repeats = 2.0

// repeatsTogether is the same where threads fill, sort and reduce the list, and one would fill the table.
const repeatsTogether = 8.0

// compactBytes is how large a workspace with a place for each element may be to stay in the second cache of a core beside
// what is read, whatever the machine.
const compactBytes = 1 << 18

// compact reports whether a workspace for a result may have a place and a mark for each of its elements.
func compact(result *index.Tensor, elements float64) bool {
	return elements*float64(result.Elem.Accum().Size()+1) <= compactBytes
}

// starts is how often the loop at a depth is expected to start.
func (d *Decision) starts(at int) float64 {
	if at < len(d.around) {
		return d.around[at]
	}
	return 1
}

// scattered keeps what comes in another order than it is stored in, from the loop at on: in a place for each element where
// that is small and used enough to be worth clearing, in a hash table where elements have several terms each, in a list where
// they have few.
func (d *Decision) scattered(a *index.Assignment, at int, stored []index.Var) {
	w, over := free(a, "w"), stored[at:]
	terms, places := newModel(a, d.constants).inside(d.Order, at, over)
	if compact(a.LHS.Tensor, places) && d.starts(at)*terms > places {
		d.add(schedule.Precompute{At: at, Name: w, Storage: cin.Row})
		d.note("workspace %s: a place for each element over %v, few enough to stay in a near cache, with a list of those in use", w, over)
		return
	}
	most := repeats
	if at == 0 && d.fillsTogether(a) {
		most = repeatsTogether
	}
	if elements := -places * math.Expm1(-terms/places); len(a.Reduced()) > 0 && terms > most*elements {
		d.add(schedule.Precompute{At: at, Name: w, Storage: cin.Hash})
		d.note("workspace %s: a hash table over %v, sorted before it is read, since about %.2g terms for each of its elements come in another order",
			w, over, terms/elements)
		return
	}
	d.add(schedule.Precompute{At: at, Name: w, Storage: cin.List})
	d.note("workspace %s: a list over %v, sorted before it is read, since the entries come in another order", w, over)
}

// inside estimates how many terms the loops from at on visit in one iteration of those around them, and for how many places.
func (m *model) inside(order []index.Var, at int, over []index.Var) (terms, places float64) {
	loops := make([]int, len(order))
	for i, v := range order {
		loops[i] = slices.Index(m.vars, v)
	}
	m.price(loops)
	terms, places = 1, 1
	for _, v := range loops[at:] {
		terms *= m.extents[v] * m.occupancy(v)
	}
	for _, v := range over {
		places *= m.extents[slices.Index(m.vars, v)]
	}
	return terms, places
}

// masked reports whether one of some levels of a result has a mask that the kernel sets.
func masked(t *index.Tensor, levels ...format.Level) bool {
	return slices.ContainsFunc(levels, func(l format.Level) bool {
		return l.Props().Locate && l.Props().HasCrd && t.SamePattern == nil
	})
}

// stripes cuts the outermost loop, which merges what several levels store, into strips of its coordinates that threads
// divide. It reports whether that is possible, which it isn't where a level is walked
// whole or not at all, and worth it.
func (d *Decision) stripes(a *index.Assignment, v index.Var) bool {
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		for m, w := range acc.Vars {
			level := acc.Tensor.Format.Levels[acc.Tensor.Format.LevelOf(m)].Props()
			if w == v && (level.ConversionOnly && !level.Locate || acc.Window(m) != nil && !level.Full) {
				return false
			}
		}
	}
	if stored(a) < worthThreads {
		return false
	}
	outer, inner := index.Var(free(a, string(v)+"0")), index.Var(free(a, string(v)+"1"))
	d.add(schedule.Divide{Var: v, Outer: outer, Inner: inner, Parts: stripCount})
	d.add(schedule.Parallelize{Var: outer})
	d.note("%s is cut into %d strips of coordinates for threads, since its loop merges what several levels store", v, stripCount)
	return true
}
