package ir

import (
	"fmt"
	"slices"

	"libsparse/libsparse/dtype"
)

// arrayStmt executes the statements on whole arrays.
func (m *machine) arrayStmt(s Stmt) {
	switch s := s.(type) {
	case *Alloc:
		m.alloc(s)
	case *Grow:
		m.grow(s)
	case *Free:
		delete(m.arrays, s.Array.Name)
	case *Prefetch, *Drain:
		m.evalAll(Exprs(s))
	case *Fill:
		n := m.eval(s.Count).Int
		x := m.eval(s.Value).convert(s.Array.Elem)
		b := m.span(s.Array, 0, n)
		for i := range n {
			b.set(int(i), x)
		}
	case *PrefixSum:
		n := m.eval(s.Count).Int
		b := m.span(s.Array, 0, n)
		for i := 1; i < int(n); i++ {
			b.Int[i] = dtype.Int(b.Elem, b.Int[i-1]+b.Int[i]).Int
		}
	case *Sort:
		lo, hi := m.eval(s.Lo).Int, m.eval(s.Hi).Int
		slices.Sort(m.span(s.Array, lo, hi).Int[lo:hi])
	case *SortPlaces:
		m.sortPlaces(s)
	case *MarkPlace:
		m.markPlace(s)
	case *ListPlaces:
		m.listPlaces(s)
	case *SortBy:
		m.sortBy(s)
	default:
		panic(fmt.Sprintf("BUG: no execution for statement %T", s))
	}
}

func (m *machine) alloc(s *Alloc) {
	n := m.eval(s.Size).Int
	if n < 0 || n > 1<<32 {
		m.failf("array %s of %d elements", s.Array.Name, n)
	}
	b := NewBuffer(s.Array.Elem, int(n))
	if !s.Zero {
		b.poison(0)
	}
	m.arrays[s.Array.Name] = b
}

// grow leaves room to spare by doubling, as compiled code does.
func (m *machine) grow(s *Grow) {
	n, room := m.eval(s.Size).Int, m.vars[s.Capacity.Name].Int
	b := m.span(s.Array, 0, 0)
	if int64(b.Len()) < room {
		m.failf("capacity %s is %d, array %s has %d elements", s.Capacity.Name, room, s.Array.Name, b.Len())
	}
	if n <= room {
		return
	}
	n = max(n, 2*room)
	if n > 1<<32 {
		m.failf("array %s of %d elements", s.Array.Name, n)
	}
	b.resize(int(n))
	m.vars[s.Capacity.Name] = intValue(s.Capacity.T.Elem, n)
}

func (m *machine) sortBy(s *SortBy) {
	n, extent := m.eval(s.Count).Int, m.eval(s.Extent).Int
	perm := m.span(s.Perm, 0, n).Int[:n]
	keys := m.span(s.Key, 0, n).Int[:n]
	seen := make([]bool, n)
	for _, p := range perm {
		if p < 0 || p >= n || seen[p] {
			m.failf("%s is no permutation of 0..%d", s.Perm.Name, n-1)
		}
		seen[p] = true
		if keys[p] < 0 || keys[p] >= extent {
			m.failf("key %d in %s is outside 0..%d", keys[p], s.Key.Name, extent-1)
		}
	}
	slices.SortStableFunc(perm, func(a, b int64) int { return int(keys[a] - keys[b]) })
}
