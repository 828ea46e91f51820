package space

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	reach  = 3   // choices of an ordinal parameter in each direction
	moves  = 6   // of a real parameter
	spread = 0.1 // of the widest of these moves, in the scaled range; each is a third as wide as the one before it
)

// Neighbours calls yield with the points that differ from one in a single parameter and satisfy the constraints.
//
// Of an ordinal parameter they are the nearest three choices in each direction, of a categorical one all, of a
// permutation all exchanges of two elements, of a real one some random values near by. The point that yield gets is
// only lent to it.
func (s *Space) Neighbours(at Point, random *rand.Rand, yield func(Point)) {
	to := slices.Clone(at)
	for i, p := range s.Params {
		try := func(x float64) bool {
			to[i] = x
			ok := !slices.ContainsFunc(s.related[i], func(c *constraint) bool { return !c.allows(to) })
			if ok {
				yield(to)
			}
			return ok
		}
		switch p.Kind {
		case Real:
			for move := range moves {
				width := spread / math.Pow(3, float64(move%3))
				x := p.scale(at[i], p.Low, p.High) + width*random.NormFloat64()
				try(p.at(min(max(x, 0), 1)))
			}
		case Ordinal:
			for _, step := range []int{-1, 1} {
				for x, found := int(at[i])+step, 0; x >= 0 && x < len(p.Values) && found < reach; x += step {
					if try(float64(x)) {
						found++
					}
				}
			}
		case Categorical:
			for x := range p.Labels {
				if float64(x) != at[i] {
					try(float64(x))
				}
			}
		case Permutation:
			p.exchanges(int(at[i]), func(x int) { try(float64(x)) })
		}
		to[i] = at[i]
	}
}

// exchanges calls yield with the choices that differ from one by the exchange of two elements.
func (p *Parameter) exchanges(choice int, yield func(int)) {
	order := slices.Clone(p.orders[choice])
	for j := range order {
		for i := range j {
			order[i], order[j] = order[j], order[i]
			yield(p.choice(order))
			order[i], order[j] = order[j], order[i]
		}
	}
}

// choice is the number of an order among those of its elements in the dictionary.
func (p *Parameter) choice(order []int) int {
	number := 0
	for i, element := range order {
		smaller := 0
		for _, later := range order[i+1:] {
			if later < element {
				smaller++
			}
		}
		number = number*(len(order)-i) + smaller
	}
	return number
}
