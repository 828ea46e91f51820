package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// A product whose dense operand and result are stored across its loops, as that of F.linear with a sparse weight, needs both in another order.
// Copies before and after the kernel go from one processor's cache to another's, which takes as long as half of the product. Instead, threads
// take strips of rows: a strip of the operand is turned into a panel, and tiles of the result are turned when they are written, so that all of
// it stays in the caches of one processor.

const (
	// turnedRows is the number of rows of a tile of the result, which are written side by side: a line of the cache.
	turnedRows = 16
	// turnedTail is the number of bytes of a panel's row in strips of what is left.
	turnedTail = 64
)

// turned is a product in strips.
type turned struct {
	operand *index.Access // the dense one
	width   int64         // of a strip
	tail    int64         // of strips of what is left, 0 where nothing is
}

// turn is how a plan is carried out in strips, nil where it isn't. Such a plan converts the dense operand, which is summed over entries, and the
// result, in each call.
func (d *Decision) turn(a bind.Assignment, p *plan) *turned {
	if len(p.order) != 3 || p.workspace.kind != strip || p.workspace.at != 1 && !p.workspace.tiles || p.sharing != divided {
		return nil
	}
	v := p.order[2]
	wide := d.wide(Convert(a, p.conversions), v)
	if len(wide) != 1 || !turns(p, a.LHS.Tensor) || !turns(p, wide[0].Tensor) {
		return nil
	}
	t := &turned{operand: wide[0], width: a.Of(wide[0].Tensor).Strip, tail: turnedTail / int64(wide[0].Tensor.Elem.Size())}
	n := a.Extent(v)
	if t.width == 0 || index.Least(n) < t.width {
		return nil
	}
	if index.Exact(n) && n%t.width == 0 {
		t.tail = 0
	}
	return t
}

// turns reports whether a plan puts the modes of a tensor into another order.
func turns(p *plan, t *index.Tensor) bool {
	return slices.ContainsFunc(p.conversions, func(c Conversion) bool { return c.Tensor == t })
}

// carryOutTurned writes the commands of a plan in strips.
func (d *Decision) carryOutTurned(a bind.Assignment, t *turned) {
	k, j, i := d.Order[0], d.Order[1], d.Order[2]
	name := func(base string) string { return free(a, base) }
	part := func(v index.Var, suffix string) index.Var { return index.Var(name(string(v) + suffix)) }
	strip, row, rows, lane := part(i, "0"), part(i, "1"), part(k, "0"), part(k, "1")
	panel, tile, sums := name("p"), name("t"), name("w")
	across, filled, filledLane := part(j, "p"), part(k, "2"), part(i, "2")
	copied := part(i, "p")
	d.add(schedule.Reorder{Vars: d.Order})
	if n := a.Extent(i); index.Exact(n) {
		d.add(schedule.Exactly(i, n))
	}
	d.add(schedule.Split{Var: i, Outer: strip, Inner: row, Factor: t.width, Tail: t.tail})
	d.add(schedule.Split{Var: k, Outer: rows, Inner: lane, Factor: turnedRows})
	d.add(schedule.Reorder{Vars: []index.Var{strip, rows, lane, j, row}})
	d.add(schedule.Precompute{
		Of: t.operand.Tensor.Name, At: 1, Name: panel, Storage: cin.Array, Rename: []cin.Rename{{Of: j, As: across}, {Of: row, As: copied}},
	})
	term := index.String(index.Replace(a.RHS, func(x *index.Access) index.Expr {
		if x == t.operand {
			return &index.Access{Tensor: &index.Tensor{Name: panel}, Vars: []index.Var{j, row}}
		}
		return nil
	}))
	d.add(schedule.Precompute{
		Of: term, At: 1, Name: tile, Storage: cin.Tile, Rename: []cin.Rename{{Of: lane, As: filled}, {Of: row, As: filledLane}},
	})
	d.add(schedule.Precompute{Of: term, At: 1, Name: sums, Storage: cin.Tile})
	d.add(schedule.Reorder{Vars: []index.Var{row, lane}})
	for _, v := range []index.Var{lane, filledLane, copied} {
		d.add(schedule.Vectorize{Var: v})
	}
	d.add(schedule.Parallelize{Var: strip})
	d.note("threads take strips of %d %s: %s is turned to a panel %s of each, and tiles %s of %d %s are turned as they are written to %s, so that neither is copied in another order",
		t.width, i, t.operand.Tensor.Name, panel, tile, turnedRows, k, a.LHS.Tensor.Name)
	d.note("workspace %s: %d sums over %s in registers across the reduction", sums, t.width, i)
}
