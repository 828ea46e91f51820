package autoschedule

import (
	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// OnePass is the schedule of a pooling: there is one order of loops, and indices of operands without a sparse level are bound where
// requests tell their extents exactly, so that their loops become vectors.
func OnePass(a bind.Assignment) *Decision {
	d := &Decision{Summary: "one pass over the entries of each row: scores are not stored"}
	m := a.Pooling()
	for _, v := range append(m.Wide(), m.Summed...) {
		if n := a.Extent(v); n > 0 && index.Exact(n) {
			d.add(schedule.Exactly(v, n))
		}
	}
	d.note("rows that follow each other and have most of their columns in common are computed together, in tiles")
	if len(m.Beside) > 0 {
		d.note("threads take matrices, where there is enough to compute, since rows of one add to the same elements")
	} else {
		d.note("threads take blocks of rows, where there is enough to compute")
	}
	return d
}

// RowsTogether is how many rows of a pooling are computed at once: their sums fill a part of the vector registers, which are twice as many where
// they are widest. It is none where nothing is pooled.
func RowsTogether(a bind.Assignment, m Machine) int64 {
	switch {
	case a.Pooling() == nil:
		return 0
	case m.vectorBytes() == 64:
		return 8
	default:
		return 4
	}
}
