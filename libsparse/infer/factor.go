package infer

import (
	"math"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
)

// factor is the estimated set of coordinates at which an expression has a value: a relation over variables.
type factor struct {
	dims  []dim
	count float64
	// reaches bounds, for pairs of variables, the distance of entries from their diagonal; pairs that are missing have no known bound.
	reaches []distance
}

// dim is a variable of a factor.
type dim struct {
	v index.Var
	// extent is the number of coordinates, distinct the number of those with entries; skew says how unevenly entries are spread over
	// them, 0 if that isn't known.
	extent, distinct, skew float64
}

// of is the index of v among the variables of f, or -1.
func (f *factor) of(v index.Var) int {
	return slices.IndexFunc(f.dims, func(d dim) bool { return d.v == v })
}

// distinct is the number of coordinates of v with entries, if f has v.
func (f *factor) distinct(v index.Var) (n float64, ok bool) {
	if m := f.of(v); m >= 0 {
		return f.dims[m].distinct, true
	}
	return 0, false
}

// volume is the number of coordinates that f has at most: the product of its extents.
func (f *factor) volume() float64 {
	volume := 1.0
	for _, d := range f.dims {
		volume *= d.extent
	}
	return volume
}

// leaf is the factor of an access. Entries are assumed to be spread at random: n of them reach m*(1-exp(-n/m)) of m places.
func leaf(b *bind.Table, a *index.Access) *factor {
	s := b.Of(a.Tensor)
	f := &factor{dims: make([]dim, 0, len(a.Vars)), count: 1}
	for m, v := range a.Vars {
		n := 1.0
		if m < len(s.Extents) {
			n = float64(max(s.Extents[m], 1))
		}
		if k := f.of(v); k >= 0 {
			f.dims[k].extent, f.dims[k].distinct = n, n
		} else {
			f.dims = append(f.dims, dim{v: v, extent: n, distinct: n})
		}
	}
	f.count = f.volume()
	if s.Format.Dense() {
		return f
	}
	if s.NNZ > 0 {
		f.count = min(f.count, float64(s.NNZ))
	} else {
		f.count *= unknownDensity
	}
	for m := range f.dims {
		f.dims[m].distinct = reached(f.dims[m].extent, f.count)
	}
	if first := &f.dims[f.of(a.Vars[s.Format.ModeOrder[0]])]; s.Filled > 0 {
		first.distinct = min(float64(s.Filled), first.extent)
	}
	f.locate(a, s)
	return f
}

// reached is the expected number of places that are hit if things fall on places at random.
func reached(places, things float64) float64 {
	return -places * math.Expm1(-things/max(places, 1))
}

// join is the factor of a product: coordinates that are in both factors. Each coordinate of one is combined with all coordinates of the
// other that agree in the shared variables; their number is estimated by assuming that a value with many entries in one has many in
// the other.
func join(p, q *factor) *factor {
	keys, meet, shared := 1.0, 1.0, 0
	for _, d := range p.dims {
		if m := q.of(d.v); m >= 0 {
			e := q.dims[m]
			keys *= max(d.distinct, e.distinct)
			meet *= math.Sqrt(max(d.skew, 1) * max(e.skew, 1))
			shared++
		}
	}
	out := &factor{dims: make([]dim, 0, len(p.dims)+len(q.dims)-shared), count: p.count * q.count / max(1, keys/meet)}
	// A factor whose variables the other has too only removes coordinates.
	if shared == len(q.dims) {
		out.count = min(out.count, p.count)
	}
	if shared == len(p.dims) {
		out.count = min(out.count, q.count)
	}
	for _, f := range [...]*factor{p, q} {
		for _, d := range f.dims {
			d.distinct = min(d.distinct, max(out.count, 1))
			if m := out.of(d.v); m >= 0 {
				d.distinct, d.skew = min(d.distinct, out.dims[m].distinct), max(d.skew, out.dims[m].skew)
				out.dims[m] = d
			} else {
				out.dims = append(out.dims, d)
			}
		}
		for _, r := range f.reaches {
			out.near(r.u, r.v, r.reach)
		}
	}
	return out
}

// union is the factor of a sum: coordinates that are in any of the factors. A factor is repeated along the variables that it lacks.
func union(factors []*factor) *factor {
	out := &factor{count: 1}
	none := 1.0
	for _, f := range factors {
		for _, d := range f.dims {
			if m := out.of(d.v); m >= 0 {
				out.dims[m].extent = d.extent
			} else {
				out.dims = append(out.dims, dim{v: d.v, extent: d.extent})
			}
		}
		none *= 1 - min(1, f.count/max(f.volume(), 1))
	}
	out.count = out.volume() * (1 - none)
	for m := range out.dims {
		o := &out.dims[m]
		without := 1.0
		for _, f := range factors {
			d, ok := f.distinct(o.v)
			if !ok {
				d = o.extent
			}
			without *= 1 - min(1, d/max(o.extent, 1))
		}
		o.distinct = o.extent * (1 - without)
	}
	return out
}

// project eliminates the reduced variable r: coordinates that differ only in r become one. Let v be the last of the other variables, and
// u a coordinate of the rest. For each u there are deg(r|u) values of r, and for each of these deg(v|r) values of v, some of which
// coincide.
func (f *factor) project(r index.Var) *factor {
	out := &factor{dims: make([]dim, 0, len(f.dims)), count: 1}
	for _, d := range f.dims {
		if d.v != r {
			out.dims = append(out.dims, d)
		}
	}
	f.follow(r, out)
	if len(out.dims) == 0 {
		out.count = min(1, f.count)
		return out
	}
	last := len(out.dims) - 1
	above, skew := 1.0, 1.0
	for m, d := range out.dims {
		if m < last {
			above *= d.distinct
		}
		skew *= max(d.skew, 1)
	}
	above = max(1, reached(above, f.count))
	terms := f.count / above // for each u
	places := out.places(last)
	summed, _ := f.distinct(r)
	perU := max(1, min(summed, terms)) // deg(r|u)
	perR := min(places, terms/perU)    // deg(v|r)
	degree := places * struck(-perU*math.Log1p(-min(perR/places, 1-1e-12)), skew)
	out.count = min(above*min(degree, places, terms), out.volume())
	for m := range out.dims {
		out.dims[m].distinct = min(out.dims[m].distinct, max(out.count, 1))
	}
	return out
}
