package asymptotic

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// ExploreOrders is the frontier of the programs that differ from nests only in loop orders and conversions. These are the choices of a
// scheduler that neither fuses nests nor changes which elements a format stores. Temporaries stay the same, each computed by a
// nest of its own. A conversion permutes the modes of an operand, and may make its first level dense if another level stays sparse.
//
// Entries of a sparse result are inserted in its last mode only. Inserting in more modes takes a sort, which the model doesn't
// count.
//
// Clearing the positions of the result's leading dense levels is sunk, since every program has to do it. An operand with n
// leading dense levels, as stored or as converted for the nests, is assumed to have an entry at every choice of coordinates of
// any n of its modes, since it stores that many positions anyway.
func ExploreOrders(a bind.Assignment, nests []Nest) (*Frontier, error) {
	p, err := newProblem(a)
	if err != nil {
		return nil, err
	}
	p.sunk = append(p.sunk, sunkTask{head: p.cleared()})
	p.filled = make([]int, len(p.names))
	for _, l := range p.leaves {
		if a, ok := l.expr.(*index.Access); ok && l.sparse {
			p.filled[l.pred] = leading(p.assignment.Of(a.Tensor).Format)
			for _, n := range nests {
				p.filled[l.pred] = max(p.filled[l.pred], leading(n.read(a.Tensor)))
			}
		}
	}
	f := &Frontier{Assignment: a, problem: p, meter: newMeter(p, newStore())}
	c, err := f.importer(nests)
	if err != nil {
		return nil, err
	}
	choices := make([][]nodeID, len(nests))
	for i, nest := range nests {
		f.Depth = max(f.Depth, len(nest.Order))
		if choices[i], err = c.reorderings(&nest); err != nil {
			return nil, err
		}
	}
	front := newFront(f.meter.logic)
	statements := make([]nodeID, len(nests))
	var choose func(at int)
	choose = func(at int) {
		if at < len(nests) {
			for _, statements[at] = range choices[at] {
				choose(at + 1)
			}
			return
		}
		f.Universe++
		n := c.sequence(statements)
		if m := front.at(f.meter.total(n)); m != nil {
			m.found = append(m.found, found{c.enumerator, n})
		}
	}
	choose(0)
	f.settle(front)
	return f, nil
}

// cleared is the set of variables of the result's leading dense levels.
func (p *problem) cleared() varset {
	var s varset
	f := p.assignment.Result().Format
	for _, mode := range f.ModeOrder[:leading(f)] {
		s |= 1 << p.result.args[mode]
	}
	return s
}

// leading counts the full levels before the first level that isn't full.
func leading(f format.Format) int {
	n := slices.IndexFunc(f.Levels, func(l format.Level) bool { return !l.Props().Full })
	if n < 0 {
		return len(f.Levels)
	}
	return n
}

// reorderings lists a nest in every loop order and, for each order, with every possible conversion of its sparse operands.
func (c *importer) reorderings(nest *Nest) ([]nodeID, error) {
	var out []nodeID
	var failed error
	accesses := index.Accesses(nest.Assignment.RHS)
	orders(c.set(nest.Order), func(loops []uint8) {
		order := make([]index.Var, len(loops))
		for i, v := range loops {
			order[i] = c.vars[v]
		}
		if nest.Assignment.LHS.Tensor == c.assignment.LHS.Tensor && !c.writes(loops, 0) {
			return
		}
		for lifted := range 1 << len(accesses) {
			if !slices.ContainsFunc(accesses, func(a *index.Access) bool {
				return lifted&(1<<slices.Index(accesses, a)) != 0 && !liftable(nest.Assignment.Of(a.Tensor).Format)
			}) {
				n, err := c.statement(nest, order, func(a *index.Access) varset {
					return c.permuted(a, nest.Assignment.Of(a.Tensor).Format, order, lifted&(1<<slices.Index(accesses, a)) != 0)
				})
				failed = err
				out = append(out, n)
			}
		}
	})
	return out, failed
}

// liftable reports whether a conversion may make the first level of an operand dense: it is not full, and neither is another level.
func liftable(f format.Format) bool {
	sparse := 0
	for _, level := range f.Levels {
		if !level.Props().Full {
			sparse++
		}
	}
	return sparse > 1 && !f.Levels[0].Props().Full
}

// permuted is the set of variables that are stepped over in an operand that is converted to the order of the loops; lifted says that
// its first level is made dense.
func (c *importer) permuted(a *index.Access, f format.Format, order []index.Var, lifted bool) varset {
	f.ModeOrder = slices.Clone(f.ModeOrder)
	slices.SortStableFunc(f.ModeOrder, func(m, n int) int {
		return slices.Index(order, a.Vars[m]) - slices.Index(order, a.Vars[n])
	})
	steps := c.stepped(a, f)
	if lifted {
		steps &^= c.set([]index.Var{a.Vars[f.ModeOrder[0]]})
	}
	return steps
}
