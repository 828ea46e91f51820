package asymptotic

import "slices"

// unit is a part of the universe that one worker explores: the loop nests of a grouping without wheres, or one division
// of a where with its outer loops in one order.
type unit struct {
	at    placing
	order []uint8
	division
}

// units divides the universe of programs whose deepest nest is depth loops deep.
func (e *enumerator) units(groupings []*grouping, depth int) []unit {
	var out []unit
	for _, g := range groupings {
		at := placing{g: g, vars: e.all(), depth: depth}
		if e.depth(at) > depth || e.taco && g.wheres() > 1 {
			continue
		}
		if g.producer == nil {
			out = append(out, unit{at: at})
			continue
		}
		e.divide(at, func(order []uint8, d division) {
			out = append(out, unit{at, slices.Clone(order), d})
		})
	}
	return out
}

// explorer puts the programs of units on a front.
type explorer struct {
	*enumerator
	meter *meter
	front *front
	count int64 // programs, including those that are dominated before they are built
}

func newExplorer(p *problem, taco bool) *explorer {
	e := newEnumerator(p, taco)
	m := newMeter(p, e.store)
	return &explorer{enumerator: e, meter: m, front: newFront(m.logic)}
}

func (x *explorer) explore(u unit) {
	x.wheres = u.at.g.wheres()
	if u.at.g.producer == nil {
		programs := x.expand(u.at)
		x.count += int64(len(programs))
		for _, n := range programs {
			x.place(x.meter.total(n), n)
		}
		return
	}
	consumers, producers := x.expand(u.consumer), x.expand(u.producer)
	x.count += int64(len(consumers)) * int64(len(producers))
	if len(u.order) == 0 {
		x.apart(u, consumers, producers)
		return
	}
	for _, c := range consumers {
		for _, q := range producers {
			n := x.nest(u.order, x.where(u.at.g, c, q))
			x.place(x.meter.total(n), n)
		}
	}
}

// apart explores a where without loops around it. Its sides are priced separately: a producer that is dominated by itself is
// dominated with every consumer.
func (x *explorer) apart(u unit, consumers, producers []nodeID) {
	m, start := x.meter, situation{guard: always}
	for _, q := range producers {
		start.n = q
		producer := m.complexity(start)
		base := m.union(m.sunkCost, producer.cost)
		if x.front.dominated(base) {
			continue
		}
		for _, c := range consumers {
			consumer := m.complexity(m.consuming(start, c, int8(u.at.g.ws), producer.wrote))
			if at := x.front.at(m.union(base, consumer.cost)); at != nil {
				at.programs = append(at.programs, x.where(u.at.g, c, q))
			}
		}
	}
}

func (x *explorer) place(c costID, n nodeID) {
	if m := x.front.at(c); m != nil {
		m.programs = append(m.programs, n)
	}
}
