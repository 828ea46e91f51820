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
	terms       Terms
}

// Priced is an order with its cost.
type Priced struct {
	Order []index.Var
	Cost  float64
	Terms Terms
}

// search finds the cheapest order: by trying all for few variables, else by moving one variable at a time from the order
// of the expression until no move helps. It returns nil if no order is possible. seen, if it isn't nil, gets every possible
// order that was priced.
func search(a *index.Assignment, c *Constants, seen *[]Priced) (best *candidate) {
	m := newModel(a, c)
	order := make([]int, len(m.vars))
	for i := range order {
		order[i] = i
	}
	cheapest, cost := slices.Clone(order), math.Inf(1)
	try := func(o []int) bool {
		t, ok := m.price(o)
		if !ok {
			return false
		}
		if seen != nil {
			*seen = append(*seen, Priced{m.named(o), t.Sum(), t})
		}
		if t.Sum() >= cost {
			return false
		}
		copy(cheapest, o)
		cost = t.Sum()
		return true
	}
	if len(order) <= exhaustive {
		permute(order, 0, func(o []int) { try(o) })
	} else {
		try(m.possible())
		climb(order, try, cheapest)
	}
	if math.IsInf(cost, 1) {
		return nil
	}
	terms, _ := m.price(cheapest)
	return &candidate{order: m.named(cheapest), terms: terms, conversions: m.conversions()}
}

// named is an order by the names of its variables.
func (m *model) named(order []int) []index.Var {
	out := make([]index.Var, len(order))
	for i, v := range order {
		out[i] = m.vars[v]
	}
	return out
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
