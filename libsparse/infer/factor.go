package infer

import (
	"math"
	"slices"

	"libsparse/libsparse/index"
)

// factor is what is expected of the set of coordinates at which an expression has a value: a relation over variables.
type factor struct {
	vars []index.Var
	// extent and distinct are by variable: how many coordinates there are, and how many occur.
	extent, distinct map[index.Var]float64
	count            float64
	// skew is by variable how unevenly entries are spread over the coordinates that occur, and reach by pairs of variables how
	// far they are apart; what isn't there is not known.
	skew  map[index.Var]float64
	reach map[pair]float64
}

func newFactor(count float64) *factor {
	return &factor{
		extent: map[index.Var]float64{}, distinct: map[index.Var]float64{}, count: count,
		skew: map[index.Var]float64{}, reach: map[pair]float64{},
	}
}

func (f *factor) add(v index.Var, extent, distinct float64) {
	if !slices.Contains(f.vars, v) {
		f.vars = append(f.vars, v)
	}
	f.extent[v], f.distinct[v] = extent, distinct
}

// volume is the number of coordinates that f could have.
func (f *factor) volume() float64 {
	volume := 1.0
	for _, v := range f.vars {
		volume *= f.extent[v]
	}
	return volume
}

// leaf is the factor of an access. Entries are assumed to be spread at random: n of them reach m*(1-exp(-n/m)) of m places.
func leaf(a *index.Access) *factor {
	f := newFactor(1)
	for m, v := range a.Vars {
		n := 1.0
		if m < len(a.Tensor.Extents) {
			n = float64(max(a.Tensor.Extents[m], 1))
		}
		f.add(v, n, n)
	}
	f.count = f.volume()
	if a.Tensor.Format.Dense() {
		return f
	}
	if a.Tensor.NNZ > 0 {
		f.count = min(f.count, float64(a.Tensor.NNZ))
	} else {
		f.count *= unknownDensity
	}
	for _, v := range f.vars {
		f.distinct[v] = reached(f.extent[v], f.count)
	}
	if first := a.Vars[a.Tensor.Format.ModeOrder[0]]; a.Tensor.Filled > 0 {
		f.distinct[first] = min(float64(a.Tensor.Filled), f.extent[first])
	}
	f.locate(a)
	return f
}

// reached is how many of some places are hit by so many things.
func reached(places, things float64) float64 {
	return -places * math.Expm1(-things/max(places, 1))
}

// join has the coordinates that are in both factors. Each coordinate of one meets as many of the other as that has for each of
// the values of the variables that they share; what has many entries in one has many in the other.
func join(p, q *factor) *factor {
	keys, meet := 1.0, 1.0
	for _, v := range p.vars {
		if slices.Contains(q.vars, v) {
			keys *= max(p.distinct[v], q.distinct[v])
			meet *= math.Sqrt(max(p.skew[v], 1) * max(q.skew[v], 1))
		}
	}
	out := newFactor(p.count * q.count / max(1, keys/meet))
	if limits(q, p) {
		out.count = min(out.count, p.count)
	}
	if limits(p, q) {
		out.count = min(out.count, q.count)
	}
	for _, f := range []*factor{p, q} {
		for _, v := range f.vars {
			d := f.distinct[v]
			if known, ok := out.distinct[v]; ok {
				d = min(d, known)
			}
			out.add(v, f.extent[v], min(d, max(out.count, 1)))
			out.skew[v] = max(out.skew[v], f.skew[v])
		}
		for p, reach := range f.reach {
			out.near(p.u, p.v, reach)
		}
	}
	return out
}

// limits reports whether p has no variable that q lacks, so that it only takes coordinates away from q's.
func limits(p, q *factor) bool {
	return !slices.ContainsFunc(p.vars, func(v index.Var) bool { return !slices.Contains(q.vars, v) })
}

// union has the coordinates that are in any of the factors, which are repeated along the variables that they lack.
func union(factors []*factor) *factor {
	out := newFactor(1)
	for _, f := range factors {
		for _, v := range f.vars {
			out.add(v, f.extent[v], 0)
		}
	}
	none := 1.0
	for _, f := range factors {
		none *= 1 - min(1, f.count/max(f.volume(), 1))
	}
	out.count = out.volume() * (1 - none)
	for _, v := range out.vars {
		without := 1.0
		for _, f := range factors {
			d, ok := f.distinct[v]
			if !ok {
				d = out.extent[v]
			}
			without *= 1 - min(1, d/max(out.extent[v], 1))
		}
		out.distinct[v] = out.extent[v] * (1 - without)
	}
	return out
}

// project removes r, over which terms are summed: coordinates that differ in r alone become one. For each coordinate u of the
// variables but the last, v, there are as many r, each with as many v, of which some agree.
func (f *factor) project(r index.Var) *factor {
	out := newFactor(1)
	for _, v := range f.vars {
		if v != r {
			out.add(v, f.extent[v], f.distinct[v])
			out.skew[v] = f.skew[v]
		}
	}
	f.follow(r, out)
	if len(out.vars) == 0 {
		out.count = min(1, f.count)
		return out
	}
	v := out.vars[len(out.vars)-1]
	above := 1.0
	for _, u := range out.vars[:len(out.vars)-1] {
		above *= out.distinct[u]
	}
	above = max(1, reached(above, f.count))
	terms := f.count / above // for each u
	places := out.places(v)
	perU := max(1, min(f.distinct[r], terms)) // deg(r|u)
	perR := min(places, terms/perU)           // deg(v|r)
	skew := 1.0
	for _, w := range out.vars {
		skew *= max(out.skew[w], 1)
	}
	degree := places * struck(-perU*math.Log1p(-min(perR/places, 1-1e-12)), skew)
	out.count = min(above*min(degree, places, terms), out.volume())
	for _, w := range out.vars {
		out.distinct[w] = min(out.distinct[w], max(out.count, 1))
	}
	return out
}
