package asymptotic

import (
	"encoding/binary"
	"slices"
)

type (
	conjID int32 // a conjunction
	dnfID  int32 // a disjunction of conjunctions
	taskID int32 // a set of tasks { [head] | conjunction }
	costID int32 // a union of sets of tasks, none of which contains another
)

const (
	never  dnfID  = 0 // no conjunction
	always dnfID  = 1 // the empty conjunction
	free   costID = 0 // no task
)

// logic interns conjunctions, disjunctions, sets of tasks and costs, and caches operations on them. Conjunctions are minimised and
// compared by homomorphisms in both directions before they get a number, so equivalent conjunctions have equal numbers.
type logic struct {
	assumed conj    // every sparse operand has an entry
	dims    []uint8 // by variable: its dimension
	shared  bool    // two variables have one dimension
	filled  []int   // by predicate: the number of modes for which every choice of coordinates has an entry

	conjs   []conj
	conjIDs map[string]conjID
	alike   map[string][]conjID // by predicates and free variables

	dnfs   [][]conjID
	dnfIDs map[string]dnfID
	joins  map[[2]dnfID]dnfID
	either map[[2]dnfID]dnfID
	exists map[quantified]dnfID

	tasks   []task
	taskIDs map[task]taskID
	above   [][]uint64 // by task: the tasks that contain it

	costs   [][]taskID
	costIDs map[string]costID
	unions  map[[2]costID]costID
}

type quantified struct {
	d    dnfID
	over varset
}

// task is the set of tasks { [head] | body }, with the other variables of body existentially quantified. It includes the tasks over
// every subset of head.
type task struct {
	head varset
	body conjID
}

func newLogic(assumed conj, dims []uint8, filled []int) *logic {
	l := &logic{
		assumed: assumed, dims: dims, filled: filled,
		conjIDs: map[string]conjID{}, alike: map[string][]conjID{},
		dnfIDs: map[string]dnfID{}, joins: map[[2]dnfID]dnfID{}, either: map[[2]dnfID]dnfID{}, exists: map[quantified]dnfID{},
		taskIDs: map[task]taskID{}, costIDs: map[string]costID{}, unions: map[[2]costID]costID{},
	}
	for v, d := range dims {
		l.shared = l.shared || slices.Contains(dims[:v], d)
	}
	l.disjunction(nil)
	l.disjunction([]conjID{l.conjunction(nil)})
	l.cost(nil)
	return l
}

func clauseKey(c conj, masked bool) string {
	key := make([]byte, 0, 64)
	for _, k := range c {
		key = append(key, k.pred)
		if !masked {
			key = append(key, k.args[:k.n]...)
		}
	}
	return string(key)
}

func numbersKey[T ~int32](ids []T) string {
	key := make([]byte, 0, 64)
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	return string(key)
}

// conjunction interns c.
func (l *logic) conjunction(c conj) conjID {
	raw := clauseKey(c, false)
	if id, ok := l.conjIDs[raw]; ok {
		return id
	}
	c = c.trimmed(l.filled, ^varset(0)).minimal(l.assumed)
	key := clauseKey(c, false)
	id, ok := l.conjIDs[key]
	if !ok {
		id = l.meaning(c)
		l.conjIDs[key] = id
	}
	l.conjIDs[raw] = id
	return id
}

// meaning is the number of an equivalent conjunction, or a new number.
func (l *logic) meaning(c conj) conjID {
	vars := c.free()
	signature := string(binary.LittleEndian.AppendUint32(nil, uint32(vars))) + clauseKey(c, true)
	for _, id := range l.alike[signature] {
		if d := l.conjs[id]; newMapping().fix(vars).extend(c, d, l.assumed) && newMapping().fix(vars).extend(d, c, l.assumed) {
			return id
		}
	}
	id := conjID(len(l.conjs))
	l.conjs = append(l.conjs, c)
	l.alike[signature] = append(l.alike[signature], id)
	return id
}

// implies reports whether c holds only where d does.
func (l *logic) implies(c, d conjID) bool {
	return newMapping().fix(^varset(0)).extend(l.conjs[d], l.conjs[c], l.assumed)
}

// disjunction interns a union of conjunctions, without members that imply another.
func (l *logic) disjunction(ids []conjID) dnfID {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var kept []conjID
	for i, c := range ids {
		if !slices.ContainsFunc(kept, func(d conjID) bool { return l.implies(c, d) }) &&
			!slices.ContainsFunc(ids[i+1:], func(d conjID) bool { return l.implies(c, d) }) {
			kept = append(kept, c)
		}
	}
	key := numbersKey(kept)
	id, ok := l.dnfIDs[key]
	if !ok {
		id = dnfID(len(l.dnfs))
		l.dnfs = append(l.dnfs, kept)
		l.dnfIDs[key] = id
	}
	return id
}

// and is the conjunction of two disjunctions: of every pair of their members.
func (l *logic) and(a, b dnfID) dnfID {
	switch {
	case a == always || b == never:
		return b
	case b == always || a == never:
		return a
	}
	key := [2]dnfID{min(a, b), max(a, b)}
	if id, ok := l.joins[key]; ok {
		return id
	}
	var out []conjID
	for _, c := range l.dnfs[a] {
		for _, d := range l.dnfs[b] {
			out = append(out, l.conjunction(l.conjs[c].and(l.conjs[d])))
		}
	}
	id := l.disjunction(out)
	l.joins[key] = id
	return id
}

func (l *logic) or(a, b dnfID) dnfID {
	if a == b || b == never {
		return a
	}
	key := [2]dnfID{min(a, b), max(a, b)}
	id, ok := l.either[key]
	if !ok {
		id = l.disjunction(slices.Concat(l.dnfs[a], l.dnfs[b]))
		l.either[key] = id
	}
	return id
}

// quantify is d with the variables in over existentially quantified.
func (l *logic) quantify(d dnfID, over varset) dnfID {
	key := quantified{d, over}
	if id, ok := l.exists[key]; ok {
		return id
	}
	var out []conjID
	for _, c := range l.dnfs[d] {
		out = append(out, l.conjunction(l.conjs[c].quantify(over)))
	}
	id := l.disjunction(out)
	l.exists[key] = id
	return id
}
