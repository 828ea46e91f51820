package space

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"libsparse/libsparse/diag"
)

// rejections bounds the draws of real coordinates that constraints refuse.
const rejections = 10_000

// Space is a set of points: all that satisfy the constraints.
type Space struct {
	Params []*Parameter
	// Default is the point that is measured first; nil if none is named.
	Default Point

	trees   []*tree
	rest    []*constraint // on real parameters, which no tree can enumerate
	checks  []*constraint // all
	related [][]*constraint
}

// New makes a space.
//
// Errors name the parameter or the constraint: names that are taken twice, values that make no sense, expressions that
// can't be read, and constraints that no point satisfies.
func New(params []*Parameter, constraints []string) (*Space, error) {
	if len(params) == 0 {
		return nil, diag.Errorf(diag.Syntax, "a space needs parameters")
	}
	s := &Space{Params: params, related: make([][]*constraint, len(params))}
	for i, p := range params {
		if p.Name == "" || slices.ContainsFunc(params[:i], func(o *Parameter) bool { return o.Name == p.Name }) {
			return nil, diag.Errorf(diag.Syntax, "parameter %d is named %q; expected a name of its own", i, p.Name)
		}
		if err := p.prepare(); err != nil {
			return nil, err
		}
	}
	for _, text := range constraints {
		c, err := parseConstraint(text, params)
		if err != nil {
			return nil, err
		}
		s.checks = append(s.checks, c)
		for _, p := range c.params {
			s.related[p] = append(s.related[p], c)
		}
		if slices.ContainsFunc(c.params, func(p int) bool { return params[p].Kind == Real }) {
			s.rest = append(s.rest, c)
		}
	}
	return s, s.grow()
}

// grow makes the trees.
func (s *Space) grow() error {
	for _, c := range s.checks {
		if len(c.params) == 0 && !c.allows(nil) {
			return diag.Errorf(diag.Syntax, "no point satisfies the constraint %q", c.text)
		}
	}
	for _, levels := range s.components() {
		var own []*constraint
		for _, c := range s.checks {
			if !slices.Contains(s.rest, c) && len(c.params) > 0 && slices.Contains(levels, c.params[0]) {
				own = append(own, c)
			}
		}
		t, err := buildTree(s.Params, levels, own)
		if err != nil {
			return err
		}
		if t.root.count() == 0 {
			return diag.Errorf(diag.Syntax, "no values of %s satisfy the constraints", s.Params[levels[0]].Name)
		}
		s.trees = append(s.trees, t)
	}
	return nil
}

// components are the parameters that have to share a tree, by their first ones; reals have none.
func (s *Space) components() [][]int {
	group := make([]int, len(s.Params))
	for p := range group {
		group[p] = p
	}
	for _, c := range s.checks {
		if slices.Contains(s.rest, c) {
			continue
		}
		for _, p := range c.params[min(1, len(c.params)):] {
			from, to := max(group[p], group[c.params[0]]), min(group[p], group[c.params[0]])
			for q := range group {
				if group[q] == from {
					group[q] = to
				}
			}
		}
	}
	members := make([][]int, len(s.Params))
	for p, g := range group {
		if s.Params[p].Kind != Real {
			members[g] = append(members[g], p)
		}
	}
	return slices.DeleteFunc(members, func(m []int) bool { return len(m) == 0 })
}

// Size is the number of points; nil if a parameter is real.
func (s *Space) Size() *big.Int {
	size := big.NewInt(1)
	for _, t := range s.trees {
		size.Mul(size, new(big.Int).SetUint64(t.root.count()))
	}
	if slices.ContainsFunc(s.Params, func(p *Parameter) bool { return p.Kind == Real }) {
		return nil
	}
	return size
}

// Contains says whether a point has a coordinate of each parameter, and satisfies the constraints.
func (s *Space) Contains(at Point) bool {
	if len(at) != len(s.Params) {
		return false
	}
	for i, p := range s.Params {
		if !p.has(at[i]) {
			return false
		}
	}
	return !slices.ContainsFunc(s.checks, func(c *constraint) bool { return !c.allows(at) })
}

// Sample draws a point, each with the same probability.
func (s *Space) Sample(random *rand.Rand) (Point, error) {
	return s.draw(random, (*tree).sample)
}

// At is a point by its number, below Size, which has to be less than 2^64; there are no real parameters.
func (s *Space) At(number uint64) Point {
	at := make(Point, len(s.Params))
	for _, t := range s.trees {
		t.leaf(number%t.root.count(), at)
		number /= t.root.count()
	}
	return at
}

// Walk draws a point by random children from the roots of the trees: a baseline, which favours points with few siblings.
func (s *Space) Walk(random *rand.Rand) (Point, error) {
	return s.draw(random, (*tree).walk)
}

func (s *Space) draw(random *rand.Rand, pick func(*tree, *rand.Rand, Point)) (Point, error) {
	for range rejections {
		at := make(Point, len(s.Params))
		for _, t := range s.trees {
			pick(t, random, at)
		}
		for i, p := range s.Params {
			if p.Kind == Real {
				at[i] = p.at(random.Float64())
			}
		}
		if !slices.ContainsFunc(s.rest, func(c *constraint) bool { return !c.allows(at) }) {
			return at, nil
		}
	}
	return nil, diag.Errorf(diag.Unsupported, "none of %d random points satisfies the constraints on real parameters", rejections)
}

// at is the value of a real parameter whose scaled one is x, from 0 to 1; rounding does not leave the bounds.
func (p *Parameter) at(x float64) float64 {
	value := p.Low + x*(p.High-p.Low)
	if p.Log {
		value = math.Exp(math.Log(p.Low) + x*math.Log(p.High/p.Low))
	}
	return min(max(value, p.Low), p.High)
}
