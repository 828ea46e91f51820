package infer

import (
	"math"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
)

// Matrices differ from random ones in two ways that change how full their products are. In graphs, a few rows hold most entries, so
// that a product sums many terms into few elements. In meshes, entries lie near the diagonal, and so do those of a product. Both
// can be read off a pattern in one pass.

// distance bounds how far entries are from the diagonal of u and v, as a share of the extent of v.
type distance struct {
	u, v  index.Var
	reach float64
}

// locate records the statistics of how the entries of an access are spread.
func (f *factor) locate(a *index.Access, t *bind.Storage) {
	for l, m := range t.Format.ModeOrder {
		if l < len(t.Skew) {
			// The skew of a factor is over coordinates with entries only.
			d := &f.dims[f.of(a.Vars[m])]
			d.skew = max(1, float64(t.Skew[l])*d.distinct/d.extent)
		}
	}
	if len(a.Vars) == 2 && t.Reach > 0 {
		f.near(a.Vars[0], a.Vars[1], float64(t.Reach)/bind.Whole)
	}
}

// near records that entries are within a distance, as a share of the extent, of the diagonal of u and v.
func (f *factor) near(u, v index.Var, reach float64) {
	for i, r := range f.reaches {
		if r.u == u && r.v == v || r.u == v && r.v == u {
			f.reaches[i].reach = min(r.reach, reach)
			return
		}
	}
	f.reaches = append(f.reaches, distance{u, v, reach})
}

// follow bounds the distance between two variables by the sum of their distances to r, before r is eliminated.
func (f *factor) follow(r index.Var, out *factor) {
	for i, a := range f.reaches {
		if a.u != r && a.v != r {
			out.near(a.u, a.v, a.reach)
			continue
		}
		for _, b := range f.reaches[:i] {
			if b.u == r || b.v == r {
				out.near(other(a, r), other(b, r), a.reach+b.reach)
			}
		}
	}
}

// other is the variable of a distance that isn't r.
func other(d distance, r index.Var) index.Var {
	if d.u == r {
		return d.v
	}
	return d.u
}

// places is the number of coordinates of variable m that are near given coordinates of the others.
func (f *factor) places(m int) float64 {
	share := 1.0
	for _, r := range f.reaches {
		if r.u == f.dims[m].v || r.v == f.dims[m].v {
			share = min(share, 2*r.reach)
		}
	}
	return max(1, f.dims[m].distinct*share)
}

// nodes and weights integrate over the normal distribution by Gauss-Hermite quadrature with seven points.
var (
	nodes   = [...]float64{0, 1.1544053947399682, 2.3667594107345413, 3.7504397177257425}
	weights = [...]float64{0.45714285714285713, 0.24012317860501271, 0.030757123967586497, 0.00054826885597221781}
)

// struck is the expected share of places that are hit, if each is hit so many times on average, and in proportion to the number of
// entries of its coordinates. These numbers are assumed to be lognormal; skew is the skew of their product.
func struck(things, skew float64) float64 {
	spread := math.Sqrt(math.Log(max(skew, 1)))
	if spread == 0 {
		return -math.Expm1(-things)
	}
	share := 0.0
	for i, x := range nodes {
		for _, x := range []float64{x, -x}[:min(i, 1)+1] {
			share -= weights[i] * math.Expm1(-things*math.Exp(spread*x-spread*spread/2))
		}
	}
	return share
}
