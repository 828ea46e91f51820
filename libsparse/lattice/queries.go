package lattice

import "slices"

// Divisible reports whether threads or lanes can divide the loop: it is over all coordinates, or over what one level stores.
func (l Lattice) Divisible() bool {
	its := l.Iterators()
	return len(its) == 0 || len(l.Points) == 1 && len(its) == 1 && !l.Full() && its[0].Props().Unique
}

// Dense reports whether the loop visits every coordinate without matching anything stored.
func (l Lattice) Dense() bool { return l.Full() && len(l.Iterators()) == 0 }

// Ordered reports whether the loop meets coordinates in ascending order.
func (l Lattice) Ordered() bool {
	return !slices.ContainsFunc(l.Iterators(), func(it Iterator) bool { return !it.Props().Ordered })
}
