package autoschedule

import (
	"cmp"
	"math"
	"slices"

	"libsparse/libsparse/index"
)

// Priced is an order with its cost.
type Priced struct {
	Order []index.Var
	Cost  float64
	Terms Terms
}

// search finds the cheapest order: by trying all for few variables, else by moving one variable at a time from the order
// of the expression until no move helps. It returns nil if no order is possible. seen, if it isn't nil, gets every possible
// order that was priced. The cost has to be below limit.
func (m *model) search(exhaustive int, limit float64, seen *[]Priced) (best []int, cost Terms) {
	order := make([]int, len(m.vars))
	for i := range order {
		order[i] = i
	}
	cheapest, least, found := slices.Clone(order), limit, false
	try := func(o []int) bool {
		most := least
		if seen != nil {
			most = math.Inf(1)
		}
		t, w, ok := m.priceLoops(o, most)
		if !ok {
			return false
		}
		t.Idle = m.idle(o, w, t)
		if seen != nil {
			*seen = append(*seen, Priced{m.named(o), t.Sum(), t})
		}
		if t.Sum() >= least {
			return false
		}
		copy(cheapest, o)
		cost, least, found = t, t.Sum(), true
		return true
	}
	if len(order) <= exhaustive {
		permute(order, 0, func(o []int) { try(o) })
	} else {
		try(m.possible())
		climb(order, try, cheapest)
	}
	if !found {
		return nil, cost
	}
	return cheapest, cost
}

// plan is the complete candidate of the order that was priced last.
func (m *model) plan(order []int, terms Terms) *plan {
	p := &plan{order: m.named(order), terms: terms, conversions: m.conversions(), around: slices.Clone(m.around), lookup: m.looked}
	if len(order) > 0 {
		p.workspace = m.place(order)
		p.sharing = m.threads(order, p.workspace)
		p.bounded = m.bounded(order, p.workspace)
	}
	return p
}

// named is an order by the names of its variables.
func (m *model) named(order []int) []index.Var {
	out := make([]index.Var, len(order))
	for i, v := range order {
		out[i] = m.vars[v]
	}
	return out
}

// possible is an order that suits the operands that have to stay as they are, and of the others first those that store
// most.
func (m *model) possible() []int {
	operands := make([]*operand, len(m.operands))
	for i := range m.operands {
		operands[i] = &m.operands[i]
	}
	rank := func(o *operand) float64 {
		switch {
		case o.fixed:
			return 2
		case o.dense:
			return -1
		default:
			return 1 - 1/o.nnz
		}
	}
	slices.SortStableFunc(operands, func(a, b *operand) int { return cmp.Compare(rank(b), rank(a)) })
	order := make([]int, 0, len(m.vars))
	put := func(v int) {
		if !slices.Contains(order, v) {
			order = append(order, v)
		}
	}
	for _, o := range operands {
		for _, v := range o.vars {
			put(v)
		}
	}
	for v := range m.vars {
		put(v)
	}
	return order
}

// climb moves one variable at a time as long as that helps. cheapest is the best order so far, which try keeps.
func climb(order []int, try func([]int) bool, cheapest []int) {
	try(order)
	moved := make([]int, len(order))
	for improved := true; improved; {
		improved = false
		for _, v := range order {
			for to := range order {
				if cheapest[to] == v {
					continue
				}
				move(moved, cheapest, v, to)
				improved = try(moved) || improved
			}
		}
	}
}

// move makes moved the order with v at a place.
func move(moved, order []int, v, to int) {
	n := 0
	for _, w := range order {
		if n == to {
			n++
		}
		if w != v {
			moved[n] = w
			n++
		}
	}
	moved[to] = v
}

// permute visits the permutations of s[k:], s itself first. Rotating keeps the others in their order, so that earlier
// permutations stay closest to the first.
func permute(s []int, k int, visit func([]int)) {
	if k >= len(s)-1 {
		visit(s)
		return
	}
	permute(s, k+1, visit)
	for i := k + 1; i < len(s); i++ {
		v := s[i]
		copy(s[k+1:i+1], s[k:i])
		s[k] = v
		permute(s, k+1, visit)
		copy(s[k:i], s[k+1:i+1])
		s[i] = v
	}
}
