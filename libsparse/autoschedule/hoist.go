package autoschedule

import (
	"slices"
	"strings"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// hoist takes what doesn't change with the innermost reduction out of it, where the sums of a tile are nested in others: in
// A(i,k,l) * B(k,j) * C(l,j) the sum over l of A * C, so that B is multiplied once for each i and k. The loops from first on
// compute into workspace, one over the tile innermost.
func (d *Decision) hoist(a bind.Assignment, first int, workspace string) {
	depth := len(d.Order) - 2 // of the innermost reduction
	product, ok := factors(a.Assignment)
	if !ok || depth <= first || d.plan.around[depth+1] < d.constants.HoistTrips*d.plan.around[depth] {
		return
	}
	sum, strip := d.Order[depth], d.Order[depth+1]
	if !everyTerm(a, product, sum) {
		return
	}
	var inside []string
	outside := false
	for _, acc := range product {
		switch {
		case slices.Contains(acc.Vars, sum):
			inside = append(inside, acc.Tensor.Name)
		case slices.Contains(acc.Vars, strip):
			outside = true
		}
	}
	if !outside || len(inside) < 2 {
		return
	}
	name := free(a, workspace+"_"+string(sum))
	d.add(schedule.Precompute{Of: strings.Join(inside, "*"), At: depth - first, Name: name, Storage: cin.Tile})
	d.note("workspace %s: the sum over %s of %s, so that the rest is multiplied once for each", name, sum, strings.Join(inside, " * "))
}

// everyTerm reports whether a sum over v always has a term: where it has none, nothing may be multiplied with it, since zero
// times infinity is no zero.
func everyTerm(a bind.Assignment, product []*index.Access, v index.Var) bool {
	walked := 0
	for _, acc := range product {
		m := slices.Index(acc.Vars, v)
		if m < 0 {
			continue
		}
		f := a.Of(acc.Tensor).Format
		level := f.LevelOf(m)
		if f.Levels[level].Props().Full {
			continue
		}
		// What a compressed level stores has something stored below it.
		if walked++; walked > 1 || level == 0 || f.Levels[level-1].Props().Full || f.Levels[level-1].Props().Padded {
			return false
		}
	}
	return a.Extent(v) > 0
}
