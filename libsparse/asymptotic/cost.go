package asymptotic

import "slices"

// meter computes the costs of programs by abstract interpretation, as in the paper's figure 5.
type meter struct {
	*problem
	*store
	*logic
	patterns []dnfID // by leaf: the coordinates at which it isn't zero
	states   [][maxWorkspaces]dnfID
	stateIDs map[[maxWorkspaces]dnfID]stateID
	known    map[situation]outcome
	sunkCost costID
}

// stateID numbers states: for each workspace, the coordinates at which it may be nonzero. In state 0 there are no workspaces.
type stateID int32

// situation is a statement in its context: the variables bound by loops around it, the condition under which it is executed, and
// the state of the workspaces.
type situation struct {
	n     nodeID
	bound varset
	guard dnfID
	state stateID
}

// outcome is the cost of a statement, and the coordinates at which what it writes may be nonzero.
type outcome struct {
	cost  costID
	wrote dnfID
}

func newMeter(p *problem, s *store) *meter {
	m := &meter{
		problem: p, store: s, logic: newLogic(p.assumed, p.dims, p.filled),
		stateIDs: map[[maxWorkspaces]dnfID]stateID{}, known: map[situation]outcome{},
	}
	m.state([maxWorkspaces]dnfID{})
	for i := range p.leaves {
		d := always
		if l := &p.leaves[i]; l.sparse {
			d = m.disjunction([]conjID{m.conjunction(conj{l.clause()})})
		}
		m.patterns = append(m.patterns, d)
	}
	for _, t := range p.sunk {
		m.sunkCost = m.union(m.sunkCost, m.emit(t.head, m.disjunction([]conjID{m.conjunction(t.body)})))
	}
	return m
}

func (m *meter) state(s [maxWorkspaces]dnfID) stateID {
	id, ok := m.stateIDs[s]
	if !ok {
		id = stateID(len(m.states))
		m.states = append(m.states, s)
		m.stateIDs[s] = id
	}
	return id
}

// total is the cost of a program, sunk tasks included.
func (m *meter) total(n nodeID) costID {
	return m.union(m.sunkCost, m.complexity(situation{n: n, guard: always}).cost)
}

func (m *meter) complexity(at situation) outcome {
	if at.guard == never || at.n == 0 {
		return outcome{}
	}
	if out, ok := m.known[at]; ok {
		return out
	}
	var out outcome
	switch st := m.nodes[at.n]; st.kind {
	case assign:
		out = outcome{m.emit(at.bound, at.guard), m.quantify(at.guard, at.bound&^st.vars)}
	case where:
		out = m.produced(st, at)
	case loop:
		out = m.iterated(st, at)
	}
	m.known[at] = out
	return out
}

// produced is the outcome of a where: the workspace begins as zero.
func (m *meter) produced(st node, at situation) outcome {
	at.n = nodeID(st.b)
	producer := m.complexity(at)
	consumer := m.complexity(m.consuming(at, nodeID(st.a), st.ws, producer.wrote))
	consumer.cost = m.union(consumer.cost, producer.cost)
	return consumer
}

// consuming is the situation of a where's consumer.
func (m *meter) consuming(at situation, consumer nodeID, ws int8, wrote dnfID) situation {
	s := m.states[at.state]
	s[ws] = wrote
	at.n, at.state = consumer, m.state(s)
	return at
}

// iterated is the outcome of a loop. The loop visits the coordinates that each of its steppers stores. For every set of steppers that
// may be zero there, the body is simplified, and executed where the steppers that it still reads are nonzero.
func (m *meter) iterated(st node, at situation) outcome {
	body := nodeID(st.a)
	steppers := m.steppers(body, st.v)
	inner := at
	inner.bound |= 1 << st.v
	if steppers == 0 {
		inner.n = body
		out := m.complexity(inner)
		out.cost = m.union(out.cost, m.emit(inner.bound, at.guard))
		return out
	}
	var out outcome
	var seen []nodeID
	for gone := leafset(0); ; gone = (gone - steppers) & steppers { // the subsets, ascending
		inner.n = m.without(body, gone)
		if !slices.Contains(seen, inner.n) {
			seen = append(seen, inner.n)
			inner.guard = m.narrowed(at, steppers&m.readBy(inner.n), inner.bound)
			o := m.complexity(inner)
			out.cost, out.wrote = m.union(out.cost, o.cost), m.or(out.wrote, o.wrote)
		}
		if gone == steppers {
			break
		}
	}
	for l := range int8(64) {
		if steppers&(1<<l) != 0 {
			out.cost = m.union(out.cost, m.emit(inner.bound, m.narrowed(at, 1<<l, inner.bound)))
		}
	}
	return out
}

// narrowed is the guard and the condition that each read of set is nonzero at the bound variables.
func (m *meter) narrowed(at situation, set leafset, within varset) dnfID {
	guard := at.guard
	for l := 0; set>>l != 0; l++ {
		if set&(1<<l) == 0 {
			continue
		}
		pattern := m.states[at.state][max(l-maxLeaves, 0)]
		if l < maxLeaves {
			pattern = m.patterns[l]
		}
		guard = m.and(guard, m.quantify(pattern, ^within))
	}
	return guard
}
