package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// Machine is the properties of the machine that schedules depend on besides the cost model's constants; zero is unknown.
type Machine struct {
	// CPU names the processor as targets do.
	CPU string
	// VectorBytes is the width of a vector register.
	VectorBytes int
	// Caches are the sizes in bytes of the caches beyond the first level, the nearest first.
	Caches []int64
}

// vectorBytes is the width of a vector register, that of AVX2 where it is not known.
func (m Machine) vectorBytes() int {
	switch m.VectorBytes {
	case 16, 64:
		return m.VectorBytes
	default:
		return 32
	}
}

// tileBytes is the width of a register tile: half of the vector registers, which leaves the other half for operands.
func (m Machine) tileBytes() int64 {
	registers := 16
	if m.VectorBytes == 64 {
		registers = 32
	}
	return int64(registers * m.vectorBytes() / 2)
}

// tile is how many sums of a fit in the registers.
func (m Machine) tile(a bind.Assignment) int64 {
	return m.tileBytes() / int64(max(a.LHS.Tensor.Elem.Accum().Size(), 1))
}

// tile keeps a strip of the dense innermost variable in registers across the reduction loops. It reports whether it has divided
// a loop among threads.
func (d *Decision) tile(a bind.Assignment, w workspace) (shared bool) {
	if w.over > 1 {
		d.tileOver(a, w)
		return false
	}
	v := d.Order[len(d.Order)-1]
	if wide, width := d.packed(a, v); len(wide) > 1 || len(wide) == 1 && w.tiles {
		d.pack(a, wide, width)
		return true
	}
	n := a.Extent(v)
	ws := schedule.Precompute{At: w.at, Name: free(a, "w"), Storage: cin.Tile}
	if !w.tiles && d.blockTile(a, w, n) {
		return false
	}
	if depth := len(d.Order) - 2; depth > 0 {
		if it, ok := walked(a, d.Order[depth]); ok {
			d.order(a, it.Access, depth-1)
		}
	}
	if !w.tiles {
		d.add(schedule.Exactly(v, n))
		d.add(ws)
		d.hoist(a, w.at, ws.Name)
		d.prefetch(a)
		d.interleave(a, n)
		d.add(schedule.Vectorize{Var: v})
		d.note("workspace %s: %d sums over %s in registers across the reduction", ws.Name, n, v)
		return false
	}
	return d.tileInStrips(a, w, v, ws)
}

// tileInStrips cuts the variable whose sums don't fit in the registers, or whose extent is not known, into tiles whose sums do. It reports what tile does.
func (d *Decision) tileInStrips(a bind.Assignment, w workspace, v index.Var, ws schedule.Precompute) (shared bool) {
	n, width := a.Extent(v), d.machine.tile(a)
	first := w.at - 1
	factor := min(width, n/8*8)
	tail := int64(8)
	if factor%64 == 0 {
		tail = 16
	}
	for factor%tail != 0 {
		factor -= 8
	}
	outer, inner := index.Var(free(a, string(v)+"0")), index.Var(free(a, string(v)+"1"))
	at := first
	why := d.strips(a, v, first, factor)
	if why == "" {
		at = 0
	}
	order := slices.Insert(slices.Clone(d.Order[:len(d.Order)-1]), at, outer)
	if index.Exact(n) {
		d.add(schedule.Exactly(v, n))
	}
	// Where all extents of a class are more than a strip, and no more than a strip and its tail, the entries are read once; an outermost loop is for threads.
	least, most, known := index.Bounds(n)
	joined := why != "" && first > 0 && known && factor < least && least < most && most <= factor+tail
	d.add(schedule.Split{Var: v, Outer: outer, Inner: inner, Factor: factor, Tail: tail, Joined: joined})
	d.add(schedule.Reorder{Vars: append(order, inner)})
	d.add(ws)
	d.hoist(a, first, ws.Name)
	if joined {
		d.interleave(a, n)
	}
	d.add(schedule.Vectorize{Var: inner})
	if joined {
		d.note("%s in a tile of %d and one of %d that ends where %s does: the sums of both stay in registers across the reduction", v, factor, tail, v)
		return false
	}
	d.note("%s in tiles of %d: the sums of a tile stay in registers across the reduction (tail in tiles of %d)", v, factor, tail)
	if why != "" {
		d.note("the loop over tiles stays inside: %s", why)
		return false
	}
	d.add(schedule.Parallelize{Var: d.Order[0]})
	d.note("the loop over tiles is outermost: a strip of what is reused stays in a cache while %s runs", d.Order[0])
	return true
}

// tileOver keeps sums over several variables, which stand innermost, in registers across the reduction loops.
func (d *Decision) tileOver(a bind.Assignment, w workspace) {
	inner, sums := d.Order[len(d.Order)-w.over:], int64(1)
	last := len(inner) - 1
	for depth, v := range inner {
		n := a.Extent(v)
		if n > 1 || depth == last { // carryOut has bounded outer loops of one iteration
			d.add(schedule.Exactly(v, n))
		}
		sums *= n
	}
	ws := schedule.Precompute{At: w.at, Name: free(a, "w"), Storage: cin.Tile}
	d.add(ws)
	for _, v := range inner[:last] {
		if n := a.Extent(v); n > 1 {
			d.add(schedule.Unroll{Var: v, Factor: n}) // an array stays in registers where all its places are known
		}
	}
	d.add(schedule.Vectorize{Var: inner[last]})
	d.note("workspace %s: %d sums over %v in registers across the reduction", ws.Name, sums, inner)
}

// strips says why the loop over tiles of v should not be outermost; "" if it should. There, what a dense operand stores of a
// tile is read for every iteration of what used to be outermost, and has to be in a cache by then; but each tile takes
// a pass over the sparse operand. Tiling the outermost loop itself would add passes over the dense one, and never pays.
func (d *Decision) strips(a bind.Assignment, v index.Var, first int, factor int64) string {
	if len(d.machine.Caches) == 0 {
		return "the sizes of the caches are not known"
	}
	near, far := d.machine.Caches[0], slices.Max(d.machine.Caches)
	if d.plan.sharing != divided || first == 0 {
		return "its iterations don't own what they write"
	}
	for _, acc := range index.Accesses(a.RHS) {
		if !a.Dense(acc) || !slices.Contains(acc.Vars, v) || slices.Contains(acc.Vars, d.Order[0]) {
			continue
		}
		rows := int64(1)
		for _, w := range acc.Vars {
			if w != v {
				rows *= max(1, a.Extent(w))
			}
		}
		size := int64(max(acc.Tensor.Elem.Size(), 1))
		switch {
		case a.Extent(v) < 2*factor:
			return "there are too few tiles"
		case rows*a.Extent(v)*size <= near:
			return acc.Tensor.Name + " fits in a cache as it is"
		case rows*factor*size > far:
			return "a strip of " + acc.Tensor.Name + " fits in no cache"
		case entries(a)/rows < int64(d.constants.StripUses):
			return "a row of " + acc.Tensor.Name + " is used too rarely to be worth another pass over the entries"
		}
		return ""
	}
	return "nothing that is stored by " + string(v) + " is reused"
}

// entries is the number of entries of the largest sparse operand.
func entries(a bind.Assignment) int64 {
	most := int64(0)
	for _, acc := range index.Accesses(a.RHS) {
		if !a.Dense(acc) {
			most = max(most, a.Of(acc.Tensor).NNZ)
		}
	}
	return most
}
