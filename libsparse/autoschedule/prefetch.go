package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// interleave has several entries of a row in flight where the sums of an element are few vectors, which wait for the entry before: as many as
// make flights vectors, where rows are long. n is the number of sums.
func (d *Decision) interleave(a bind.Assignment, n int64) {
	c, depth := d.constants, len(d.Order)-2
	size := n * int64(a.LHS.Tensor.Elem.Accum().Size())
	if depth < 0 || size > c.FlightBytes {
		return
	}
	if _, ok := walked(a, d.Order[depth]); !ok || d.plan.around[depth+1] < c.FlightLong*d.plan.around[depth] {
		return
	}
	width := int64(d.machine.vectorBytes())
	count := max(2, flights/((size+width-1)/width))
	d.add(schedule.Unroll{Var: d.Order[depth], Factor: count})
	d.note("%d entries over %s are added to sums of their own at once in long rows, since few vectors of sums wait for each other", count, d.Order[depth])
}

// flights is how many vectors of sums don't wait for each other: processors begin two multiply-adds a cycle that take four, and read two
// operands a cycle at most (measured: with 16 columns and vectors of 8, four entries at once take longer than two).
const flights = 4

// prefetch has rows of a dense operand, or of a result that is added to, brought near ahead of the loop that finds them by scattered coordinates.
func (d *Decision) prefetch(a bind.Assignment) {
	if len(d.Order) < 2 {
		return
	}
	v, innermost := d.Order[len(d.Order)-2], d.Order[len(d.Order)-1]
	it, ok := walked(a, v)
	if !ok { // or the one coordinate of each place of the level above
		it, ok = onlyLevel(a, v)
		ok = ok && it.Props().Branchless
	}
	if !ok || !a.Of(it.Access.Tensor).Scattered {
		return
	}
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		stored := a.Stored(acc)
		if !a.Dense(acc) || !slices.Contains(stored, v) || stored[len(stored)-1] != innermost {
			continue
		}
		row := a.Extent(innermost) * int64(acc.Tensor.Elem.Size())
		if row < d.constants.FarRow || a.Extent(v)*row < d.constants.FarBytes {
			continue
		}
		distance := d.constants.FarAhead
		if index.Exact(a.Extent(innermost)) { // else the length of a row isn't known, and its begin alone is brought near
			distance = min(distance, max(1, d.constants.FarFlight/row))
		}
		d.add(schedule.Prefetch{Var: v, Distance: distance, Begin: d.constants.FarBegin})
		d.note("rows of %s are brought near %d iterations ahead, since entries of %s are scattered", acc.Tensor.Name, distance, it.Access.Tensor.Name)
		return
	}
}

// ahead has the entries of an operand brought near before the loop that walks them, where caches don't keep them.
func (d *Decision) ahead(a bind.Assignment) {
	for depth := len(d.Order) - 1; depth >= 0; depth-- {
		v := d.Order[depth]
		it, ok := walked(a, v)
		if !ok {
			continue
		}
		if t := it.Access.Tensor; a.Of(t).Far && d.inOrder(a, it.Access, depth) {
			distance := d.constants.AheadTerms
			if depth < len(d.Order)-1 {
				distance = d.constants.AheadRows
			}
			d.add(schedule.Ahead{Var: v, Of: t.Name, Distance: distance})
			d.note("entries of %s are brought near %d ahead, since they are too many for the caches, and scattered", t.Name, distance)
		}
		return
	}
}

// inOrder reports whether the loops down to a depth are those over the levels of an operand, as they are stored, so that the innermost of them walks its entries one
// after the other.
func (d *Decision) inOrder(a bind.Assignment, acc *index.Access, depth int) bool {
	f := a.Of(acc.Tensor).Format
	if f.Order() != depth+1 || !cin.Walks(a, acc, d.Order[depth]) {
		return false
	}
	for level, mode := range f.ModeOrder {
		if d.Order[level] != acc.Vars[mode] {
			return false
		}
	}
	return !slices.ContainsFunc(d.Commands, func(c schedule.Command) bool {
		_, split := c.(schedule.Split)
		return split
	})
}
