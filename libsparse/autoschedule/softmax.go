package autoschedule

import (
	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// maxBound is the largest extent that a softmax mean is compiled for exactly.
const maxBound = 1024

// OnePass is the schedule of a softmax mean: there is one order of loops, and indices of operands without a sparse level are bound, so
// that their loops become vectors.
func OnePass(a bind.Assignment) *Decision {
	d := &Decision{Summary: "one pass over the entries of each row: scores are not stored"}
	m := a.SoftmaxMean()
	for _, v := range append(append([]index.Var{}, m.Columns...), m.Summed...) {
		if n := a.Extent(v); 0 < n && n <= maxBound {
			d.add(schedule.Bound{Var: v, Extent: n})
		}
	}
	d.note("threads take blocks of rows, where there is enough to compute")
	return d
}
