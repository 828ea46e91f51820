package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// The cost model prices an order of the loops in units of one innermost iteration: iterations of every loop, element
// accesses that are not contiguous, insertions into workspaces and their sort, conversions, and threads left idle.

// Terms are what the cost of an order is made of.
type Terms struct {
	// Loops is iterations of all loops, Strided what accesses that are not contiguous add, Insert insertions into rows and
	// lists, Idle threads without work, Convert the share of converting operands.
	Loops, Strided, Insert, Idle, Convert float64
}

// Sum is the cost.
func (t Terms) Sum() float64 { return t.Loops + t.Strided + t.Insert + t.Idle + t.Convert }

// model is an assignment prepared for pricing many orders: variables are numbers, in the order of Assignment.Vars.
type model struct {
	assignment *index.Assignment
	constants  *Constants
	vars       []index.Var
	extents    []float64
	result     operand
	operands   []operand
	rhs        node
	// stored is the result's variables in storage order, and sparse how many leading levels of it are appended to; it is
	// 0 where the result's pattern is known.
	stored   []int
	sparse   int
	inserted bool
	longRow  bool   // its last mode is too long for a dense row
	free     []bool // by variable: it is one of the result's
	at       []int  // by variable: its place in the order that is being priced
}

// operand is an access prepared for pricing.
type operand struct {
	access *index.Access
	vars   []int  // by level
	full   []bool // by level
	fixed  bool   // it can't be converted
	coo    bool   // it is better converted than walked
	hashed bool   // a level of it is met in no order where an order is needed
	shares bool   // another operand has its pattern
	nnz    float64
	// Of the order that is being priced: the variables by level, which levels are full, and the share of the coordinates
	// below one parent that each stores.
	arranged  []int
	filled    []bool
	share     []float64
	converted bool
	lifted    bool // the first level is made dense
}

// node is an expression prepared for pricing.
type node struct {
	operand int // of an access, or -1
	region  index.Region
	args    []node
	missing bool
}

func newModel(a *index.Assignment, c *Constants) *model {
	m := &model{assignment: a, constants: c, vars: a.Vars()}
	m.at = make([]int, len(m.vars))
	for _, v := range m.vars {
		m.extents = append(m.extents, float64(max(a.Extent(v), 1)))
		m.free = append(m.free, slices.Contains(a.LHS.Vars, v))
	}
	// A copy from one format to another is itself the conversion.
	copied := len(index.Accesses(a.RHS)) == 1 && len(a.Reduced()) == 0
	m.rhs = m.prepare(a.RHS, copied)
	m.result = m.operand(a.LHS)
	for i := range m.operands {
		o := &m.operands[i]
		o.hashed = needsOrder(a, o.access)
		o.shares = m.repeated(i)
	}
	if t := a.LHS.Tensor; discovered(t) {
		groups := t.Format.Groups()
		m.sparse = groups[len(groups)-1].Last + 1
		m.stored = m.result.vars
		m.inserted = len(a.Reduced()) == 0 && t.Format.Rowwise()
		m.longRow = tooLong(a, c, storageOrder(a.LHS)[len(a.LHS.Vars)-1])
	}
	return m
}

// repeated reports whether the loops that walk an earlier operand walk operand i too: it has the same pattern and variables.
func (m *model) repeated(i int) bool {
	access := m.operands[i].access
	return slices.ContainsFunc(m.operands[:i], func(o operand) bool {
		return o.access.Tensor.Owner() == access.Tensor.Owner() && slices.Equal(o.access.Vars, access.Vars)
	})
}

func (m *model) prepare(e index.Expr, copied bool) node {
	switch e := e.(type) {
	case *index.Access:
		o := m.operand(e)
		lhs := m.assignment.LHS
		o.fixed = copied && !matched(m.assignment, e) || lhs.Tensor.Owner() == e.Tensor.Owner() && slices.Equal(lhs.Vars, e.Vars)
		m.operands = append(m.operands, o)
		return node{operand: len(m.operands) - 1}
	case *index.Call:
		n := node{operand: -1, region: e.Region}
		for _, arg := range e.Args {
			n.args = append(n.args, m.prepare(arg, copied))
		}
		return n
	case *index.Missing:
		return node{operand: -1, missing: true}
	default:
		return node{operand: -1, region: index.Everywhere(0)}
	}
}

