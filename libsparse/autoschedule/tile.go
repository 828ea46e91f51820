package autoschedule

import (
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

const (
	// tileBytes is the width of a register tile: 64 floats are 8 AVX2 or 4 AVX-512 registers, which leaves the other half
	// for operands.
	tileBytes = 256
	// smallExtent is the extent up to which a loop is compiled for exactly that extent (see SizeClass).
	smallExtent = 64
)

// SizeClass is the representative of extents that get the same schedule. Extents below 8, and multiples of 8 up to 64,
// stand for themselves, so that loops over them have constant bounds; beyond, a power of two stands for all up to the
// next, plus one where the extent is no multiple of 64.
func SizeClass(n int64) int64 {
	switch {
	case n < 8 || n <= smallExtent && n%8 == 0:
		return n
	case n < smallExtent:
		return n/8*8 + 1
	}
	c := int64(smallExtent)
	for c*2 <= n {
		c *= 2
	}
	if n%smallExtent != 0 {
		c++
	}
	return c
}

// exact reports whether a class holds one extent only.
func exact(class int64) bool { return class < 8 || class <= smallExtent && class%8 == 0 }

// tile keeps a strip of the dense innermost variable v in registers across the reduction loops, which begin at first.
func (d *Decision) tile(a *index.Assignment, v index.Var, first int) {
	n := a.Extent(v)
	width := int64(tileBytes / max(a.LHS.Tensor.Elem.Accum().Size(), 1))
	ws := schedule.Precompute{Name: free(a, "w"), Storage: "tile"}
	if exact(n) && n <= width && n > 0 {
		ws.At = first
		d.add(schedule.Bound{Var: v, Extent: n})
		d.add(ws)
		d.hoist(a, first, ws.Name)
		d.add(schedule.Vectorize{Var: v})
		d.note("workspace %s: %d sums over %s in registers across the reduction", ws.Name, n, v)
		return
	}
	if n < 8 { // an unknown extent
		d.add(schedule.Vectorize{Var: v})
		return
	}
	factor := min(width, n/8*8)
	tail := int64(8)
	if factor == 64 {
		tail = 16
	}
	for factor%tail != 0 {
		factor -= 8
	}
	outer, inner := index.Var(free(a, string(v)+"0")), index.Var(free(a, string(v)+"1"))
	order := append(append(append([]index.Var(nil), d.Order[:first]...), outer), d.Order[first:len(d.Order)-1]...)
	ws.At = first + 1
	d.add(schedule.Split{Var: v, Outer: outer, Inner: inner, Factor: factor, Tail: tail})
	d.add(schedule.Reorder{Vars: append(order, inner)})
	d.add(ws)
	d.hoist(a, first, ws.Name)
	d.add(schedule.Vectorize{Var: inner})
	d.note("%s in tiles of %d: the sums of a tile stay in registers across the reduction (tail in tiles of %d)", v, factor, tail)
}
