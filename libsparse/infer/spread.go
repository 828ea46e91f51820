package infer

import (
	"math"

	"libsparse/libsparse/index"
)

// Real matrices are not random ones. A few rows hold most entries, so that a product sums many terms into few elements; and
// meshes keep to their diagonal, so that it has few places to fill. Both can be read off a pattern in one pass.

// pair is two variables that one matrix relates.
type pair struct{ u, v index.Var }

// locate notes what is known of how the entries of an access are spread.
func (f *factor) locate(a *index.Access) {
	t := a.Tensor
	for l, m := range t.Format.ModeOrder {
		if v := a.Vars[m]; l < len(t.Skew) {
			// Coordinates without entries are no part of the skew that is left.
			f.skew[v] = max(1, float64(t.Skew[l])*f.distinct[v]/f.extent[v])
		}
	}
	if len(a.Vars) == 2 && t.Reach > 0 {
		f.near(a.Vars[0], a.Vars[1], float64(t.Reach)/index.Whole)
	}
}

// near notes that v is within a share of its coordinates from the diagonal of u and v.
func (f *factor) near(u, v index.Var, reach float64) {
	for _, p := range []pair{{u, v}, {v, u}} {
		if known, ok := f.reach[p]; !ok || reach < known {
			f.reach[p] = reach
		}
	}
}

// follow has the variables that r relates be as near to each other as they are to r, in all.
func (f *factor) follow(r index.Var, out *factor) {
	for _, u := range out.vars {
		for _, v := range out.vars {
			a, known := f.reach[pair{u, r}]
			b, too := f.reach[pair{r, v}]
			if u != v && known && too {
				out.near(u, v, a+b)
			}
		}
	}
	for p, reach := range f.reach {
		if p.u != r && p.v != r {
			out.near(p.u, p.v, reach)
		}
	}
}

// places is how many coordinates of v there are near one of each of the other variables.
func (f *factor) places(v index.Var) float64 {
	share := 1.0
	for _, u := range f.vars {
		if reach, ok := f.reach[pair{u, v}]; ok {
			share = min(share, 2*reach)
		}
	}
	return max(1, f.distinct[v]*share)
}

// nodes and weights integrate over the normal distribution (Gauss and Hermite, seven points).
var (
	nodes   = [...]float64{0, 1.1544053947399682, 2.3667594107345413, 3.7504397177257425}
	weights = [...]float64{0.45714285714285713, 0.24012317860501271, 0.030757123967586497, 0.00054826885597221781}
)

// struck is the share of some places that are hit by so many things each on average, where a place is hit more often the more
// entries its coordinates have. Their numbers are lognormal; skew is that of the product.
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
