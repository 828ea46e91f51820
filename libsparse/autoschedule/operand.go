package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// operand is an access prepared for pricing.
type operand struct {
	access  *index.Access
	storage *bind.Storage
	vars    []int  // by level
	full    []bool // by level
	// located says by level whether its coordinates are found without a walk.
	located []bool
	dense   bool // all levels are full
	fixed   bool // it can't be converted
	coo     bool // it is better converted than walked
	hashed  bool // a level of it is met in no order where an order is needed
	shares  bool // an operand before it has its pattern
	leads   bool // operands behind it have its pattern
	nnz     float64
	// disordered says that some level of it is met in no order.
	disordered bool
	// Of the order that is being priced: the variables by level, which levels are full, the share of the coordinates
	// below one parent that each stores, and by variable the level that stores it, or -1.
	arranged  []int
	filled    []bool
	share     []float64
	place     []int
	converted bool
}

func (m *model) operand(a *index.Access) operand {
	s := m.assignment.Of(a.Tensor)
	f := s.Format
	n := len(f.Levels)
	numbers := make([]int, 2*n+len(m.vars))
	flags := make([]bool, 3*n)
	o := operand{
		access: a, storage: s, nnz: m.entries(s), dense: true,
		vars: numbers[:n:n], arranged: numbers[n : 2*n : 2*n], place: numbers[2*n:],
		full: flags[:n:n], filled: flags[n : 2*n : 2*n], located: flags[2*n:], share: make([]float64, n),
	}
	for l, level := range f.Levels {
		o.vars[l] = slices.Index(m.vars, a.Vars[f.ModeOrder[l]])
		p := level.Props()
		o.full[l], o.located[l] = p.Full, p.Locate
		o.dense = o.dense && o.full[l]
		o.disordered = o.disordered || !p.Ordered
		o.share[l] = 1
	}
	copy(o.arranged, o.vars)
	copy(o.filled, o.full)
	o.locate()
	// COO is walked on one thread only; CSR holds the same in less.
	o.coo = f.Order() == 2 && !f.Levels[0].Props().Unique
	return o
}

// entries is the number of entries of a tensor: the counted one, or an estimate with density Rho.
func (m *model) entries(t *bind.Storage) float64 {
	if t.NNZ > 0 {
		return float64(t.NNZ)
	}
	n := m.constants.Rho
	for _, e := range t.Extents {
		n *= float64(max(e, 1))
	}
	return max(n, 1)
}

// locate notes which level stores each variable.
func (o *operand) locate() {
	for v := range o.place {
		o.place[v] = -1
	}
	for l, v := range o.arranged {
		o.place[v] = l
	}
}

// needsOrder reports whether a level of an access that is met in no order is walked together with another, or appended to
// the result. A level that is located in needs none.
func needsOrder(a bind.Assignment, acc *index.Access) bool {
	f := a.Of(acc.Tensor).Format
	for l, level := range f.Levels {
		v := acc.Vars[f.ModeOrder[l]]
		if level.Props().Ordered || level.Props().Full {
			continue
		}
		loop := lattice.Loop(a.Table, a.RHS, v)
		if loop.Points[0].Has(lattice.Key(a.Table, acc, l)) &&
			(len(loop.Iterators()) > 1 || a.Result().Discovered() && slices.Contains(a.LHS.Vars, v)) {
			return true
		}
		// Others may be sparse in v once they are converted, which in a product makes no difference.
		others := slices.ContainsFunc(index.Accesses(a.RHS), func(b *index.Access) bool {
			return b != acc && !a.Dense(b) && slices.Contains(b.Vars, v)
		})
		if others && !conjunctive(a.RHS) {
			return true
		}
	}
	return false
}

// conjunctive reports whether an expression has a value only where all accesses have one.
func conjunctive(e index.Expr) bool {
	c, ok := e.(*index.Call)
	if !ok {
		return true
	}
	least := c.Region.Least()
	return len(least) == 1 && least[0] == 1<<len(c.Args)-1 && !slices.ContainsFunc(c.Args, func(arg index.Expr) bool { return !conjunctive(arg) })
}

// walks reports whether o stores some coordinates of v only.
func (o *operand) walks(v int) bool {
	l := o.place[v]
	return l >= 0 && !o.filled[l]
}

// mode is the mode of the access that is over v.
func (o *operand) mode(v int) int {
	return o.storage.Format.ModeOrder[slices.Index(o.vars, v)]
}

// props are the properties of the level that stores v, of an operand that isn't converted.
func (o *operand) props(v int) format.Props {
	return o.storage.Format.Levels[o.place[v]].Props()
}

// finds reports whether o finds a coordinate of v without a walk.
func (o *operand) finds(v int) bool {
	l := o.place[v]
	return l >= 0 && !o.converted && o.located[l]
}

// shareOf is the share of the coordinates of v that o stores below one parent.
func (o *operand) shareOf(v int) float64 {
	if l := o.place[v]; l >= 0 {
		return o.share[l]
	}
	return 1
}

// jumps is 1 where the innermost loop over v doesn't walk o contiguously, else 0; skips says that it passes over
// coordinates.
func (o *operand) jumps(v int, skips bool) float64 {
	if l := o.place[v]; l >= 0 && (l != len(o.arranged)-1 || skips && (o.filled[l] || o.finds(v))) {
		return 1
	}
	return 0
}

