package asymptotic

import (
	"math/bits"
	"slices"
)

// emit is the cost of executing one task for each tuple of the variables in head that satisfies a predicate.
func (l *logic) emit(head varset, where dnfID) costID {
	var ids []taskID
	for _, c := range l.dnfs[where] {
		ids = append(ids, l.task(task{head, c}))
	}
	return l.cost(ids)
}

// task interns t. A new set of tasks is compared with all others.
func (l *logic) task(t task) taskID {
	if id, ok := l.taskIDs[t]; ok {
		return id
	}
	id := taskID(len(l.tasks))
	l.tasks = append(l.tasks, t)
	l.taskIDs[t] = id
	l.above = append(l.above, nil)
	for other := range id + 1 {
		if l.compare(l.tasks[other], t) {
			l.put(other, id)
		}
		if l.compare(t, l.tasks[other]) {
			l.put(id, other)
		}
	}
	return id
}

func (l *logic) put(p, q taskID) {
	for len(l.above[p]) <= int(q)/64 {
		l.above[p] = append(l.above[p], 0)
	}
	l.above[p][q/64] |= 1 << (q % 64)
}

// contained reports whether p is a subset of q.
func (l *logic) contained(p, q taskID) bool {
	row := l.above[p]
	return int(q)/64 < len(row) && row[q/64]&(1<<(q%64)) != 0
}

// compare reports whether p is a subset of q: whether there is a homomorphism from q to p that maps variables of q's head onto all
// of p's, each to one of the same dimension. The remaining variables of q's head become existential, since a set of tasks includes
// those over fewer variables.
func (l *logic) compare(p, q task) bool {
	if bits.OnesCount32(uint32(p.head)) > bits.OnesCount32(uint32(q.head)) || !l.shared && p.head&^q.head != 0 {
		return false
	}
	from, to := l.conjs[q.body], l.conjs[p.body]
	if !l.shared {
		return newMapping().fix(p.head).extend(from.trimmed(l.filled, p.head), to, l.assumed)
	}
	var assign func(left varset, m *mapping) bool
	assign = func(left varset, m *mapping) bool {
		if left == 0 {
			complete, fixed := *m, varset(0)
			for w := range uint8(len(l.dims)) {
				if m[w] != unset {
					fixed |= 1 << w
				}
			}
			return complete.extend(from.trimmed(l.filled, fixed), to, l.assumed)
		}
		v := uint8(bits.TrailingZeros32(uint32(left)))
		for w := range uint8(len(l.dims)) {
			if q.head.has(w) && m[w] == unset && l.dims[v] == l.dims[w] {
				m[w] = v
				if assign(left&^(1<<v), m) {
					return true
				}
				m[w] = unset
			}
		}
		return false
	}
	return assign(p.head, newMapping())
}

// cost interns a union of sets of tasks, without those that another contains.
func (l *logic) cost(ids []taskID) costID {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	kept := slices.DeleteFunc(slices.Clone(ids), func(p taskID) bool {
		return slices.ContainsFunc(ids, func(q taskID) bool { // of two that mean the same, the earlier stays
			return p != q && l.contained(p, q) && (q < p || !l.contained(q, p))
		})
	})
	key := numbersKey(kept)
	id, ok := l.costIDs[key]
	if !ok {
		id = costID(len(l.costs))
		l.costs = append(l.costs, kept)
		l.costIDs[key] = id
	}
	return id
}

func (l *logic) union(a, b costID) costID {
	switch {
	case a == b || b == free:
		return a
	case a == free:
		return b
	}
	key := [2]costID{min(a, b), max(a, b)}
	id, ok := l.unions[key]
	if !ok {
		id = l.cost(slices.Concat(l.costs[a], l.costs[b]))
		l.unions[key] = id
	}
	return id
}

// within reports whether every task of a is one of b.
func (l *logic) within(a, b costID) bool {
	for _, p := range l.costs[a] {
		if !slices.ContainsFunc(l.costs[b], func(q taskID) bool { return l.contained(p, q) }) {
			return false
		}
	}
	return true
}

// dominates reports whether a program of cost a never does more than one of cost b, and less for some input.
func (l *logic) dominates(b, a costID) bool { return a != b && l.within(a, b) && !l.within(b, a) }

// adopt interns a cost of another logic over the same predicates.
func (l *logic) adopt(from *logic, c costID) costID {
	var ids []taskID
	for _, id := range from.costs[c] {
		t := from.tasks[id]
		ids = append(ids, l.task(task{t.head, l.conjunction(from.conjs[t.body])}))
	}
	return l.cost(ids)
}
