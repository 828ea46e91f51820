package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// The cost model prices an order of the loops in units of one innermost iteration: iterations of every loop, element
// accesses that are not contiguous, insertions into workspaces and their sort, sums kept in memory, conversions, and
// threads left idle.

// Terms are what the cost of an order is made of.
type Terms struct {
	// Loops is iterations of all loops; Strided what accesses that are not contiguous add; Insert insertions into rows and
	// lists, and updates of sums in memory; Idle threads without work; Convert the share of converting operands.
	Loops, Strided, Insert, Idle, Convert float64
}

// Sum is the cost.
func (t Terms) Sum() float64 { return t.Loops + t.Strided + t.Insert + t.Idle + t.Convert }

// model is an assignment prepared for pricing many orders: variables are numbers, in the order of Assignment.Vars.
type model struct {
	assignment bind.Assignment
	constants  *Constants
	machine    Machine
	program    *cin.Program // see naive
	lattices   map[latticeKey]lattice.Lattice
	vars       []index.Var
	exact      []int64 // extents, 0 where they aren't known
	extents    []float64
	result     operand
	operands   []operand
	rhs        node
	// product says that the right-hand side has a value where all sparse operands have one.
	product bool
	// stored is the result's variables in storage order, and sparse how many leading levels of it are appended to; it is
	// 0 where the result's pattern is known.
	stored   []int
	sparse   int
	inserted bool
	reduces  bool
	longRow  bool    // its last mode is too long for a dense row
	reuse    float64 // how often a converted operand is used
	inPlace  bool    // what reads the result reads it in the order of its modes
	free     []bool  // by variable: it is one of the result's
	at       []int   // by variable: its place in the order that is being priced
	// around is, by depth of the order that is being priced, how often the loop there is started; the last entry is how
	// often the body runs.
	around []float64
	visits []float64 // by depth: how many iterations of the loop there have a body
	looked lookup    // of the order that is being priced: the row that its innermost loop looks others' coordinates up in
}

// node is an expression prepared for pricing.
type node struct {
	operand int // of an access, or -1
	region  index.Region
	args    []node
	missing bool
}

func newModel(a bind.Assignment, c *Constants, machine Machine) *model {
	m := &model{assignment: a, constants: c, machine: machine, vars: a.Vars()}
	n := len(m.vars)
	numbers := make([]float64, 3*n+1)
	m.at, m.extents, m.visits, m.around = make([]int, n), numbers[:n:n], numbers[n:2*n:2*n], numbers[2*n:]
	m.exact, m.free = make([]int64, n), make([]bool, n)
	for i, v := range m.vars {
		m.exact[i] = a.Extent(v)
		m.extents[i] = float64(max(m.exact[i], 1))
		m.free[i] = slices.Contains(a.LHS.Vars, v)
	}
	m.reduces = slices.Contains(m.free, false)
	accesses := index.Accesses(a.RHS)
	m.operands = make([]operand, 0, len(accesses))
	// A copy from one format to another is itself the conversion.
	copied := len(accesses) == 1 && !m.reduces
	m.product = true
	m.rhs = m.prepare(a.RHS, copied)
	m.result = m.operand(a.LHS)
	m.reuse = c.Reuse
	if s := a.Result(); s.Few && s.Format.Dense() {
		m.reuse = c.FewUses
	}
	for i := range m.operands {
		o := &m.operands[i]
		o.hashed = needsOrder(a, o.access)
		o.shares = !o.dense && m.repeated(i)
	}
	if s := a.Result(); s.Discovered() {
		m.sparse = s.AppendedLevels()
		m.stored = m.result.vars
		m.inserted = !m.reduces && insertable(a, c)
		m.longRow = tooLong(a, c, a.Stored(a.LHS)[len(a.LHS.Vars)-1])
	}
	return m
}

func (m *model) prepare(e index.Expr, copied bool) node {
	switch e := e.(type) {
	case *index.Access:
		o := m.operand(e)
		lhs := m.assignment.LHS
		o.fixed = copied || m.assignment.Together(lhs, e)
		m.operands = append(m.operands, o)
		return node{operand: len(m.operands) - 1}
	case *index.Call:
		n := node{operand: -1, region: e.Region, args: make([]node, len(e.Args))}
		m.product = m.product && e.Region.IsProduct()
		for i, arg := range e.Args {
			n.args[i] = m.prepare(arg, copied)
		}
		return n
	case *index.Missing:
		m.product = false
		return node{operand: -1, missing: true}
	default:
		return node{operand: -1, region: index.Everywhere(0)}
	}
}

