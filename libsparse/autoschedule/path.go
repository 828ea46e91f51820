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

// Path splits a long product into steps that compute temporaries, where that is cheaper than one loop nest over all
// variables, as in A(i,j)*B(j,k)*x(k). It searches the ways to contract connected subsets of the operands, each subset by
// one nest or in two parts, with the costs of sparse loop nests instead of dense operation counts. A product that is best
// in one nest is its own only step. The names of temporaries are added to names; cpu is as for Decide.
func Path(a bind.Assignment, names map[string]bool, cpu string) []*index.Assignment {
	c, _ := ConstantsFor(cpu)
	accs, ok := factors(a.Assignment)
	if !ok || len(accs) < 3 || len(accs) > c.PathOperands || len(a.Reduced()) == 0 {
		return []*index.Assignment{a.Assignment}
	}
	p := newPathSearch(a, accs, c)
	whole := p.find(1<<len(accs) - 1)
	if whole.nest <= c.PathGain*whole.cost || whole.left == 0 {
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

// contraction is a subset of the operands, summed over the variables that neither the others nor the result need.
type contraction struct {
	set uint
	// result is the access that stands for the subset from outside, storage how that is stored, nil of an operand.
	result  *index.Access
	storage *bind.Storage
	// nest is the cost of one loop nest over the whole subset, cost that of the cheapest way; left is the part that it
	// computes first, 0 for the nest.
	nest, cost float64
	left       uint
}

// with is b with how the result of c is stored.
func (c *contraction) with(b *bind.Table) *bind.Table {
	if c.storage == nil {
		return b
	}
	return b.With(c.result.Tensor, *c.storage)
}

type pathSearch struct {
	assignment bind.Assignment
	constants  *Constants
	accesses   []*index.Access
	parts      partition
	best       map[uint]*contraction
}

func newPathSearch(a bind.Assignment, accs []*index.Access, c *Constants) *pathSearch {
	return &pathSearch{assignment: a, constants: c, accesses: accs, parts: newPartition(accs, c.PathSplits), best: map[uint]*contraction{}}
}

func (p *pathSearch) find(set uint) *contraction {
	if c, ok := p.best[set]; ok {
		return c
	}
	c := &contraction{set: set}
	p.best[set] = c
	if bits.OnesCount(set) == 1 {
		c.result = p.accesses[bits.TrailingZeros(set)]
		return c
	}
	var terms []*index.Access
	for i, acc := range p.accesses {
		if set&(1<<i) != 0 {
			terms = append(terms, acc)
		}
	}
	c.result, c.storage, c.nest = p.price(set, terms, p.assignment.Table, math.Inf(1))
	c.cost = c.nest
	p.parts.each(set, func(left uint) {
		l, r := p.find(left), p.find(set&^left)
		parts := l.cost + r.cost
		if parts >= c.cost {
			return // whatever it costs to put them together
		}
		_, _, joint := p.price(set, []*index.Access{l.result, r.result}, l.with(r.with(p.assignment.Table)), c.cost-parts)
		if cost := parts + joint; cost < c.cost {
			c.cost, c.left = cost, left
		}
	})
	return c
}

// price is what one loop nest over terms, which are stored as b says, costs, and the access to its result; the cost is infinite
// if it isn't below limit.
func (p *pathSearch) price(set uint, terms []*index.Access, b *bind.Table, limit float64) (*index.Access, *bind.Storage, float64) {
	a := p.describe(bind.Assignment{Assignment: p.contract(set, terms), Table: b})
	fixed := p.constants.Step
	if set != 1<<len(p.accesses)-1 {
		each := p.constants.Temporary
		if a.Result().Format.Dense() {
			each *= p.constants.Filled
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
func (p *pathSearch) contract(set uint, terms []*index.Access) *index.Assignment {
	rhs := index.Expr(terms[0])
	for _, t := range terms[1:] {
		rhs = index.Term(dtype.Mul, rhs, t)
	}
	if set == 1<<len(p.accesses)-1 {
		return &index.Assignment{LHS: p.assignment.LHS, Reduce: dtype.Add, RHS: rhs}
	}
	vars := slices.DeleteFunc(index.Vars(rhs), func(v index.Var) bool { return !p.needed(set, v) })
	t := &index.Tensor{Name: "t", Elem: p.assignment.LHS.Tensor.Elem}
	return &index.Assignment{LHS: &index.Access{Tensor: t, Vars: vars}, Reduce: dtype.Add, RHS: rhs}
}

// needed reports whether v is needed outside of set.
func (p *pathSearch) needed(set uint, v index.Var) bool {
	for i, acc := range p.accesses {
		if set&(1<<i) == 0 && slices.Contains(acc.Vars, v) {
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
	var terms []*index.Access
	if c.left == 0 {
		for i, acc := range p.accesses {
			if c.set&(1<<i) != 0 {
				terms = append(terms, acc)
			}
		}
	} else {
		for _, half := range []uint{c.left, c.set &^ c.left} {
			part := p.find(half)
			if bits.OnesCount(half) > 1 {
				t := index.NewTemporary(names, p.assignment.Assignment)
				access := &index.Access{Tensor: t, Vars: part.result.Vars}
				p.emit(part, access, names, steps)
				terms = append(terms, access)
				continue
			}
			terms = append(terms, part.result)
		}
	}
	a := p.contract(c.set, terms)
	*steps = append(*steps, &index.Assignment{LHS: lhs, Reduce: dtype.Add, RHS: a.RHS})
}
