package asymptotic

import (
	"slices"
	"strconv"

	"libsparse/libsparse/dtype"
)

// grouping is a statement before it has loops: an assignment of rhs, or a where with consumer and producer. Workspaces are numbered
// by the depth of their where (as De Bruijn indices), so that equal groupings have equal keys.
type grouping struct {
	rhs                *term
	lhs                int // the workspace that is written, or -1 for the result
	consumer, producer *grouping
	ws                 int  // the workspace between them
	reducing           bool // its producer may sum
}

func (g *grouping) key() string {
	if g.producer == nil {
		return strconv.Itoa(g.lhs) + "=" + g.rhs.key()
	}
	op := " where "
	if g.reducing {
		op = " where+ "
	}
	return "(" + g.consumer.key() + op + g.producer.key() + ")"
}

// uses is the set of variables of g's accesses, given the variables of the workspaces around it.
func (p *problem) uses(g *grouping, held *held) varset {
	if g.producer != nil {
		return p.uses(g.consumer, held) | p.uses(g.producer, held)
	}
	out := p.termVars(g.rhs, held)
	if g.lhs < 0 {
		return out | p.result.vars
	}
	return out | held[g.lhs]
}

// held has the variables that each workspace is indexed by.
type held [maxWorkspaces]varset

// maxWorkspaces bounds how deep wheres nest.
const maxWorkspaces = 8

func (p *problem) termVars(t *term, held *held) varset {
	switch {
	case t.ws >= 0:
		return held[t.ws]
	case t.leaf >= 0:
		return p.leaves[t.leaf].vars
	}
	var out varset
	for _, a := range t.args {
		out |= p.termVars(a, held)
	}
	return out
}

// groupings lists every way to put proper subexpressions of the expression's forms into workspaces. The list is incomplete if
// p.grouped ends up above maxGroupings.
func (p *problem) groupings() []*grouping {
	var out []*grouping
	seen := map[string]bool{}
	for _, t := range p.forms() {
		for _, g := range p.group(t, -1, 0) {
			if k := g.key(); !seen[k] {
				seen[k] = true
				out = append(out, g)
			}
		}
	}
	return out
}

// group lists every grouping of the assignment of t to workspace lhs; ws is the number of the next workspace.
func (p *problem) group(t *term, lhs, ws int) []*grouping {
	out := []*grouping{{rhs: t, lhs: lhs}}
	if ws == maxWorkspaces || p.grouped > maxGroupings {
		return out
	}
	for _, e := range p.excerpts(t, ws, true) {
		for _, c := range p.group(e.rest, lhs, ws+1) {
			for _, q := range p.group(e.part, ws, ws+1) {
				p.grouped++
				out = append(out, &grouping{consumer: c, producer: q, ws: ws})
				if e.distributes && len(p.assignment.Reduced()) > 0 {
					out = append(out, &grouping{consumer: c, producer: q, ws: ws, reducing: true})
				}
			}
		}
	}
	return out
}

// excerpt is a subexpression, and the rest of the expression with a workspace in its place.
type excerpt struct {
	part, rest  *term
	distributes bool // sums may move from the rest into the part
}

// excerpts lists every call in t, and every set of two or more arguments of a sum or product. It leaves out t itself if that is the
// root of the expression.
func (p *problem) excerpts(t *term, ws int, root bool) []excerpt {
	if !t.isCall() {
		return nil
	}
	w := &term{leaf: -1, ws: ws}
	reduce := p.assignment.Reduce
	through := t.call.Multiplies() && reduce == dtype.Add || t.call.Op == dtype.Add && (reduce == dtype.Min || reduce == dtype.Max)
	var out []excerpt
	if !root {
		out = append(out, excerpt{part: t, rest: w, distributes: true})
	}
	if associates(t.call) {
		for set := 1; set < 1<<len(t.args)-1; set++ {
			if in, rest := split(t.args, set); len(in) > 1 {
				out = append(out, excerpt{newTerm(t.call, in), newTerm(t.call, append(slices.Clone(rest), w)), through})
			}
		}
	}
	for i, a := range t.args {
		for _, e := range p.excerpts(a, ws, false) {
			args := slices.Clone(t.args)
			args[i] = e.rest
			out = append(out, excerpt{e.part, newTerm(t.call, args), e.distributes && through})
		}
	}
	return out
}
