package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// blockRows sums rows of a block at once, so that what they read of the dense operand is loaded once for all of them; the columns of a block are their lanes
// (ir.Spread), or are written out: so there are as many rows as have all of these in the registers. It reports whether blocks are walked.
func (d *Decision) blockRows(a bind.Assignment, w workspace) bool {
	rows, name, count, width := d.blocked(a, w)
	for count > 1 && (count > schedule.MaxUnroll || count*width > d.machine.tile(a)) {
		count = divisor(count)
	}
	if count > 1 {
		d.atOnce(rows, name, count)
	}
	return name != ""
}

// blockTile keeps a tile of the result in the registers across the blocks of a row: several rows of all n columns, or of a strip of them where the
// registers have no room for two. It reports whether it does.
func (d *Decision) blockTile(a bind.Assignment, w workspace, n int64) bool {
	rows, name, height, _ := d.blocked(a, w)
	tile, v := d.machine.tile(a), d.Order[len(d.Order)-1]
	fitting := func(width int64) int64 { // how many rows of a block have so many sums each in the registers
		count := height
		for count > 1 && (count > schedule.MaxUnroll || count*width > tile) {
			count = divisor(count)
		}
		return count
	}
	count, strip := fitting(n), n
	if count == 1 {
		count = fitting(tile / tileRows)
		strip = tile / count / 8 * 8
		for strip > 8 && n%strip != 0 {
			strip -= 8
		}
	}
	if count == 1 || n%strip != 0 {
		return false
	}
	ws := schedule.Precompute{At: w.at, Name: free(a, "w"), Storage: cin.Tile}
	d.add(schedule.Exactly(v, n))
	if strip < n {
		outer, inner := index.Var(free(a, string(v)+"0")), index.Var(free(a, string(v)+"1"))
		order := slices.Insert(slices.Clone(d.Order[:len(d.Order)-1]), w.at, outer)
		d.add(schedule.Split{Var: v, Outer: outer, Inner: inner, Factor: strip})
		d.add(schedule.Reorder{Vars: append(order, inner)})
		v, ws.At = inner, w.at+1
	}
	d.add(ws)
	d.atOnce(rows, name, count)
	d.add(schedule.Vectorize{Var: v})
	d.note("workspace %s: %d times %d sums over %s in registers across the reduction", ws.Name, count, strip, v)
	return true
}

// tileRows is how many rows a tile of strips has where a block is as high: about as many as vectors of a row, so that most of what is loaded is shared.
const tileRows = 4

// blocked is the loop outside of a workspace over the rows of a matrix whose blocks are walked inside, the name of that and the extents of the blocks; 1
// where there is none.
func (d *Decision) blocked(a bind.Assignment, w workspace) (rows index.Var, name string, height, width int64) {
	if w.at < 1 || a.Result().Discovered() {
		return "", "", 1, 1
	}
	depth, around := w.at-1, d.plan.around
	for depth > 0 && around[depth+1] <= around[depth] { // a single row of a dense operand
		depth--
	}
	rows = d.Order[depth]
	for _, acc := range index.Accesses(a.RHS) {
		s := a.Of(acc.Tensor).Format
		if s.Order() != 2 || acc.Windowed() || acc.Vars[s.ModeOrder[0]] != rows || !slices.Contains(d.Order[w.at:], acc.Vars[s.ModeOrder[1]]) {
			continue
		}
		if below, ok := s.Levels[1].(format.Blocks); ok && s.Levels[0].Props().Full && dense(a, rows) {
			height, width = below.Block()
			return rows, acc.Tensor.Name, height, width
		}
	}
	return "", "", 1, 1
}

func (d *Decision) atOnce(rows index.Var, name string, count int64) {
	d.add(schedule.Unroll{Var: rows, Factor: count})
	d.note("%d rows over %s are computed at once, since blocks of %s have them in common", count, rows, name)
}

// divisor is the largest number below n that divides it, of n above one.
func divisor(n int64) int64 {
	for d := n / 2; d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}
