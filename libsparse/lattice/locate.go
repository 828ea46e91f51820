package lattice

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Loop is the lattice of v for an expression as a loop visits it: levels that find a coordinate without a search are
// located in wherever something else says which coordinates to visit. Those that compute the place come first, since
// walking them passes every coordinate; then those that probe for it, which walk in no order.
func Loop(b *bind.Table, e index.Expr, v index.Var) Lattice {
	l := Build(b, e, v)
	for _, able := range []func(format.Props) bool{
		func(p format.Props) bool { return p.Locate },
		func(p format.Props) bool { return p.Probe },
	} {
		for _, it := range slices.Backward(l.Iterators()) {
			if able(it.Props()) && l.driven(it) {
				l = l.located(it)
			}
		}
	}
	return l
}

// driven reports whether every point visits coordinates without an iterator.
func (l Lattice) driven(it Iterator) bool {
	return !slices.ContainsFunc(l.Points, func(p Point) bool { return !p.Full && len(p.Iterators) == 1 && p.Has(it.Key) })
}

// located is l with an iterator that is not walked.
func (l Lattice) located(it Iterator) Lattice {
	var out Lattice
	for _, p := range l.Points {
		q := Point{Full: p.Full, Located: append(slices.Clone(p.Located), it)}
		for _, other := range p.Iterators {
			if other.Key != it.Key {
				q.Iterators = append(q.Iterators, other)
			}
		}
		out.add(q)
	}
	out.sort()
	return out
}
