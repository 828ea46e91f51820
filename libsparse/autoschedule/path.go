package autoschedule

import (
	"math"
	"math/bits"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
)

// Path splits a product into steps that compute temporaries, where that is cheaper than one loop nest over all
// variables, as in A(i,j)*B(j,k)*x(k). It searches the ways to contract connected subsets of the operands, each subset by
// one nest or in two parts, with the costs of sparse loop nests instead of dense operation counts; what only one operand
// is summed over can be summed in that alone before, as the i in A(i,j)*x(j). Of many operands, pairs are contracted before.
// A product that is best in one nest is its own only step. The names of temporaries are added to names; cpu is as for Decide. If the result is to have the pattern of an
// operand, the last step reads that, or something else with its pattern: another pattern would have to be brought to it.
func Path(a bind.Assignment, names map[string]bool, cpu string, pattern *index.Tensor) []*index.Assignment {
	c, _ := ConstantsFor(cpu)
	p := newPathSearch(a, c)
	if p == nil {
		return []*index.Assignment{a.Assignment}
	}
	if pattern != nil && slices.Contains(a.Tensors(), pattern) {
		p.pattern = a.Owner(pattern)
	}
	whole := p.whole()
	if whole == nil || whole.nest <= c.PathGain*whole.cost {
		return []*index.Assignment{a.Assignment}
	}
	var steps []*index.Assignment
	p.emit(whole, a.LHS, names, &steps)
	return steps
}

// factors are the accesses of a plain sum of products.
func factors(a *index.Assignment) ([]*index.Access, bool) {
	if a.Reduce != dtype.Add {
		return nil, false
	}
	var out []*index.Access
	var walk func(e index.Expr) bool
	walk = func(e index.Expr) bool {
		switch e := e.(type) {
		case *index.Access:
			out = append(out, e)
			return true
		case *index.Call:
			return e.Multiplies() && walk(e.Args[0]) && walk(e.Args[1])
		default:
			return false
		}
	}
	return out, walk(a.RHS)
}

// Least is what the cheapest way to compute an assignment costs, in one nest or along a path.
func Least(a bind.Assignment, cpu string) float64 {
	c, _ := ConstantsFor(cpu)
	if p := newPathSearch(a, c); p != nil {
		if whole := p.whole(); whole != nil {
			return whole.cost
		}
	}
	_, cost := newModel(a, c, Machine{}).search(c.PathExhaustive, math.Inf(1), nil)
	return c.Step + cost.Sum()
}

// contraction is a subset of the operands, summed over the variables that neither the others nor the result need.
type contraction struct {
	set uint
	// result stands for the subset from outside, storage is how that is stored, nil of an operand.
	result  index.Expr
	storage *bind.Storage
	// parts are what the last nest of the cheapest way multiplies, none of an operand as it is.
	parts []*contraction
	// nest is the cost of one loop nest over the whole subset, cost that of the cheapest way.
	nest, cost float64
}

type pathSearch struct {
	assignment bind.Assignment
	constants  *Constants
	operands   []*contraction
	combine    dtype.Op
	scale      []index.Expr // factors without variables, which the last nest multiplies by
	negative   bool         // the last nest has the opposite
	parts      partition
	best, sums map[uint]*contraction
	pattern    *index.Tensor // whose pattern the result has, nil where that is open
	largest    float64       // how many elements a temporary may have that stores all
}

// newPathSearch prepares a search; it is nil where there is nothing to search for.
func newPathSearch(a bind.Assignment, c *Constants) *pathSearch {
	p := &pathSearch{assignment: a, constants: c, largest: largest(a), best: map[uint]*contraction{}, sums: map[uint]*contraction{}}
	var all []index.Expr
	if p.combine, all = combined(a.Assignment); len(all) == 0 || len(a.Reduced()) == 0 {
		return nil
	}
	var operands []index.Expr
	if c, ok := all[0].(*index.Call); ok && c.Op == dtype.Neg && len(all) == 1 {
		p.negative, all = true, index.Factors(c.Args[0])
	}
	for _, f := range all {
		if _, plain := f.(*index.Access); !plain && !index.OfElements(f, index.Vars(f)) {
			return nil
		}
		if len(index.Vars(f)) == 0 {
			p.scale = append(p.scale, f)
			continue
		}
		p.operands = append(p.operands, &contraction{set: 1 << len(operands), result: f})
		operands = append(operands, f)
	}
	alone := func(o *contraction) bool { return p.summed(o) != nil }
	if n := len(operands); n < 2 || n > mostFactors || n == 2 && !slices.ContainsFunc(p.operands, alone) {
		return nil
	}
	return p
}

// whole is the cheapest way to contract all operands; nil where there are too many, which can't be paired up.
func (p *pathSearch) whole() *contraction {
	if len(p.operands) > p.constants.PathOperands {
		return p.ofMany()
	}
	return p.search()
}

