package autoschedule

import (
	"slices"
	"strings"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// Rows of a wide dense operand that are read in tiles lie far apart, and all of them exceed the near caches. Where each is read often, strips of
// them are copied one after the other, so that a strip's rows lie together in a near cache while the sparse operand is walked.

// packed is the operand that a product of a sparse and a dense matrix reads in strips, with their width; nil where copies don't pay.
func (d *Decision) packed(a bind.Assignment, v index.Var) (x *index.Access, width int64) {
	n, c := a.Extent(v), d.constants
	if x = d.wide(a, v); x == nil || !index.Exact(n) || d.plan.sharing != divided || len(d.machine.Caches) == 0 {
		return nil, 0
	}
	size, rows, near := int64(x.Tensor.Elem.Size()), a.Extent(d.Order[1]), d.machine.Caches[0]
	width = d.machine.tile(a)
	for rows*width*size > near && width*size > c.PackRow {
		width /= 2
	}
	large := n%width == 0 && n >= 2*width && rows*n*size > near/2 && rows*width*size <= c.PackCaches*near
	uses, length := float64(entries(a)), d.plan.around[2]/d.plan.around[1]
	if !large || uses < c.PackUses*float64(rows) || length < c.PackUses {
		return nil, 0
	}
	return x, width
}

// wide is the dense factor of a product of two matrices that is computed by rows of a sparse one, where v is innermost; nil of anything else.
func (d *Decision) wide(a bind.Assignment, v index.Var) *index.Access {
	product, ok := factors(a.Assignment)
	if !ok || len(product) != 2 || len(d.Order) != 3 || d.Order[2] != v || !a.Result().Format.Dense() {
		return nil
	}
	at := slices.IndexFunc(product, a.Dense)
	it, ok := walked(a, d.Order[1])
	if at < 0 || !ok || it.Access != product[1-at] || !slices.Equal(a.Stored(product[at]), d.Order[1:]) {
		return nil
	}
	if t := product[at].Tensor.Elem; t.Accum() != t { // sums of copies would be of another type
		return nil
	}
	return product[at]
}

// pack computes strips of the result one after the other, of copies of strips of x.
func (d *Decision) pack(a bind.Assignment, x *index.Access, width int64) {
	i, j, k := d.Order[0], d.Order[1], d.Order[2]
	name := func(v index.Var, suffix string) index.Var { return index.Var(free(a, string(v)+suffix)) }
	outer, inner, copiedRow, copied := name(k, "0"), name(k, "1"), name(j, "p"), name(k, "p")
	strip, sums := free(a, "p"), free(a, "w")
	product, _ := factors(a.Assignment)
	texts := make([]string, len(product))
	for n, factor := range product {
		if texts[n] = factor.String(); factor == x {
			texts[n] = (&index.Access{Tensor: &index.Tensor{Name: strip}, Vars: []index.Var{j, inner}}).String()
		}
	}
	d.add(schedule.Bound{Var: k, Extent: a.Extent(k)})
	d.add(schedule.Split{Var: k, Outer: outer, Inner: inner, Factor: width})
	d.add(schedule.Reorder{Vars: []index.Var{outer, i, j, inner}})
	d.add(schedule.Precompute{
		Of: x.Tensor.Name, At: 1, Name: strip, Storage: cin.Array, Rename: []cin.Rename{{Of: j, As: copiedRow}, {Of: inner, As: copied}},
	})
	d.add(schedule.Precompute{Of: strings.Join(texts, " * "), At: 1, Name: sums, Storage: cin.Tile})
	d.add(schedule.Vectorize{Var: inner})
	d.add(schedule.Vectorize{Var: copied})
	d.add(schedule.Parallelize{Var: copiedRow})
	d.add(schedule.Parallelize{Var: i})
	d.note("%s in strips of %d: each strip of %s is copied to %s, whose rows lie together in a near cache and are read often", k, width, x.Tensor.Name, strip)
	d.note("workspace %s: %d sums over %s in registers across the reduction", sums, width, k)
}