// arrange stores the operands for an order, and counts conversions; ok is false if some format contradicts it.
func (m *model) arrange(order []int) (converted float64, ok bool) {
	for depth, v := range order {
		m.at[v] = depth
	}
	m.result.restore()
	for i := range m.operands {
		if !m.operands[i].arrange(m.at) {
			return 0, false
		}
	}
	for i := range m.operands {
		o := &m.operands[i]
		m.lift(o)
		if o.converted {
			m.sink(o)
			converted += o.nnz
		}
	}
	for i := range m.operands {
		m.operands[i].spread(m.extents)
	}
	return converted, true
}

// loops counts how often the loops of an order run, and is what they cost but for their body.
func (m *model) loops(order []int) (cost float64) {
	c, last := m.constants, len(order)-1
	m.around[0], m.looked = 1, lookup{}
	for depth, v := range order {
		share, merged := m.visited(v)
		visits := m.around[depth] * m.extents[v] * share
		m.visits[depth] = m.extents[v] * m.occupancy(v)
		m.around[depth+1] = m.around[depth] * m.visits[depth]
		switch {
		case m.all(v):
			if !(depth == last && m.overlaid(v)) {
				visits = m.around[depth] * m.extents[v] // each is compared with what is stored next
			}
			cost += visits
		case merged && depth == last:
			row, passed := m.lookups(order, v, visits*c.Merge)
			m.looked, cost = row, cost+passed
		case merged:
			cost += visits * c.Merge
		case m.looksUp(v):
			cost += visits // each with a branch, whether or not anything is there
		case depth != last:
			cost += visits * c.Loop
		}
	}
	return cost
}

// again is how many blocks of entries are walked that were walked before: where a loop over places in blocks is further out than all loops
// over what is outside of blocks, these walk all blocks for each place. The copy of a converted operand has no blocks.
func (m *model) again() (walked float64) {
	for i := range m.operands {
		o := &m.operands[i]
		block := o.block()
		if o.dense || o.converted || len(block) == 0 {
			continue
		}
		first, blocks, passes := len(m.vars), o.nnz, 1.0
		for _, v := range o.vars[:len(o.vars)-len(block)] {
			first = min(first, m.at[v])
		}
		for _, v := range block {
			blocks /= m.extents[v]
			if m.at[v] < first {
				passes *= m.extents[v]
			}
		}
		walked += blocks * (passes - 1)
	}
	return walked
}

// price is the cost of an order; ok is false if some format contradicts it.
func (m *model) price(order []int) (t Terms, ok bool) {
	t, w, ok := m.priceLoops(order, math.Inf(1))
	if ok {
		t.Idle = m.idle(order, w, t)
	}
	return t, ok
}

// priceLoops is price without idle threads, with the workspace of the order; ok is false also of an order that costs limit or more.
func (m *model) priceLoops(order []int, limit float64) (t Terms, w workspace, ok bool) {
	converted, ok := m.arrange(order)
	if !ok {
		return t, w, false
	}
	c := m.constants
	t.Convert = c.Convert * converted / m.reuse
	if len(order) == 0 {
		return t, w, true
	}
	t.Loops = m.loops(order) + c.Again*m.again()
	if t.Sum() >= limit {
		return t, w, false
	}
	iterations, last := m.around[len(order)], order[len(order)-1]
	strided, lanes := m.contiguous(last)
	if strided > 0 && m.worthCopies(order, iterations, strided) {
		t.Convert += m.copyDense(last)
		strided, lanes = m.contiguous(last)
	}
	lane := 0.0
	if lanes {
		lane = c.lane(m.extents[last])
		t.Loops += lane * iterations
	} else {
		t.Loops += iterations
	}
	if lanes && !m.free[last] {
		t.Loops += m.fold(order)
	}
	if m.single(order) {
		t.Loops += iterations
	}
	t.Strided = iterations * c.Strided * strided
	w = m.place(order)
	t.Insert = m.written(w, iterations, lane)
	return t, w, t.Sum() < limit
}

// fold is what the ends of reductions in lanes cost, of which those of several elements are one where the loop around them is long enough. Each adds up half of the lanes
// that are left, of sixteen where there are as many terms.
func (m *model) fold(order []int) float64 {
	depth, halvings := len(order)-1, math.Floor(math.Log2(min(m.extents[order[len(order)-1]], 16)))
	folds := m.constants.Fold * m.around[depth] * halvings / 4
	if count := grouped(m.assignment); depth > 1 && m.free[order[depth-1]] && count > 1 && m.around[depth] >= float64(count)*m.around[depth-1] {
		folds *= m.constants.FoldTogether
	}
	return folds
}

