package asymptotic

import (
	"cmp"
	"slices"
)

// varset is a set of the program's variables, which are numbers below bound.
type varset uint32

const (
	bound    = 32  // variables below are the program's, all others existential
	fresh    = 224 // variables from here on are the assumptions'
	maxOrder = 6
	unset    = 255
)

func (s varset) has(v uint8) bool { return v < bound && s&(1<<v) != 0 }

// clause says that a tensor is not zero at args[:n].
type clause struct {
	pred, n uint8
	args    [maxOrder]uint8
}

func compareClauses(a, b clause) int {
	return cmp.Or(cmp.Compare(a.pred, b.pred), slices.Compare(a.args[:a.n], b.args[:b.n]))
}

// conj is a conjunction of clauses; variables from bound on are existentially quantified. It is sorted.
type conj []clause

// free is the program's variables in c.
func (c conj) free() varset {
	var s varset
	for _, k := range c {
		for _, a := range k.args[:k.n] {
			if a < bound {
				s |= 1 << a
			}
		}
	}
	return s
}

// quantify makes the variables of over existential.
func (c conj) quantify(over varset) conj {
	next := c.next()
	out := slices.Clone(c)
	var renamed [bound]uint8
	for i := range out {
		for j, a := range out[i].args[:out[i].n] {
			if !over.has(a) {
				continue
			}
			if renamed[a] == 0 {
				renamed[a] = next
				next++
			}
			out[i].args[j] = renamed[a]
		}
	}
	return out
}

// next is the first existential that c doesn't use.
func (c conj) next() uint8 {
	next := uint8(bound)
	for _, k := range c {
		for _, a := range k.args[:k.n] {
			next = max(next, a+1)
		}
	}
	return next
}

// and joins two conjunctions. Existentials of one are renamed, so that the two share none.
func (c conj) and(d conj) conj {
	shift := c.next() - bound
	out := slices.Clone(c)
	for _, k := range d {
		for j, a := range k.args[:k.n] {
			if a >= bound {
				k.args[j] = a + shift
			}
		}
		out = append(out, k)
	}
	return out
}

// mapping is a partial homomorphism: the image of each variable, or unset.
type mapping [256]uint8

func newMapping() *mapping {
	m := &mapping{}
	for i := range m {
		m[i] = unset
	}
	return m
}

// fix maps the variables of s to themselves.
func (m *mapping) fix(s varset) *mapping {
	for v := range uint8(bound) {
		if s.has(v) {
			m[v] = v
		}
	}
	return m
}

// extend completes m so that every clause of from becomes one of to, by backtracking.
func (m *mapping) extend(from conj, to ...conj) bool {
	if len(from) == 0 {
		return true
	}
	k := from[0]
	for _, part := range to {
		for _, image := range part {
			if image.pred != k.pred {
				continue
			}
			var bindings [maxOrder]uint8 // variables that this clause maps, to undo it
			n, ok := 0, true
			for j := range k.n {
				v, w := k.args[j], image.args[j]
				if m[v] == unset {
					m[v] = w
					bindings[n] = v
					n++
				} else if m[v] != w {
					ok = false
					break
				}
			}
			if ok && m.extend(from[1:], to...) {
				return true
			}
			for _, v := range bindings[:n] {
				m[v] = unset
			}
		}
	}
	return false
}

// trimmed drops clauses that hold everywhere. A predicate may have an entry at every choice of n coordinates; a clause of it holds
// everywhere if all but n of its arguments are variables that are neither fixed nor in another clause.
func (c conj) trimmed(filled []int, fixed varset) conj {
	if filled == nil {
		return c
	}
	for i, k := range c {
		tied := 0
		for _, a := range k.args[:k.n] {
			if fixed.has(a) || c.uses(a) > 1 {
				tied++
			}
		}
		if tied <= filled[k.pred] {
			return slices.Delete(slices.Clone(c), i, i+1).trimmed(filled, fixed)
		}
	}
	return c
}

// uses counts where a variable occurs.
func (c conj) uses(v uint8) int {
	n := 0
	for _, k := range c {
		for _, a := range k.args[:k.n] {
			if a == v {
				n++
			}
		}
	}
	return n
}

// minimal drops the clauses that are implied by the others and the assumptions, and numbers the existentials by appearance.
func (c conj) minimal(assumed conj) conj {
	c = slices.Clone(c)
	slices.SortFunc(c, compareClauses)
	c = slices.Compact(c)
	for i := 0; i < len(c); {
		rest := slices.Delete(slices.Clone(c), i, i+1)
		if newMapping().fix(c.free()).extend(c, rest, assumed) {
			c, i = rest, 0
		} else {
			i++
		}
	}
	return c.numbered()
}

// numbered renames the existentials by their first appearance. Clauses are sorted first without regard to existentials' names, so
// equal conjunctions mostly get equal names.
func (c conj) numbered() conj {
	masked := func(k clause) clause {
		for j, a := range k.args[:k.n] {
			if a >= bound {
				k.args[j] = unset
			}
		}
		return k
	}
	slices.SortStableFunc(c, func(a, b clause) int { return compareClauses(masked(a), masked(b)) })
	m, next := newMapping(), uint8(bound)
	for i := range c {
		for j, a := range c[i].args[:c[i].n] {
			if a < bound {
				continue
			}
			if m[a] == unset {
				m[a] = next
				next++
			}
			c[i].args[j] = m[a]
		}
	}
	slices.SortFunc(c, compareClauses)
	return c
}
