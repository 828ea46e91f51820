package autoschedule

// occupancy is the share of the coordinates of v at which the right-hand side exists.
func (m *model) occupancy(v int) float64 {
	if !m.product {
		return m.given(0, v)
	}
	share := 1.0
	for i := range m.operands {
		if o := &m.operands[i]; !o.shares {
			share *= o.shareOf(v)
		}
	}
	return share
}

// given is occupancy where operands before number i that share patterns have a value, or none: those with one pattern have values together.
func (m *model) given(i, v int) float64 {
	for i < len(m.operands) && !(m.operands[i].leads && m.operands[i].shareOf(v) < 1) {
		i++
	}
	if i == len(m.operands) {
		return m.exists(&m.rhs, v)
	}
	share := m.operands[i].shareOf(v)
	suppose := func(share float64) {
		for k := i; k < len(m.operands); k++ {
			if at := m.operands[k].place[v]; at >= 0 && m.samePattern(i, k) {
				m.operands[k].share[at] = share
			}
		}
	}
	suppose(1)
	all := m.given(i+1, v)
	suppose(0)
	none := m.given(i+1, v)
	suppose(share)
	return share*all + (1-share)*none
}

// exists is the share of the coordinates of v at which an expression exists: a product of independent shares for
// products, what remains of the complement for sums.
func (m *model) exists(n *node, v int) float64 {
	switch {
	case n.missing:
		return 0
	case n.operand >= 0:
		return m.operands[n.operand].shareOf(v)
	}
	var p [maxArgs]float64
	total := 0.0
	for k := range n.args {
		p[k] = m.exists(&n.args[k], v)
	}
	for set := range uint(1) << len(n.args) {
		if !n.region.Has(set) {
			continue
		}
		share := 1.0
		for k := range n.args {
			if set&(1<<k) == 0 {
				share *= 1 - p[k]
			} else {
				share *= p[k]
			}
		}
		total += share
	}
	return total
}

// maxArgs is how many arguments a call has at most.
const maxArgs = 6

// repeated reports whether the loops that walk an earlier operand walk operand i too: it has the same pattern and variables.
func (m *model) repeated(i int) bool {
	for k := range i {
		if m.samePattern(k, i) {
			m.operands[k].leads = !m.operands[k].shares
			return true
		}
	}
	return false
}

// samePattern reports whether two operands have their entries together.
func (m *model) samePattern(i, k int) bool {
	return m.assignment.Together(m.operands[i].access, m.operands[k].access)
}
