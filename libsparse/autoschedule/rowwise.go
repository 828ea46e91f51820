package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// Rowwise is how steps are computed together in one loop over the rows: the entries of a row in lanes, and rows on threads.
func Rowwise(steps []bind.Assignment, rows []index.Var, m Machine) *Decision {
	d := &Decision{Summary: "one pass over the rows: what is reduced in each of them is a scalar", machine: m}
	c, _ := ConstantsFor(m.CPU)
	var seen []index.Var
	for _, step := range steps {
		inner := slices.DeleteFunc(step.Vars(), func(v index.Var) bool { return slices.Contains(rows, v) })
		if len(inner) == 0 || slices.Contains(seen, inner[len(inner)-1]) {
			continue
		}
		v := inner[len(inner)-1]
		seen = append(seen, v)
		_, simple := step.RHS.(*index.Access)
		if _, product := factors(step.Assignment); (simple || product) && len(step.Reduced()) > 0 && inRow(step, v, rows) >= c.TurnsLong {
			d.add(schedule.Unroll{Var: v, Factor: shortLanes})
			d.note("vectors of sums over %s take turns, since rows are long", v)
		}
		d.add(schedule.Vectorize{Var: v})
	}
	d.note("the entries of a row are in lanes")
	d.add(schedule.Parallelize{Var: rows[0]})
	d.note("threads take blocks of rows, where there is enough to compute")
	return d
}

// inRow is how many values of v a row has, on average.
func inRow(a bind.Assignment, v index.Var, rows []index.Var) float64 {
	count := float64(a.Extent(v))
	all := 1.0
	for _, row := range rows {
		all *= float64(max(a.Extent(row), 1))
	}
	for _, acc := range index.Accesses(a.RHS) {
		if s := a.Of(acc.Tensor); !s.Format.Dense() && slices.Contains(acc.Vars, v) && s.NNZ > 0 {
			count = min(count, float64(s.NNZ)/all)
		}
	}
	return count
}
