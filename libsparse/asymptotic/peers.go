package asymptotic

import (
	"slices"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Peers is the frontier of the programs that differ from nests by the order of loops and by conversions alone: the same
// temporaries, each computed by nests of its own, and operands in formats of the same levels. A conversion permutes
// modes, and may make the first level dense where another one stays sparse.
//
// Entries of a sparse result are inserted in its last mode at most: in more it takes a sort, which the model doesn't count.
//
// What is sunk includes the positions of the result's leading dense levels, which every program has to clear. An operand
// with n leading dense levels, stored or as the nests convert it, is taken to have entries at every choice of coordinates
// of n of its modes: so many positions are stored anyway.
//
// It is what a scheduler has to choose from that fuses no nests and never changes what a format leaves out.
func Peers(a *index.Assignment, nests []Nest) (*Frontier, error) {
	p, err := newProblem(a)
	if err != nil {
		return nil, err
	}
	p.sunk = append(p.sunk, sunkTask{head: p.cleared()})
	p.filled = make([]int, len(p.names))
	for _, l := range p.leaves {
		if a, ok := l.expr.(*index.Access); ok && l.sparse {
			p.filled[l.pred] = leading(a.Tensor.Format)
			for _, n := range nests {
				p.filled[l.pred] = max(p.filled[l.pred], leading(n.read(a.Tensor)))
			}
		}
	}
	f := &Frontier{Assignment: a, problem: p, meter: newMeter(p, newStore())}
	c, err := f.chooser(nests)
	if err != nil {
		return nil, err
	}
	choices := make([][]nodeID, len(nests))
	for i, nest := range nests {
		f.Depth = max(f.Depth, len(nest.Order))
		if choices[i], err = c.alternatives(&nest); err != nil {
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

// cleared is the variables of the result's leading dense levels.
func (p *problem) cleared() varset {
	var s varset
	f := p.assignment.LHS.Tensor.Format
	for _, mode := range f.ModeOrder[:leading(f)] {
		s |= 1 << p.result.args[mode]
	}
	return s
}

// leading is how many dense levels come first.
func leading(f format.Format) int {
	n := slices.IndexFunc(f.Levels, func(l format.Level) bool { return !l.Props().Full })
	if n < 0 {
		return len(f.Levels)
	}
	return n
}

// alternatives is a nest in every order, with every sparse operand converted to it in every way.
func (c *chooser) alternatives(nest *Nest) ([]nodeID, error) {
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
			if !slices.ContainsFunc(accesses, func(a *index.Access) bool { return lifted&(1<<slices.Index(accesses, a)) != 0 && !liftable(a) }) {
				n, err := c.statement(nest, order, func(a *index.Access) varset {
					return c.permuted(a, order, lifted&(1<<slices.Index(accesses, a)) != 0)
				})
				failed = err
				out = append(out, n)
			}
		}
	})
	return out, failed
}

// liftable reports whether the first level of an operand can become dense: where it isn't, and another level isn't.
func liftable(a *index.Access) bool {
	sparse := 0
	for _, level := range a.Tensor.Format.Levels {
		if !level.Props().Full {
			sparse++
		}
	}
	return sparse > 1 && !a.Tensor.Format.Levels[0].Props().Full
}

// permuted is the modes that are stepped over in an operand whose modes are put in the order of the loops.
func (c *chooser) permuted(a *index.Access, order []index.Var, lifted bool) varset {
	f := a.Tensor.Format
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