// arrange finds out whether the loops visit o's levels in order, and puts its modes in their order if not. It reports
// whether that is possible.
func (o *operand) arrange(at []int) bool {
	if o.dense {
		o.restore()
		return true
	}
	deepest, ok := -1, true
	for l, v := range o.vars {
		ok = ok && (o.full[l] || at[v] > deepest)
		deepest = max(deepest, at[v])
	}
	copy(o.arranged, o.vars)
	copy(o.filled, o.full)
	o.converted = !o.fixed && (!ok || o.coo || o.hashed)
	if o.converted {
		o.sort(at)
		o.keepStored()
	}
	o.locate()
	return ok || o.converted
}

// sort puts the modes into the order of the loops.
func (o *operand) sort(at []int) {
	for i := 1; i < len(o.arranged); i++ {
		for j := i; j > 0 && at[o.arranged[j]] < at[o.arranged[j-1]]; j-- {
			o.arranged[j], o.arranged[j-1] = o.arranged[j-1], o.arranged[j]
		}
	}
}

// keepStored has a conversion store what o does and nothing beside it: a block of the dense levels at the end is over variables
// of o's own blocks, or it would hold elements that o doesn't.
func (o *operand) keepStored() {
	block, last := o.block(), len(o.filled)-1
	for last > 0 && o.filled[last] && slices.Contains(block, o.arranged[last]) {
		last--
	}
	o.filled[last] = false
}

// block is the variables of the dense levels at the end: all their coordinates are stored, or none, so that entries come in blocks.
func (o *operand) block() []int {
	first := len(o.full)
	for first > 0 && o.full[first-1] {
		first--
	}
	return o.vars[first:]
}

// sink makes dense levels of a conversion compressed that would have far more positions than there are entries.
func (m *model) sink(o *operand) {
	positions := 1.0
	for l, v := range o.arranged {
		positions *= m.extents[v]
		if o.filled[l] && slices.Contains(o.filled[l:], false) && positions > m.constants.LongRow+m.constants.SparseTop*o.nnz {
			o.filled[l] = false
		}
	}
}

// lift makes compressed levels dense that inner loops would merge with another operand's for the same parent again and again, unless far
// too few of their coordinates are stored. Walked alone, or once, they cost less as they are.
func (m *model) lift(o *operand) {
	if o.dense || o.fixed {
		return
	}
	above := 1.0 // positions, at most
	for l, v := range o.arranged {
		if !slices.Contains(o.filled[l+1:], false) {
			return // with no other sparse level that would make the whole tensor dense
		}
		positions := above * m.extents[v]
		if !o.filled[l] && positions <= m.constants.SparseTop*o.nnz && (l == 0 && o.coo || m.merged(o, v) && m.comesAgain(o, l)) {
			o.filled[l], o.converted = true, true
		}
		above = positions
		if !o.filled[l] {
			above = min(above, o.nnz)
		}
	}
}

// comesAgain reports whether the loop over a level of o is started several times for one parent, and looks coordinates up
// where the level is dense.
func (m *model) comesAgain(o *operand, l int) bool {
	if l > 0 && (!m.product || o.storage.Temporary) { // whose copies are made in each call
		return false
	}
	for u, depth := range m.at {
		if depth < m.at[o.arranged[l]] && !slices.Contains(o.arranged[:l], u) {
			return true
		}
	}
	return false
}

// spread estimates what each level stores, with the blocks of entries scattered at random: of v places, n blocks hit
// v * (1 - exp(-n/v)).
func (o *operand) spread(extents []float64) {
	if o.dense {
		return
	}
	block, blocks := o.block(), o.nnz
	for _, v := range block {
		blocks /= extents[v]
	}
	volume, inside, above := 1.0, 1.0, 1.0
	for l, v := range o.arranged {
		if slices.Contains(block, v) {
			inside *= extents[v]
		} else {
			volume *= extents[v]
		}
		held := above * extents[v]
		if !o.filled[l] {
			held = min(held, -inside*volume*math.Expm1(-blocks/volume))
		}
		o.share[l] = held / (above * extents[v])
		above = held
	}
}

// conversions are the tensors to convert for the order that was priced last.
func (m *model) conversions() []Conversion {
	var out []Conversion
	for i := range m.operands {
		o := &m.operands[i]
		if o.converted {
			out = append(out, Conversion{Tensor: o.access.Tensor, To: o.format(m.vars)})
		}
	}
	if o := &m.result; o.converted {
		out = append(out, Conversion{Tensor: o.access.Tensor, To: o.format(m.vars)})
	}
	return out
}

// format is the format that o is converted to, with the modes in the order of the loops.
func (o *operand) format(vars []index.Var) format.Format {
	f := o.storage.Format
	g := format.Format{Levels: slices.Clone(f.Levels)}
	for l := range f.Levels {
		g.ModeOrder = append(g.ModeOrder, slices.Index(o.access.Vars, vars[o.arranged[l]]))
		g.Levels[l] = format.Compressed{Unique: true}
		if o.filled[l] {
			g.Levels[l] = format.Dense{}
		}
	}
	return g
}
