package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/index"
)

// exhaustive is the number of variables up to which every order is priced.
const exhaustive = 5

// search finds the cheapest order: by trying all for few variables, else by moving one variable at a time from the order
// of the expression until no move helps.
func search(a *index.Assignment) (best *candidate, considered int) {
	vars := a.Vars()
	try := func(order []index.Var) bool {
		considered++
		c := estimate(a, order)
		if best == nil || c.cost < best.cost {
			best = &c
			return true
		}
		return false
	}
	defer func() {
		if best != nil && math.IsInf(best.cost, 1) {
			best = nil
		}
	}()
	if len(vars) <= exhaustive {
		permute(vars, 0, func(order []index.Var) { try(order) })
		return best, considered
	}
	try(vars)
	for improved := true; improved; {
		improved = false
		for _, v := range vars {
			for to := range vars {
				order := slices.DeleteFunc(slices.Clone(best.order), func(w index.Var) bool { return w == v })
				improved = try(slices.Insert(order, to, v)) || improved
			}
		}
	}
	return best, considered
}

// permute visits the permutations of vars[k:], vars itself first.
func permute(vars []index.Var, k int, visit func([]index.Var)) {
	if k >= len(vars)-1 {
		visit(vars)
		return
	}
	permute(vars, k+1, visit)
	for i := k + 1; i < len(vars); i++ {
		// Rotating keeps the others in their order, so that earlier permutations stay closest to the expression.
		v := vars[i]
		copy(vars[k+1:i+1], vars[k:i])
		vars[k] = v
		permute(vars, k+1, visit)
		copy(vars[k:i], vars[k+1:i+1])
		vars[i] = v
	}
}
