package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// prefetch has rows of a dense operand brought near ahead of the loop that reads them by scattered coordinates.
func (d *Decision) prefetch(a bind.Assignment) {
	if len(d.Order) < 2 {
		return
	}
	v, innermost := d.Order[len(d.Order)-2], d.Order[len(d.Order)-1]
	it, ok := walked(a, v)
	if !ok || !a.Of(it.Access.Tensor).Scattered {
		return
	}
	for _, acc := range index.Accesses(a.RHS) {
		stored := a.Stored(acc)
		if !a.Dense(acc) || !slices.Contains(stored, v) || stored[len(stored)-1] != innermost {
			continue
		}
		size := int64(acc.Tensor.Elem.Size())
		if row := a.Extent(innermost) * size; row < d.constants.FarRow || a.Extent(v)*row < d.constants.FarBytes {
			continue
		}
		d.add(schedule.Prefetch{Var: v, Distance: d.constants.FarAhead})
		d.note("rows of %s are brought near %d iterations ahead, since entries of %s are scattered", acc.Tensor.Name, d.constants.FarAhead, it.Access.Tensor.Name)
		return
	}
}
