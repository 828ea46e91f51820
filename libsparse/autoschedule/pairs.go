package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/index"
)

// mostFactors is how many operands a product may have for a path: sets of them are bits of a word.
const mostFactors = 60

// ofMany is the cheapest of one nest over all operands and a path of which pairs are the first steps; nil where these leave too many operands.
func (p *pathSearch) ofMany() *contraction {
	_, _, nest := p.price(p.all(), p.operands, math.Inf(1))
	if !p.pairUp(p.constants.PathOperands) {
		return nil
	}
	clear(p.sums)
	whole := p.search()
	whole.nest, whole.cost = nest, min(nest, whole.cost)
	return whole
}

// pairUp contracts pairs of operands until there are few enough for a search, each time the pair whose result is smallest beside what goes into it, and of
// several such pairs the cheapest. Operands that own the pattern of the result stay as they are. It reports whether there are few enough then.
func (p *pathSearch) pairUp(most int) bool {
	priced := map[[2]*contraction]*contraction{}
	for len(p.operands) > most {
		var best *contraction
		for i, x := range p.operands {
			for _, y := range p.operands[i+1:] {
				if p.ownsPattern(x) || p.ownsPattern(y) {
					continue
				}
				pair := priced[[2]*contraction{x, y}]
				if pair == nil {
					pair = &contraction{set: x.set | y.set, parts: []*contraction{x, y}}
					pair.result, pair.storage, pair.nest = p.price(pair.set, pair.parts, math.Inf(1))
					pair.cost = x.cost + y.cost + pair.nest
					priced[[2]*contraction{x, y}] = pair
				}
				if !math.IsInf(pair.nest, 1) && (best == nil || p.isBetter(pair, best)) {
					best = pair
				}
			}
		}
		if best == nil {
			return false
		}
		p.replace(best)
	}
	return true
}

// isBetter reports whether a pair is to be contracted before another one.
func (p *pathSearch) isBetter(pair, other *contraction) bool {
	x, y := p.growth(pair), p.growth(other)
	return x < y || x == y && pair.nest < other.nest
}

// growth is by how many elements the result of a pair is larger than the pair.
func (p *pathSearch) growth(pair *contraction) int64 {
	return p.stored(pair) - p.stored(pair.parts[0]) - p.stored(pair.parts[1])
}

// stored is how many elements a part stores, of a function of elements the most that one of its operands does.
func (p *pathSearch) stored(c *contraction) int64 {
	if c.storage != nil {
		return c.storage.NNZ
	}
	most := int64(0)
	for _, acc := range index.Accesses(c.result) {
		most = max(most, p.assignment.Of(acc.Tensor).NNZ)
	}
	return most
}

// ownsPattern reports whether an operand is the one whose pattern the result is to have.
func (p *pathSearch) ownsPattern(c *contraction) bool {
	return p.pattern != nil && p.keepsPattern([]*contraction{c})
}

// replace puts a pair in the place of its parts, the first operand from then on.
func (p *pathSearch) replace(pair *contraction) {
	rest := slices.DeleteFunc(slices.Clone(p.operands), func(o *contraction) bool { return slices.Contains(pair.parts, o) })
	p.operands = append([]*contraction{pair}, rest...)
	for i, o := range p.operands {
		o.set = 1 << i
	}
}
