package asymptotic

import (
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// maxForms bounds the number of forms of an expression that distribution finds.
const maxForms = 256

// newTerm is a call over args. It flattens sums within a sum, and products within a product.
func newTerm(c *index.Call, args []*term) *term {
	t := &term{leaf: -1, ws: -1, call: c}
	for _, a := range args {
		if associates(c) && a.isCall() && a.call.Op == c.Op && a.call.Region == c.Region {
			t.args = append(t.args, a.args...)
		} else {
			t.args = append(t.args, a)
		}
	}
	if len(t.args) == 1 && associates(c) {
		return t.args[0]
	}
	return t
}

// associates reports whether c is a sum or product, whose arguments can be grouped in any way.
func associates(c *index.Call) bool {
	n := len(c.Args)
	return (c.Op == dtype.Add || c.Op == dtype.Mul) && (c.Region == index.Every(n) || c.Region == index.Some(n))
}

// key is equal for terms that differ only in the order of arguments of sums and products.
func (t *term) key() string {
	switch {
	case t.ws >= 0:
		return "w" + strconv.Itoa(t.ws)
	case t.leaf >= 0:
		return strconv.Itoa(t.leaf)
	}
	keys := make([]string, len(t.args))
	for i, a := range t.args {
		keys[i] = a.key()
	}
	if associates(t.call) {
		slices.Sort(keys)
	}
	return string(t.call.Op) + t.call.Region.String() + "(" + strings.Join(keys, ",") + ")"
}

// forms lists the terms that are t with products distributed over sums. Terms are equal up to associativity and commutativity.
func (p *problem) forms() []*term {
	out, seen := []*term{p.rhs}, map[string]bool{p.rhs.key(): true}
	for i := 0; i < len(out) && len(out) < maxForms; i++ {
		for _, t := range distributed(out[i]) {
			if k := t.key(); !seen[k] {
				seen[k] = true
				out = append(out, t)
			}
		}
	}
	for i, t := range out {
		out[i] = p.separate(t, map[int]int{})
	}
	return slices.DeleteFunc(out, func(t *term) bool { return t == nil })
}

// separate gives each copy of a read, which distribution makes, a leaf of its own; the n-th copy has the same leaf in every form. It
// returns nil if there are too many. used counts the reads of each leaf so far.
func (p *problem) separate(t *term, used map[int]int) *term {
	if t.leaf >= 0 {
		n := t.leaf
		if k := used[n]; k > 0 {
			for len(p.copies[n]) < k {
				if len(p.leaves) == maxLeaves {
					return nil
				}
				p.copies[n] = append(p.copies[n], len(p.leaves))
				p.leaves = append(p.leaves, p.leaves[n])
			}
			n = p.copies[n][k-1]
		}
		used[t.leaf]++
		return &term{leaf: n, ws: -1}
	}
	args := make([]*term, len(t.args))
	for i, a := range t.args {
		if args[i] = p.separate(a, used); args[i] == nil {
			return nil
		}
	}
	return &term{leaf: -1, ws: -1, call: t.call, args: args}
}

// distributed lists the terms that follow from t by applying a*(b+c) = a*b + a*c once.
func distributed(t *term) []*term {
	if !t.isCall() {
		return nil
	}
	var out []*term
	for i, a := range t.args {
		for _, b := range distributed(a) {
			args := slices.Clone(t.args)
			args[i] = b
			out = append(out, newTerm(t.call, args))
		}
		if t.call.Multiplies() && a.isCall() && a.call.Op == dtype.Add && associates(a.call) {
			out = append(out, overSum(t, i)...)
		}
	}
	return out
}

// overSum distributes each set of the other factors of t over two parts of its factor i, which is a sum.
func overSum(t *term, i int) []*term {
	sum := t.args[i]
	others := slices.Delete(slices.Clone(t.args), i, i+1)
	var out []*term
	for moved := 1; moved < 1<<len(others); moved++ {
		in, stay := split(others, moved)
		for part := 1; part < 1<<(len(sum.args)-1); part++ { // the last term is always on the other side
			left, right := split(sum.args, part)
			halves := newTerm(sum.call, []*term{
				newTerm(t.call, append(slices.Clone(in), newTerm(sum.call, left))),
				newTerm(t.call, append(slices.Clone(in), newTerm(sum.call, right))),
			})
			out = append(out, newTerm(t.call, append(slices.Clone(stay), halves)))
		}
	}
	return out
}

// split divides args by the bits of set.
func split(args []*term, set int) (in, rest []*term) {
	for i, a := range args {
		if set&(1<<i) != 0 {
			in = append(in, a)
		} else {
			rest = append(rest, a)
		}
	}
	return in, rest
}
