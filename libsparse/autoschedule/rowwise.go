package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// longRow is how many entries rows have on average for four vectors of what is reduced over them to take turns.
const longRow = 32

// Rowwise is how steps are computed together in one loop over the rows: the entries of a row in lanes, or the columns of each, and rows on threads.
func Rowwise(steps []bind.Assignment, rows, columns []index.Var, m Machine) *Decision {
	d := &Decision{Summary: "one pass over the rows: what is reduced in each of them is a scalar", machine: m}
	var seen []index.Var
	for _, v := range columns {
		if n := steps[0].Extent(v); n > 0 && index.Exact(n) {
			d.add(schedule.Exactly(v, n))
		}
	}
	for _, step := range steps {
		inner := slices.DeleteFunc(step.Vars(), func(v index.Var) bool { return slices.Contains(rows, v) })
		if len(columns) > 0 {
			inner = columns
		}
		if len(inner) == 0 || slices.Contains(seen, inner[len(inner)-1]) {
			continue
		}
		v := inner[len(inner)-1]
		seen = append(seen, v)
		_, simple := step.RHS.(*index.Access)
		if _, product := factors(step.Assignment); (simple || product) && slices.Contains(step.Reduced(), v) && inRow(step, v, rows) >= longRow {
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