// search is the cheapest way to contract all operands, of which there are few.
func (p *pathSearch) search() *contraction {
	operands := make([]index.Expr, len(p.operands))
	for i, o := range p.operands {
		operands[i] = o.result
	}
	p.parts = newPartition(operands, p.constants.PathSplits)
	return p.find(p.all())
}

// largest is how many elements a dense temporary may have: as many as the operand with the most, or a million.
func largest(a bind.Assignment) float64 {
	most := float64(1 << 20)
	for _, acc := range index.Accesses(a.RHS) {
		elements := float64(a.Of(acc.Tensor).NNZ)
		if a.Dense(acc) {
			elements = 1
			for _, v := range acc.Vars {
				elements *= float64(max(a.Extent(v), 1))
			}
		}
		most = max(most, elements)
	}
	return most
}

// combined are the factors of a's right side, and what combines them: an operator over which the reduction distributes. There are none of others.
func combined(a *index.Assignment) (op dtype.Op, factors []index.Expr) {
	if a.Reduce == dtype.Add {
		return dtype.Mul, index.Factors(a.RHS)
	}
	e := a.RHS
	if c, ok := e.(*index.Call); ok && a.Reduce == dtype.Or && c.Function == index.Library()["truth"] {
		e = c.Args[0] // which is that of its factors
	}
	c, ok := e.(*index.Call)
	if !ok || c.Function != nil || !distributes(a.Reduce, c.Op, a.LHS.Tensor.Elem) {
		return "", nil
	}
	return c.Op, flattened(e, c.Op)
}

// distributes reports whether a reduction of values of type t distributes over op, which is no product: integers wrap, so that a sum may be less than one
// of a lesser number.
func distributes(reduce, op dtype.Op, t dtype.T) bool {
	switch reduce {
	case dtype.Min:
		return op == dtype.Max || op == dtype.Add && t.IsFloat()
	case dtype.Max:
		return op == dtype.Min || op == dtype.Add && t.IsFloat()
	case dtype.Or:
		return op == dtype.And
	default:
		return false
	}
}

// flattened are what op combines in e, where all of it has to be stored: e itself if it is something else.
func flattened(e index.Expr, op dtype.Op) []index.Expr {
	if c, ok := e.(*index.Call); ok && c.Op == op && c.Function == nil && len(c.Args) == 2 && c.Region.IsProduct() {
		return append(flattened(c.Args[0], op), flattened(c.Args[1], op)...)
	}
	return []index.Expr{e}
}

// product is what factors are combined to.
func (p *pathSearch) product(factors []index.Expr) index.Expr {
	out := factors[0]
	for _, f := range factors[1:] {
		out = index.Term(p.combine, out, f)
	}
	return index.Reducible(p.assignment.Reduce, out)
}

// all is the set of all operands.
func (p *pathSearch) all() uint { return 1<<len(p.operands) - 1 }

// find is the cheapest way to contract a set of operands.
func (p *pathSearch) find(set uint) *contraction {
	if c, ok := p.best[set]; ok {
		return c
	}
	c := &contraction{set: set}
	p.best[set] = c
	for i, o := range p.operands {
		if set&(1<<i) != 0 {
			c.parts = append(c.parts, o)
		}
	}
	if len(c.parts) == 1 {
		p.best[set] = c.parts[0]
		return c.parts[0]
	}
	c.result, c.storage, c.nest = p.price(set, c.parts, math.Inf(1))
	c.cost = c.nest
	p.parts.each(set, func(left uint) {
		for _, l := range p.ways(p.find(left)) {
			for _, r := range p.ways(p.find(set &^ left)) {
				p.try(c, slices.Concat(l, r))
			}
		}
	})
	return c
}

// ways are the factors that a nest over more than c can have in place of it: its result, or what that is the product of.
func (p *pathSearch) ways(c *contraction) [][]*contraction {
	if len(c.parts) > 0 {
		return [][]*contraction{{c}, c.parts}
	}
	if s := p.summed(c); s != nil {
		return [][]*contraction{{c}, {s}}
	}
	return [][]*contraction{{c}}
}

// summed is an operand summed over the variables that nothing else needs, nil if there are none.
func (p *pathSearch) summed(o *contraction) *contraction {
	s, ok := p.sums[o.set]
	if !ok {
		if slices.ContainsFunc(index.Vars(o.result), func(v index.Var) bool { return !p.needed(o.set, v) }) {
			s = &contraction{set: o.set, parts: []*contraction{o}}
			s.result, s.storage, s.cost = p.price(s.set, s.parts, math.Inf(1))
		}
		p.sums[o.set] = s
	}
	return s
}

