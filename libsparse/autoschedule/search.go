package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/index"
)

// exhaustive is the number of variables up to which every order is priced.
const exhaustive = 5

// candidate is one order with what it costs.
type candidate struct {
	order       []index.Var
	conversions []Conversion
	cost        float64
}

// search finds the cheapest order: by trying all for few variables, else by moving one variable at a time from the order
// of the expression until no move helps. It returns nil if no order is possible.
func search(a *index.Assignment) (best *candidate, considered int) {
	m := newModel(a)
	order := make([]int, len(m.vars))
	for i := range order {
		order[i] = i
	}
	cheapest, cost := slices.Clone(order), math.Inf(1)
	try := func(o []int) bool {
		considered++
		c := m.price(o)
		if c >= cost {
			return false
		}
		copy(cheapest, o)
		cost = c
		return true
	}
	if len(order) <= exhaustive {
		permute(order, 0, func(o []int) { try(o) })
	} else {
		try(m.possible())
		climb(order, try, cheapest)
	}
	if math.IsInf(cost, 1) {
		return nil, considered
	}
	m.price(cheapest)
	best = &candidate{cost: cost, conversions: m.conversions()}
	for _, v := range cheapest {
		best.order = append(best.order, m.vars[v])
	}
	return best, considered
}

// possible is an order that suits the operands that have to stay as they are.
func (m *model) possible() []int {
	var order []int
	put := func(v int) {
		if !slices.Contains(order, v) {
			order = append(order, v)
		}
	}
	for _, o := range m.operands {
		if o.fixed {
			for _, v := range o.vars {
				put(v)
			}
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
	for improved := true; improved; {
		improved = false
		for v := range order {
			for to := range order {
				moved := slices.DeleteFunc(slices.Clone(cheapest), func(w int) bool { return w == v })
				improved = try(slices.Insert(moved, to, v)) || improved
			}
		}
	}
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
