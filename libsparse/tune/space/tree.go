package space

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"

	"libsparse/libsparse/diag"
)

// mostVisits bounds the work for one tree, in evaluations of constraints.
const mostVisits = 200_000_000

// tree holds the combinations of some parameters' choices that satisfy the constraints between them.
type tree struct {
	params []int // a level each
	root   *node
}

// node has the choices of the parameter of its level that lead to a leaf.
type node struct {
	choices  []int32
	children []*node  // nil below the last level
	leaves   []uint64 // up to and with each choice
}

func (n *node) count() uint64 {
	if n == nil {
		return 1
	}
	if len(n.leaves) == 0 {
		return 0
	}
	return n.leaves[len(n.leaves)-1]
}

// builder makes a tree.
type builder struct {
	params []*Parameter
	levels []int           // the parameters in order
	checks [][]*constraint // by level: the constraints whose last parameter it is
	read   [][]int         // by level: the earlier parameters that constraints of this level and later ones read
	known  []map[string]*node
	visits int
}

func buildTree(params []*Parameter, levels []int, constraints []*constraint) (*tree, error) {
	b := &builder{
		params: params, levels: levels, checks: make([][]*constraint, len(levels)), read: make([][]int, len(levels)),
		known: make([]map[string]*node, len(levels)),
	}
	for _, c := range constraints {
		last := 0
		for _, p := range c.params {
			last = max(last, slices.Index(levels, p))
		}
		b.checks[last] = append(b.checks[last], c)
		for level := range last + 1 {
			for _, p := range c.params {
				if slices.Index(levels, p) < level && !slices.Contains(b.read[level], p) {
					b.read[level] = append(b.read[level], p)
				}
			}
		}
	}
	for level := range levels {
		b.known[level] = map[string]*node{}
	}
	root, err := b.below(0, make(Point, len(params)))
	if err != nil {
		return nil, err
	}
	return &tree{levels, root}, nil
}

// below is the node of a level, given the choices of earlier ones; two that differ in nothing that matters share it.
func (b *builder) below(level int, at Point) (*node, error) {
	if level == len(b.levels) {
		return nil, nil
	}
	var key []byte
	for _, p := range b.read[level] {
		key = binary.AppendUvarint(key, uint64(at[p]))
	}
	if found, ok := b.known[level][string(key)]; ok {
		return found, nil
	}
	found, param := &node{}, b.levels[level]
	for choice := range b.params[param].Size() {
		at[param] = float64(choice)
		if b.visits += 1 + len(b.checks[level]); b.visits > mostVisits {
			return nil, diag.Errorf(diag.Unsupported, "the constraints on %s relate too many values; state fewer values, or constraints that are easier to separate", b.params[param].Name)
		}
		if slices.ContainsFunc(b.checks[level], func(c *constraint) bool { return !c.allows(at) }) {
			continue
		}
		child, err := b.below(level+1, at)
		if err != nil {
			return nil, err
		}
		if child.count() == 0 {
			continue
		}
		total, carry := bits.Add64(found.count(), child.count(), 0)
		if carry != 0 {
			return nil, diag.Errorf(diag.Unsupported, "more than 2^64 points satisfy the constraints on %s", b.params[param].Name)
		}
		found.choices = append(found.choices, int32(choice))
		found.children = append(found.children, child)
		found.leaves = append(found.leaves, total)
	}
	b.known[level][string(key)] = found
	return found, nil
}

// leaf writes the choices of a leaf by its number.
func (t *tree) leaf(number uint64, to Point) {
	for n, level := t.root, 0; n != nil; level++ {
		place, _ := slices.BinarySearch(n.leaves, number+1)
		if place > 0 {
			number -= n.leaves[place-1]
		}
		to[t.params[level]] = float64(n.choices[place])
		n = n.children[place]
	}
}

// sample draws a leaf, each with the same probability.
func (t *tree) sample(random *rand.Rand, to Point) {
	t.leaf(random.Uint64N(t.root.count()), to)
}

// walk draws a child at each node, each with the same probability, so that leaves with few siblings come more often.
func (t *tree) walk(random *rand.Rand, to Point) {
	for n, level := t.root, 0; n != nil; level++ {
		place := random.IntN(len(n.choices))
		to[t.params[level]] = float64(n.choices[place])
		n = n.children[place]
	}
}