func (m *model) operand(a *index.Access) operand {
	f := a.Tensor.Format
	o := operand{access: a, nnz: float64(max(a.Tensor.NNZ, 1))}
	for l, level := range f.Levels {
		o.vars = append(o.vars, slices.Index(m.vars, a.Vars[f.ModeOrder[l]]))
		o.full = append(o.full, level.Props().Full)
	}
	o.arranged, o.filled, o.share = slices.Clone(o.vars), slices.Clone(o.full), make([]float64, len(o.vars))
	// COO is walked on one thread only; CSR holds the same in less.
	o.coo = f.Order() == 2 && !f.Levels[0].Props().Unique
	return o
}

// matched reports whether a level of an access that is met in no order is matched against all coordinates.
func matched(a *index.Assignment, acc *index.Access) bool {
	f := acc.Tensor.Format
	for l, level := range f.Levels {
		if !level.Props().Ordered && lattice.Build(a.RHS, acc.Vars[f.ModeOrder[l]]).Full() {
			return true
		}
	}
	return false
}

// needsOrder reports whether a level of an access that is met in no order is merged with another, or appended to the
// result.
func needsOrder(a *index.Assignment, acc *index.Access) bool {
	f := acc.Tensor.Format
	for l, level := range f.Levels {
		v := acc.Vars[f.ModeOrder[l]]
		if level.Props().Ordered {
			continue
		}
		// Others that are sparse now, or will be in v once they are converted.
		merged := slices.ContainsFunc(index.Accesses(a.RHS), func(b *index.Access) bool {
			return b != acc && !b.Tensor.Format.Dense() && slices.Contains(b.Vars, v)
		})
		if merged || lattice.Build(a.RHS, v).Full() || discovered(a.LHS.Tensor) && slices.Contains(a.LHS.Vars, v) {
			return true
		}
	}
	return false
}

// price is the cost of an order; ok is false if some format contradicts it.
func (m *model) price(order []int) (t Terms, ok bool) {
	for depth, v := range order {
		m.at[v] = depth
	}
	for i := range m.operands {
		if !m.operands[i].arrange(m.at) {
			return t, false
		}
	}
	for i := range m.operands {
		o := &m.operands[i]
		m.lift(o)
		if o.converted {
			t.Convert += m.constants.Convert * o.nnz / m.constants.Reuse
		}
	}
	for i := range m.operands {
		m.operands[i].spread(m.extents)
	}
	if len(order) == 0 {
		return t, true
	}
	iterations := 1.0
	for _, v := range order {
		share, merged := m.visited(v)
		step := m.constants.Loop
		if merged {
			step = m.constants.Merge
		}
		t.Loops += iterations * m.extents[v] * share * step
		iterations *= m.extents[v] * m.occupancy(&m.rhs, v)
	}
	t.Loops += iterations * (1 - m.constants.Loop)
	t.Strided = iterations * m.constants.Strided * m.strided(order[len(order)-1])
	t.Insert = iterations * m.scatter(order)
	if !m.free[order[0]] {
		t.Idle = (m.constants.OneThread - 1) * (t.Loops + t.Strided + t.Insert)
	}
	return t, true
}

// arrange finds out whether the loops visit o's levels in order, and puts its modes in their order if not. It reports
// whether that is possible.
func (o *operand) arrange(at []int) bool {
	deepest, ok := -1, true
	for l, v := range o.vars {
		ok = ok && (o.full[l] || at[v] > deepest)
		deepest = max(deepest, at[v])
	}
	copy(o.arranged, o.vars)
	copy(o.filled, o.full)
	o.converted = !o.fixed && (!ok || o.coo || o.hashed)
	if o.converted {
		for i := 1; i < len(o.arranged); i++ {
			for j := i; j > 0 && at[o.arranged[j]] < at[o.arranged[j-1]]; j-- {
				o.arranged[j], o.arranged[j-1] = o.arranged[j-1], o.arranged[j]
			}
		}
	}
	return ok || o.converted
}

// lift makes a compressed first level dense that an inner loop would merge with another operand's, unless far too few of
// its coordinates are stored. Walked alone it costs less as it is.
func (m *model) lift(o *operand) {
	o.lifted = false
	// With no other sparse level that would make the whole tensor dense.
	if o.fixed || !slices.Contains(o.full[min(1, len(o.full)):], false) || o.full[0] {
		return
	}
	top := o.arranged[0]
	o.lifted = (o.coo || m.at[top] > 0 && m.merged(o, top)) && m.extents[top] <= m.constants.SparseTop*o.nnz
	o.filled[0] = o.lifted
	o.converted = o.converted || o.lifted
}

