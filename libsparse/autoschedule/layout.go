package autoschedule

// A dense operand or result that the innermost loop doesn't walk contiguously keeps the loop out of vector lanes. Its modes can be
// put into the order of the loops: an operand's before the kernel runs, the result's after it. Unlike the copy of a sparse operand,
// which is kept with its pattern, this one is made in each call.

// movable reports whether the modes of a dense tensor may be put into another order: of a result only if it is stored in the order
// of its indices, since its caller sees that, and of an operand only if one access reads it.
func (m *model) movable(o *operand) bool {
	switch {
	case !o.storage.Format.Dense() || len(o.vars) < 2 || o.storage.SamePattern != nil:
		return false
	case o == &m.result:
		return !m.inPlace && identity(o.storage.Format.ModeOrder)
	default:
		return !m.any(func(p *operand) bool { return p != o && p.access.Tensor == o.access.Tensor })
	}
}

func identity(order []int) bool {
	for i, m := range order {
		if i != m {
			return false
		}
	}
	return true
}

// jumping visits the tensors that the innermost loop over v doesn't walk contiguously.
func (m *model) jumping(v int, visit func(*operand)) {
	for i := range m.operands {
		if o := &m.operands[i]; o.jumps(v, false) > 0 {
			visit(o)
		}
	}
	if m.result.jumps(v, false) > 0 {
		visit(&m.result)
	}
}

// worthCopies reports whether the innermost loop of an order costs less, with the copies that put it into lanes.
func (m *model) worthCopies(order []int, iterations, strided float64) bool {
	c, v := m.constants, order[len(order)-1]
	if m.sparse > 0 || m.extents[v] < c.Shortest || m.any(func(o *operand) bool { return m.walks(o, v) }) {
		return false
	}
	copies, possible := 0.0, true
	m.jumping(v, func(o *operand) {
		possible = possible && m.movable(o)
		copies += m.copying(o)
	})
	if !m.free[v] {
		copies += m.fold(order)
	}
	return possible && copies+c.lane(m.extents[v])*iterations < (1+c.Strided*strided)*iterations
}

// copying is what a copy of a dense tensor costs.
func (m *model) copying(o *operand) float64 {
	cost := m.constants.Copy
	for _, v := range o.vars {
		cost *= m.extents[v]
	}
	return cost + m.constants.Step/4
}

// copyDense arranges the dense tensors that the innermost loop over v jumps in, and returns what the copies cost.
func (m *model) copyDense(v int) (cost float64) {
	m.jumping(v, func(o *operand) {
		o.converted = true
		o.sort(m.at)
		o.locate()
		cost += m.copying(o)
	})
	return cost
}

// restore gives a dense operand its own order again.
func (o *operand) restore() {
	if o.converted {
		o.converted = false
		copy(o.arranged, o.vars)
		o.locate()
	}
}
