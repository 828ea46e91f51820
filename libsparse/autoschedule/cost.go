package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// The cost model prices an order of the loops in units of one innermost iteration: iterations of every loop, element
// accesses that are not contiguous, insertions into workspaces and their sort, conversions, and threads left idle.
const (
	costLoop      = 0.5  // starting an inner loop
	costStrided   = 1.0  // a step of the innermost loop that is not contiguous in some tensor
	costInsert    = 4.0  // an insertion into a row
	costList      = 40.0 // an insertion into a list and its share of the sort
	costConvert   = 20.0 // an entry of a converted operand, paid once a pattern
	reuse         = 8.0  // how often a pattern is expected to be used again
	costOneThread = 2.0  // factor where the outermost loop can't be divided
)

// model is an assignment prepared for pricing many orders: variables are numbers, in the order of Assignment.Vars.
type model struct {
	assignment *index.Assignment
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
	free     []bool // by variable: it is one of the result's
	at       []int  // by variable: its place in the order that is being priced
}

// operand is an access prepared for pricing.
type operand struct {
	access *index.Access
	vars   []int  // by level
	full   []bool // by level
	share  []float64
	fixed  bool // it can't be converted
	coo    bool // it is better converted than walked
	nnz    float64
	// Of the order that is being priced:
	arranged  []int // the variables by level, after a conversion
	converted bool
}

// node is an expression prepared for pricing.
type node struct {
	operand int // of an access, or -1
	region  index.Region
	args    []node
	missing bool
}

func newModel(a *index.Assignment) *model {
	m := &model{assignment: a, vars: a.Vars()}
	m.at = make([]int, len(m.vars))
	for _, v := range m.vars {
		m.extents = append(m.extents, float64(max(a.Extent(v), 1)))
		m.free = append(m.free, slices.Contains(a.LHS.Vars, v))
	}
	// A copy from one format to another is itself the conversion.
	copied := len(index.Accesses(a.RHS)) == 1 && len(a.Reduced()) == 0
	m.rhs = m.prepare(a.RHS, copied)
	m.result = m.operand(a.LHS)
	if t := a.LHS.Tensor; discovered(t) {
		groups := t.Format.Groups()
		m.sparse = groups[len(groups)-1].Last + 1
		m.stored = m.result.vars
		m.inserted = len(a.Reduced()) == 0 && t.Format.Rowwise()
	}
	return m
}

func (m *model) prepare(e index.Expr, copied bool) node {
	switch e := e.(type) {
	case *index.Access:
		o := m.operand(e)
		o.fixed = copied || m.assignment.LHS.Tensor.Owner() == e.Tensor.Owner()
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
		return node{operand: -1, region: index.All}
	}
}

func (m *model) operand(a *index.Access) operand {
	f := a.Tensor.Format
	o := operand{access: a, nnz: float64(max(a.Tensor.NNZ, 1)), share: make([]float64, len(m.vars))}
	volume, sparse := 1.0, 0
	for l, level := range f.Levels {
		v := slices.Index(m.vars, a.Vars[f.ModeOrder[l]])
		o.vars = append(o.vars, v)
		o.full = append(o.full, level.Props().Full)
		volume *= m.extents[v]
		if !level.Props().Full {
			sparse++
		}
	}
	// Stored entries are spread over the sparse levels evenly in the logarithm, and never thinner than one a parent.
	density := math.Pow(min(1, o.nnz/volume), 1/float64(max(sparse, 1)))
	for _, v := range o.vars {
		o.share[v] = min(1, max(density, 1/m.extents[v]))
	}
	o.arranged = slices.Clone(o.vars)
	// COO is walked on one thread only; CSR holds the same in less.
	o.coo = f.Order() == 2 && !f.Levels[0].Props().Unique
	return o
}

// price is the cost of an order; infinite if some format contradicts it.
func (m *model) price(order []int) float64 {
	for depth, v := range order {
		m.at[v] = depth
	}
	cost := 0.0
	for i := range m.operands {
		o := &m.operands[i]
		if !o.arrange(m.at) {
			return math.Inf(1)
		}
		if o.converted {
			cost += costConvert * o.nnz / reuse
		}
	}
	m.result.arrange(m.at)
	copy(m.result.arranged, m.result.vars)
	if len(order) == 0 {
		return cost
	}
	iterations, total := 1.0, 0.0
	for _, v := range order {
		iterations *= m.extents[v] * m.occupancy(&m.rhs, v)
		total += iterations * costLoop
	}
	total += iterations * (1 - costLoop + costStrided*m.strided(order[len(order)-1]) + m.scatter(order))
	if !m.free[order[0]] {
		total *= costOneThread
	}
	return cost + total
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
	o.converted = !o.fixed && (!ok || o.coo)
	if !o.converted {
		return ok
	}
	for i := 1; i < len(o.arranged); i++ {
		for j := i; j > 0 && at[o.arranged[j]] < at[o.arranged[j-1]]; j-- {
			o.arranged[j], o.arranged[j-1] = o.arranged[j-1], o.arranged[j]
		}
	}
	return true
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
			if w == v && !o.full[l] {
				return o.share[v]
			}
		}
		return 1
	case n.region == index.All:
		return 1
	case n.region == index.Left:
		return m.occupancy(&n.args[0], v)
	}
	every, none := 1.0, 1.0
	for i := range n.args {
		p := m.occupancy(&n.args[i], v)
		every, none = every*p, none*(1-p)
	}
	if n.region == index.Every {
		return every
	}
	return 1 - none
}

// strided is how many tensors are not walked contiguously by the innermost loop: those that store its variable further
// out, and dense ones where the loop skips coordinates.
func (m *model) strided(v int) float64 {
	skips := false
	for i := range m.operands {
		o := &m.operands[i]
		for l, w := range o.arranged {
			skips = skips || w == v && !o.full[l]
		}
	}
	count := 0.0
	contiguous := func(o *operand) {
		for l, w := range o.arranged {
			if w == v && (l != len(o.arranged)-1 || skips && o.full[l]) {
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
	case m.inserted, q == len(m.stored)-1 && m.sparse == len(m.stored):
		return costInsert
	default:
		return costList
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

// format is the format that o is converted to: the same kinds of level with the modes in the order of the loops; what was
// COO becomes CSR, or its analogue.
func (o *operand) format(vars []index.Var) format.Format {
	f := o.access.Tensor.Format
	g := format.Format{Levels: slices.Clone(f.Levels)}
	for l, level := range f.Levels {
		g.ModeOrder = append(g.ModeOrder, slices.Index(o.access.Vars, vars[o.arranged[l]]))
		if !level.Props().Full {
			g.Levels[l] = format.Compressed{Unique: true}
		}
	}
	if o.coo && float64(o.access.Tensor.Extents[g.ModeOrder[0]]) <= 4*o.nnz {
		g.Levels[0] = format.Dense{}
	}
	return g
}