// single reports whether a loop of one iteration stands where it is in the way: innermost inside of a reduction, whose sums would
// wait for each other, or outermost, where threads would divide it.
func (m *model) single(order []int) bool {
	one := func(v int) bool { return m.exact[v] == 1 && m.free[v] }
	return len(order) > 1 && m.reduces && (one(order[0]) || one(order[len(order)-1]))
}

// idle is what the threads without work cost, where the plan for an order leaves its loops to one and there is work for several; results of
// their own cost as much.
func (m *model) idle(order []int, w workspace, t Terms) float64 {
	if len(order) == 0 || m.around[len(order)] <= m.constants.Grain {
		return 0
	}
	if s := m.threads(order, w); !s.alone() && s != apart {
		return 0
	}
	return (m.constants.OneThread - 1) * (t.Loops + t.Strided + t.Insert)
}

// any reports whether some operand has a property.
func (m *model) any(property func(*operand) bool) bool {
	for i := range m.operands {
		if property(&m.operands[i]) {
			return true
		}
	}
	return false
}

// merged reports whether an operand besides o stores only some coordinates of v.
func (m *model) merged(o *operand, v int) bool {
	return m.any(func(other *operand) bool { return other != o && m.walks(other, v) })
}

// visited is the share of the coordinates of v that the loop passes: all if no level stores them, else what the levels
// that are walked together store. merged says that there are several.
func (m *model) visited(v int) (share float64, merged bool) {
	sum, walked := 0.0, 0
	for i := range m.operands {
		o := &m.operands[i]
		if !o.shares && m.walks(o, v) { // operands with one pattern are walked once
			sum += o.shareOf(v)
			walked++
		}
	}
	if walked == 0 {
		return 1, false
	}
	return min(sum, 1+sum/2), walked > 1
}

// all reports whether the loop over v visits every coordinate, though operands store only some.
func (m *model) all(v int) bool {
	return !m.product && m.any(func(o *operand) bool { return m.walks(o, v) }) && m.occupancy(v) >= 1
}

// overlaid reports whether such a loop, where it is the innermost, is two: one writes a dense result as if nothing were stored, the other what is.
func (m *model) overlaid(v int) bool {
	return !m.reduces && m.result.dense && m.all(v)
}

// walks reports whether the loop over v walks what o stores of it. In a product, a level that finds coordinates without a walk looks up
// those that others have.
func (m *model) walks(o *operand, v int) bool {
	return o.walks(v) && !(m.product && o.finds(v) && m.driven(v))
}

// driven reports whether an operand stores only some coordinates of v, so that the loop must walk it.
func (m *model) driven(v int) bool {
	return m.any(func(o *operand) bool { return o.walks(v) && !o.finds(v) })
}

// looksUp reports whether the loop over v looks up, in an operand, each coordinate that others have.
func (m *model) looksUp(v int) bool {
	return m.any(func(o *operand) bool { return o.walks(v) && !m.walks(o, v) })
}

// contiguous is how the innermost loop over v meets elements: strided is how many tensors it doesn't walk contiguously,
// those that store v further out, and dense ones where the loop skips coordinates; lanes says that it can run in vector
// lanes.
func (m *model) contiguous(v int) (strided float64, lanes bool) {
	skips := m.any(func(o *operand) bool { return m.walks(o, v) }) && !m.overlaid(v)
	for i := range m.operands {
		strided += m.operands[i].jumps(v, skips)
	}
	strided += m.result.jumps(v, skips)
	return strided, !skips && strided == 0 && m.sparse == 0 && m.extents[v] >= m.constants.Shortest
}

// written is the cost of writing the result from a workspace, of body terms, each of which costs lane where it is in lanes, else 0: insertions where its entries don't come in
// storage order, and updates of sums that don't stay in registers. Scalars are added to memory as fast as to a register, whose sums
// wait for each other.
func (m *model) written(w workspace, body, lane float64) float64 {
	c, fillings := m.constants, m.around[w.at]
	switch w.kind {
	case inMemory:
		if lane > 0 {
			return body * c.Update * lane
		}
		return 0
	case insertion:
		return c.Insert * body
	case row, block:
		places := w.places * fillings
		return c.Entry*places*-math.Expm1(-body/max(places, 1)) + c.Scatter*body
	case hashTable:
		elements := w.elements() // of one filling, which are sorted
		return c.Hash*body + c.List*fillings*elements*math.Log2(2+elements)
	case sortedList:
		return c.List * body * math.Log2(2+body/max(fillings, 1))
	default:
		return 0
	}
}
