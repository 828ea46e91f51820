package autoschedule

import (
	"math/bits"
	"slices"

	"libsparse/libsparse/index"
)

// partition says how sets of operands are cut in two: into parts that are connected by variables, since the product of
// others would be an outer product. Sets are bits.
type partition struct {
	neighbours []uint // by operand: the operands that share a variable with it
	rank       []int  // by operand: its place along the chain
	runs       bool   // parts have to be runs of neighbours along the chain, since there are too many others
}

func newPartition(factors []index.Expr, most int) partition {
	n := len(factors)
	p := partition{neighbours: make([]uint, n), rank: make([]int, n)}
	for i, e := range factors {
		vars := index.Vars(e)
		for k, other := range factors {
			if i != k && slices.ContainsFunc(index.Vars(other), func(v index.Var) bool { return slices.Contains(vars, v) }) {
				p.neighbours[i] |= 1 << k
			}
		}
	}
	p.line()
	whole := uint(1)<<n - 1
	splits := 0
	for set := whole; set > 0 && splits <= most; set-- {
		if set == whole || p.connected(set) {
			p.each(set, func(uint) { splits++ })
		}
	}
	p.runs = splits > most
	return p
}

// line ranks the operands so that connected ones are close together: from an end of the chain, each time one that is
// connected to what is there.
func (p *partition) line() {
	n := len(p.neighbours)
	first := 0
	for i, near := range p.neighbours {
		if bits.OnesCount(near) < bits.OnesCount(p.neighbours[first]) {
			first = i
		}
	}
	placed, near := uint(0), uint(1)<<first
	for place := range n {
		if near == 0 {
			near = (uint(1)<<n - 1) &^ placed
		}
		next := bits.TrailingZeros(near)
		p.rank[next] = place
		placed |= 1 << next
		near = (near | p.neighbours[next]) &^ placed
	}
}

// connected reports whether the operands of a set are connected among themselves.
func (p *partition) connected(set uint) bool {
	reached := set & -set
	for {
		next := reached
		for rest := reached; rest > 0; rest &= rest - 1 {
			next |= p.neighbours[bits.TrailingZeros(rest)] & set
		}
		if next == reached {
			return reached == set
		}
		reached = next
	}
}

// run reports whether the operands of a set are neighbours along the chain.
func (p *partition) run(set uint) bool {
	low, high := len(p.rank), -1
	for rest := set; rest > 0; rest &= rest - 1 {
		r := p.rank[bits.TrailingZeros(rest)]
		low, high = min(low, r), max(high, r)
	}
	return high-low+1 == bits.OnesCount(set)
}

// each calls visit with one part of every cut of a set; the other part is what remains.
func (p *partition) each(set uint, visit func(left uint)) {
	whole := p.connected(set)
	allowed := func(part uint) bool {
		return (!p.runs || p.run(part)) && (!whole || p.connected(part))
	}
	// Each cut is met twice; the part with the lowest operand comes first.
	for left := (set - 1) & set; left > 0; left = (left - 1) & set {
		if left&(set&-set) == 0 || !allowed(left) || !allowed(set&^left) {
			continue
		}
		visit(left)
	}
}
