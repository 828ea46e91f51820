package autoschedule

import (
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// An inner loop that merges rows of several operands passes the same row of one of them again and again where that depends on outer loops alone, as
// that of G in the gradient A(i,j) * G(i,k) * B(j,k) of a product. It is put into a workspace once, where what others have is looked up.

// lookup is an operand of which a row is looked up, and below how many loops that row is known.
type lookup struct {
	operand *operand
	at      int
}

// lookups finds the operand whose rows are best looked up in the innermost loop of an order, over v, and what that loop costs then; it is none where
// that can't be, or where merging costs less. A row that no loop changes stays as it is: threads divide the outermost loop.
func (m *model) lookups(order []int, v int, merging float64) (found lookup, cost float64) {
	last, c := len(order)-1, m.constants
	product, plain := factors(m.assignment.Assignment)
	if w := m.place(order); !plain || last < 1 || w.kind != unbuffered && w.kind != inMemory && w.kind != scalar || tooLong(m.assignment, c, m.vars[v]) {
		return found, merging
	}
	cost = merging
	for i := range m.operands {
		o := &m.operands[i]
		at, known := m.rowKnown(o, v)
		if !known || at < 1 || at >= last || !alone(product, o.access) || !m.apart(o, at, last) {
			continue
		}
		others, each := m.others(o, v)
		if n := m.extents[v] * (m.around[last]*others*each + m.around[at]*o.shareOf(v)*c.Mark); others > 0 && n < cost {
			found, cost = lookup{o, at}, n
		}
	}
	return found, cost
}

// others is the share of the coordinates of v that the other operands of o store, and what passing one of them costs.
func (m *model) others(o *operand, v int) (share, each float64) {
	walked := 0
	for i := range m.operands {
		if p := &m.operands[i]; p != o && !p.shares && m.walks(p, v) {
			walked, share = walked+1, share+p.shareOf(v)
		}
	}
	if each = m.constants.Lookup; walked > 1 {
		each += m.constants.Merge
	}
	return share, each
}

// rowKnown is below how many loops a row of o over v is known, if v is its last level and one whose coordinates come one by one, and nothing else follows
// the pattern of o.
func (m *model) rowKnown(o *operand, v int) (at int, ok bool) {
	last := len(o.arranged) - 1
	if o.dense || o.shares || o.leads || o.access.Windowed() || o.arranged[last] != v || !m.walks(o, v) || m.assignment.Together(m.assignment.LHS, o.access) {
		return 0, false
	}
	if p := o.props(v); !o.converted && (!p.Unique || p.Locate || p.Padded) {
		return 0, false
	}
	for _, u := range o.arranged[:last] {
		at = max(at, m.at[u]+1)
	}
	return at, true
}

// apart reports whether rows of o are worth being looked up in the innermost loop: some operand stores which iterations of the loops between are run for
// a row, as A(i,j) does, or all that others have would be passed for each. None has all variables of o, or the two are better merged further out.
func (m *model) apart(o *operand, at, last int) bool {
	chosen := false
	for i := range m.operands {
		p := &m.operands[i]
		if p == o || p.dense {
			continue
		}
		row, between := false, false
		for _, u := range p.vars {
			row, between = row || m.at[u] < at, between || at <= m.at[u] && m.at[u] < last
		}
		chosen = chosen || row && between
		if !slices.ContainsFunc(o.vars, func(u int) bool { return !slices.Contains(p.vars, u) }) {
			return false
		}
	}
	return chosen
}

// alone reports whether no other factor has the name of acc.
func alone(product []*index.Access, acc *index.Access) bool {
	same := func(other *index.Access) bool { return other != acc && other.Tensor.Name == acc.Tensor.Name }
	return !slices.ContainsFunc(product, same)
}

// lookUp writes the commands of a plan in which a row is looked up, and of its workspace: the outer one first, from which the depth of the other counts.
func (d *Decision) lookUp(a bind.Assignment, p *plan) (shared bool) {
	t, name := p.lookup.operand.access.Tensor, free(a, "row")
	row := schedule.Precompute{Of: t.Name, At: p.lookup.at, Name: name, Storage: cin.Lookup}
	d.note("workspace %s: a row of %s, in which what others have is looked up, since loops inside would merge it with them again and again", name, t.Name)
	outer := p.workspace.kind != scalar || p.workspace.at > row.At
	if outer {
		d.add(row)
	}
	read := fmt.Sprintf("%s(%s)", name, p.order[len(p.order)-1])
	reading := strings.Replace(index.String(a.RHS), index.String(p.lookup.operand.access), read, 1)
	first := len(d.Commands)
	shared = d.buffer(a, p.workspace)
	for i, c := range d.Commands[first:] {
		if c, ok := c.(schedule.Precompute); ok && outer {
			c.At, c.Of = c.At-row.At, reading // and not all of the nest that fills the row
			d.Commands[first+i] = c
		}
	}
	if !outer {
		row.At -= p.workspace.at
		d.add(row)
	}
	return shared
}