// merged reports whether an operand besides o stores some coordinates of v only.
func (m *model) merged(o *operand, v int) bool {
	for i := range m.operands {
		other := &m.operands[i]
		for l, w := range other.arranged {
			if other != o && w == v && !other.filled[l] {
				return true
			}
		}
	}
	return false
}

// spread estimates what each level stores, with the entries scattered at random: of v places, n entries hit
// v * (1 - exp(-n/v)).
func (o *operand) spread(extents []float64) {
	volume, above := 1.0, 1.0
	for l, v := range o.arranged {
		volume *= extents[v]
		held := above * extents[v]
		if !o.filled[l] {
			held = min(held, -volume*math.Expm1(-o.nnz/volume))
		}
		o.share[l] = held / (above * extents[v])
		above = held
	}
}

// occupancy is the share of the coordinates of v at which an expression exists: a product of independent shares for
// products, what remains of the complement for sums.
func (m *model) occupancy(n *node, v int) float64 {
	switch {
	case n.missing:
		return 0
	case n.operand >= 0:
		o := &m.operands[n.operand]
		for l, w := range o.arranged {
			if w == v {
				return o.share[l]
			}
		}
		return 1
	}
	p, total := make([]float64, len(n.args)), 0.0
	for k := range n.args {
		p[k] = m.occupancy(&n.args[k], v)
	}
	for set := range uint(1) << len(n.args) {
		if !n.region.Has(set) {
			continue
		}
		share := 1.0
		for k, q := range p {
			if set&(1<<k) == 0 {
				q = 1 - q
			}
			share *= q
		}
		total += share
	}
	return total
}

// visited is the share of the coordinates of v that the loop passes: all if no level stores them, else what the levels
// that are walked together store. merged says that there are several.
func (m *model) visited(v int) (share float64, merged bool) {
	sum, walked := 0.0, 0
	for i := range m.operands {
		o := &m.operands[i]
		if o.shares {
			continue // walked once
		}
		for l, w := range o.arranged {
			if w == v && !o.filled[l] {
				sum += o.share[l]
				walked++
			}
		}
	}
	if walked == 0 {
		return 1, false
	}
	return min(sum, 1+sum/2), walked > 1
}

// strided is how many tensors are not walked contiguously by the innermost loop: those that store its variable further
// out, and dense ones where the loop skips coordinates.
func (m *model) strided(v int) float64 {
	skips := false
	for i := range m.operands {
		o := &m.operands[i]
		for l, w := range o.arranged {
			skips = skips || w == v && !o.filled[l]
		}
	}
	count := 0.0
	contiguous := func(o *operand) {
		for l, w := range o.arranged {
			if w == v && (l != len(o.arranged)-1 || skips && o.filled[l]) {
				count++
			}
		}
	}
	for i := range m.operands {
		contiguous(&m.operands[i])
	}
	contiguous(&m.result)
	return count
}

// scatter is the cost a term of writing a result whose entries don't come in storage order.
func (m *model) scatter(order []int) float64 {
	if m.sparse == 0 {
		return 0
	}
	q := 0
	for q < len(order) && q < len(m.stored) && order[q] == m.stored[q] {
		q++
	}
	switch {
	case q >= m.sparse:
		return 0
	case m.inserted, q == len(m.stored)-1 && m.sparse == len(m.stored) && !m.longRow:
		return m.constants.Insert
	default:
		return m.constants.List
	}
}

// conversions are what the order that was priced last wants converted.
func (m *model) conversions() []Conversion {
	var out []Conversion
	for i := range m.operands {
		o := &m.operands[i]
		if o.converted {
			out = append(out, Conversion{Tensor: o.access.Tensor, To: o.format(m.vars)})
		}
	}
	return out
}

// format is the format that o is converted to: the same kinds of level with the modes in the order of the loops, and a
// dense first one where that was decided.
func (o *operand) format(vars []index.Var) format.Format {
	f := o.access.Tensor.Format
	g := format.Format{Levels: slices.Clone(f.Levels)}
	for l, level := range f.Levels {
		g.ModeOrder = append(g.ModeOrder, slices.Index(o.access.Vars, vars[o.arranged[l]]))
		if !level.Props().Full {
			g.Levels[l] = format.Compressed{Unique: true}
		}
	}
	if o.lifted {
		g.Levels[0] = format.Dense{}
	}
	return g
}