// try has c be a nest over parts if that costs less than what is known.
func (p *pathSearch) try(c *contraction, parts []*contraction) {
	before, steps := 0.0, false
	for _, part := range parts {
		before += part.cost
		steps = steps || len(part.parts) > 0
	}
	if !steps || before >= c.cost || c.set == p.all() && !p.keepsPattern(parts) {
		return // whatever it costs to put them together
	}
	_, _, joint := p.price(c.set, parts, c.cost-before)
	if cost := before + joint; cost < c.cost {
		c.cost, c.parts = cost, slices.SortedFunc(slices.Values(parts), func(x, y *contraction) int {
			return bits.TrailingZeros(x.set) - bits.TrailingZeros(y.set)
		})
	}
}

// keepsPattern reports whether one of parts has the pattern that the result is to have, if any.
func (p *pathSearch) keepsPattern(parts []*contraction) bool {
	return p.pattern == nil || slices.ContainsFunc(parts, func(part *contraction) bool {
		if part.storage != nil {
			return part.storage.SamePattern == p.pattern
		}
		return slices.ContainsFunc(index.Accesses(part.result), func(acc *index.Access) bool { return p.assignment.Owner(acc.Tensor) == p.pattern })
	})
}

// price is what one loop nest over parts costs, and the access to its result; the cost is infinite if it isn't below limit.
func (p *pathSearch) price(set uint, parts []*contraction, limit float64) (*index.Access, *bind.Storage, float64) {
	b := p.assignment.Table
	terms := make([]index.Expr, len(parts))
	for i, part := range parts {
		terms[i] = part.result
		if part.storage != nil {
			b = b.With(part.result.(*index.Access).Tensor, *part.storage)
		}
	}
	a := p.describe(bind.Assignment{Assignment: p.contract(set, terms), Table: b})
	fixed := p.constants.Step
	if set != p.all() {
		each := p.constants.Temporary
		if a.Result().Format.Dense() {
			each *= p.constants.Filled
			if float64(a.Result().NNZ) > p.largest {
				return a.LHS, a.Result(), math.Inf(1)
			}
		}
		fixed += each * float64(a.Result().NNZ)
	}
	if fixed >= limit {
		return a.LHS, a.Result(), math.Inf(1)
	}
	order, cost := newModel(a, p.constants, Machine{}).search(p.constants.PathExhaustive, limit-fixed, nil)
	if order == nil {
		return a.LHS, a.Result(), math.Inf(1)
	}
	return a.LHS, a.Result(), fixed + cost.Sum()
}

// contract is the assignment that multiplies terms and sums over variables that nothing outside of set needs.
func (p *pathSearch) contract(set uint, terms []index.Expr) *index.Assignment {
	rhs := p.product(terms)
	if set == p.all() {
		return &index.Assignment{LHS: p.assignment.LHS, Reduce: p.assignment.Reduce, RHS: rhs}
	}
	vars := slices.DeleteFunc(index.Vars(rhs), func(v index.Var) bool { return !p.needed(set, v) })
	t := &index.Tensor{Name: "t", Elem: p.assignment.LHS.Tensor.Elem}
	return &index.Assignment{LHS: &index.Access{Tensor: t, Vars: vars}, Reduce: p.assignment.Reduce, RHS: rhs}
}

// needed reports whether v is needed outside of set.
func (p *pathSearch) needed(set uint, v index.Var) bool {
	for _, o := range p.operands {
		if set&o.set == 0 && slices.Contains(index.Vars(o.result), v) {
			return true
		}
	}
	return slices.Contains(p.assignment.LHS.Vars, v)
}

// describe is a with how its result is expected to be stored, unless that is known.
func (p *pathSearch) describe(a bind.Assignment) bind.Assignment {
	if a.Result().Format.Order() == len(a.LHS.Vars) && a.LHS == p.assignment.LHS {
		return a
	}
	s := bind.Storage{Index: dtype.I32, Temporary: true}
	for _, v := range a.LHS.Vars {
		s.Extents = append(s.Extents, a.Extent(v))
	}
	var stored float64
	s.Format, s.SamePattern, stored = infer.Expected(a)
	s.NNZ = int64(min(stored, 1<<60))
	return a.With(a.LHS.Tensor, s)
}

// emit appends the steps of a contraction, whose result is written to lhs.
func (p *pathSearch) emit(c *contraction, lhs *index.Access, names map[string]bool, steps *[]*index.Assignment) {
	terms := make([]index.Expr, len(c.parts))
	for i, part := range c.parts {
		terms[i] = part.result
		if len(part.parts) > 0 {
			t := &index.Access{Tensor: index.NewTemporary(names, p.assignment.Assignment), Vars: index.Vars(part.result)}
			p.emit(part, t, names, steps)
			terms[i] = t
		}
	}
	whole := c.set == p.all()
	if whole {
		terms = append(slices.Clone(p.scale), terms...)
	}
	rhs := p.product(terms)
	if whole && p.negative {
		rhs = index.NewCall(dtype.Neg, rhs)
	}
	*steps = append(*steps, &index.Assignment{LHS: lhs, Reduce: p.assignment.Reduce, RHS: rhs})
}
