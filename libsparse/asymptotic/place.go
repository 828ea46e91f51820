package asymptotic

import "math/bits"

// placing is a grouping with the variables whose loops have yet to be put around or into it, in nests at most depth deep.
type placing struct {
	g     *grouping
	vars  varset
	depth int
	held  held
	path  string // the loops around it, if protocols depend on them: see subset.go
}

// division is a way to place the loops of a where: some stay outside, the others move into both sides.
type division struct {
	outside, inside    varset
	consumer, producer placing
}

// divisions lists the ways to move loops into both sides of a where. A producer that sums gets the loops over the variables that it
// uses, and the consumer those that the consumer uses. If the producer doesn't sum, the consumer gets all loops. The workspace is
// indexed by the variables that both sides loop over.
func (p *problem) divisions(at placing) []division {
	var out []division
	g := at.g
	inProducer, inConsumer := p.uses(g.producer, &at.held), p.uses(g.consumer, &at.held)
	for inside := at.vars; ; inside = (inside - 1) & at.vars {
		d := division{outside: at.vars &^ inside, inside: inside, consumer: at, producer: at}
		d.producer.g, d.producer.vars = g.producer, inside&inProducer
		d.consumer.g, d.consumer.vars = g.consumer, inside
		if g.reducing {
			d.consumer.vars = inside & inConsumer
		}
		d.consumer.held[g.ws] = d.producer.vars & d.consumer.vars
		d.producer.held[g.ws] = d.consumer.held[g.ws]
		left := at.depth - size(d.outside)
		d.consumer.depth, d.producer.depth = left, left
		if left >= 0 && p.depth(d.consumer) <= left && p.depth(d.producer) <= left {
			out = append(out, d)
		}
		if inside == 0 {
			return out
		}
	}
}

// depth is a lower bound of the depth of the deepest loop nest.
func (p *problem) depth(at placing) int {
	if at.g.producer == nil {
		return size(at.vars)
	}
	at.depth, at.path = bound, ""
	if least, ok := p.depths[at]; ok {
		return least
	}
	least := bound
	for _, d := range p.divisions(at) {
		least = min(least, size(d.outside)+max(p.depth(d.consumer), p.depth(d.producer)))
	}
	p.depths[at] = least
	return least
}

func size(s varset) int { return bits.OnesCount32(uint32(s)) }

// orders calls visit with every permutation of the variables in s.
func orders(s varset, visit func(order []uint8)) {
	order := make([]uint8, 0, size(s))
	var choose func(left varset)
	choose = func(left varset) {
		if left == 0 {
			visit(order)
			return
		}
		for rest := left; rest != 0; rest &= rest - 1 {
			v := uint8(bits.TrailingZeros32(uint32(rest)))
			order = append(order, v)
			choose(left &^ (1 << v))
			order = order[:len(order)-1]
		}
	}
	choose(s)
}
