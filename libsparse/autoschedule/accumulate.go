package autoschedule

import (
	"slices"

	"libsparse/libsparse/index"
)

// accumulate keeps sums of a result with known positions in registers: a scalar where the reduction is innermost, a strip
// where dense loops stand inside it.
func (m *model) accumulate(order []int) workspace {
	first := slices.IndexFunc(order, func(v int) bool { return !m.free[v] })
	if first < 0 {
		return workspace{}
	}
	kept, last := 0, len(order)-1
	for _, v := range order[first:] {
		if m.free[v] {
			kept++
		}
	}
	switch {
	case kept == 0:
		return workspace{kind: scalar, at: first}
	case kept == 1 && m.free[order[last]] && m.strips(order[last]):
		if m.tiled(order[last]) {
			return workspace{kind: strip, at: first + 1, tiles: true, over: 1}
		}
		return workspace{kind: strip, at: first, over: 1}
	case kept > 1 && m.fits(order[len(order)-kept:]):
		return workspace{kind: strip, at: first, over: kept}
	case m.free[order[last]]:
		return workspace{kind: inMemory}
	}
	at := last // lanes of a sum would write the same element
	for at > 0 && !m.free[order[at-1]] {
		at--
	}
	return workspace{kind: scalar, at: at}
}

// strips reports whether sums over v can stay in registers, at least by strips.
func (m *model) strips(v int) bool {
	n := m.exact[v]
	known := n > 0 && index.Exact(n) || float64(index.Least(n)) >= m.constants.Shortest // not an extent that may be nearly none
	return known && m.dense(v) && alike(m.assignment, m.vars[v])
}

// fits reports whether the sums over several innermost variables fit in the registers together, the last of them in lanes.
func (m *model) fits(inner []int) bool {
	sums := int64(1)
	for _, v := range inner {
		if !m.free[v] || !index.Exact(m.exact[v]) || !m.strips(v) {
			return false
		}
		if sums *= m.exact[v]; sums > m.machine.tile(m.assignment) {
			return false
		}
	}
	return m.extents[inner[len(inner)-1]] >= m.constants.Shortest
}

// tiled reports whether the sums over v are too many for the registers, or of an unknown number.
func (m *model) tiled(v int) bool {
	n := m.exact[v]
	return !index.Exact(n) || n > m.machine.tile(m.assignment)
}
