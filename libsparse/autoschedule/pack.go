package autoschedule

import (
	"slices"
	"strconv"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// Rows of a wide dense operand that are read in tiles lie far apart, and all of them exceed the near caches. Where each is read often, strips of
// them are copied one after the other, so that a strip's rows lie together in a near cache while the sparse operand is walked.

// packed are the operands that a sum over the entries of a sparse matrix reads in strips, with their width; there are none where copies don't pay.
func (d *Decision) packed(a bind.Assignment, v index.Var) (wide []*index.Access, width int64) {
	n, c := a.Extent(v), d.constants
	if wide = d.wide(a, v); len(wide) == 0 || !index.Exact(n) || d.plan.sharing != divided || len(d.machine.Caches) == 0 {
		return nil, 0
	}
	size, rows, near := int64(0), a.Extent(d.Order[1]), d.machine.Caches[0]
	for _, x := range wide {
		size += int64(x.Tensor.Elem.Size())
	}
	width = d.machine.tile(a)
	for rows*width*size > near && width*size > c.PackRow*int64(len(wide)) {
		width /= 2
	}
	large := n%width == 0 && n >= 2*width && rows*n*size > near/2 && rows*width*size <= c.PackCaches*near
	uses, length := float64(entries(a)), d.plan.around[2]/d.plan.around[1]
	if !large || uses < c.PackUses*float64(rows) || length < c.PackUses {
		return nil, 0
	}
	return wide, width
}

// wide are the dense operands whose rows a sum over the entries of a sparse matrix reads by the coordinates of entries, where it goes by
// rows of that matrix and v is innermost: of a product of two matrices one, of other expressions as many as there are.
func (d *Decision) wide(a bind.Assignment, v index.Var) (wide []*index.Access) {
	if len(d.Order) != 3 || d.Order[2] != v || !a.Result().Format.Dense() {
		return nil
	}
	it, ok := walked(a, d.Order[1])
	if !ok {
		return nil
	}
	for _, x := range index.Accesses(a.RHS) {
		switch {
		case !a.Dense(x):
			if !a.Together(x, it.Access) {
				return nil
			}
		case slices.Contains(x.Vars, d.Order[1]):
			if t := x.Tensor.Elem; t.Accum() != t || !slices.Equal(a.Stored(x), d.Order[1:]) { // sums of copies would be of another type
				return nil
			}
			wide = append(wide, x)
		}
	}
	if product, ok := factors(a.Assignment); len(wide) == 1 && (!ok || len(product) != 2) {
		return nil
	}
	return wide
}

// pack computes strips of the result one after the other, of copies of strips of operands.
func (d *Decision) pack(a bind.Assignment, wide []*index.Access, width int64) {
	i, j, k := d.Order[0], d.Order[1], d.Order[2]
	name := func(v index.Var, suffix string) index.Var { return index.Var(free(a, string(v)+suffix)) }
	outer, inner, sums := name(k, "0"), name(k, "1"), free(a, "w")
	d.add(schedule.Exactly(k, a.Extent(k)))
	d.add(schedule.Split{Var: k, Outer: outer, Inner: inner, Factor: width})
	d.add(schedule.Reorder{Vars: []index.Var{outer, i, j, inner}})
	strips, lanes, rows := map[*index.Access]string{}, []index.Var{inner}, []index.Var{}
	for n, x := range wide {
		suffix, at := "p", 1
		if n > 0 { // inside of what reads the copies before
			suffix, at = "p"+strconv.Itoa(n+1), 0
		}
		strips[x] = free(a, suffix)
		row, lane := name(j, suffix), name(k, suffix)
		d.add(schedule.Precompute{
			Of: x.Tensor.Name, At: at, Name: strips[x], Storage: cin.Array, Rename: []cin.Rename{{Of: j, As: row}, {Of: inner, As: lane}},
		})
		d.note("%s in strips of %d: each strip of %s is copied to %s, whose rows lie together in a near cache and are read often", k, width, x.Tensor.Name, strips[x])
		lanes, rows = append(lanes, lane), append(rows, row)
	}
	if len(wide) > 1 {
		d.copyValues(a)
	}
	term := index.Replace(a.RHS, func(x *index.Access) index.Expr {
		if strip, ok := strips[x]; ok {
			return &index.Access{Tensor: &index.Tensor{Name: strip}, Vars: []index.Var{j, inner}}
		}
		return nil
	})
	d.add(schedule.Precompute{Of: index.String(term), At: 1, Name: sums, Storage: cin.Tile})
	for _, lane := range lanes {
		d.add(schedule.Vectorize{Var: lane})
	}
	for _, row := range append(rows, i) {
		d.add(schedule.Parallelize{Var: row})
	}
	d.note("workspace %s: %d sums over %s in registers across the reduction", sums, width, k)
}

// copyValues has the values of converted operands copied into their new order: each strip would look them up anew.
func (d *Decision) copyValues(a bind.Assignment) {
	d.Conversions = slices.Clone(d.Conversions)
	for n, c := range d.Conversions {
		if a.Of(c.Tensor).Permuted && !c.Tensor.PatternOnly {
			d.Conversions[n].Copied = true
			d.note("the values of %s are copied into the order in which all strips read them", c.Tensor.Name)
		}
	}
}
