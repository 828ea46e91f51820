package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// marks chooses how a dense row knows its entries, and says why of variables that are reduced. Where rows have few terms, which is known of
// their mean alone, and entries of all operands have neighbours, so that those of a row are near each other, a bitmap has them in order
// without a sort, for the price of its words from the first entry to the last. Else each row chooses by its own terms. Where most rows have
// next to no terms, that takes longer than a branch for each of them.
func (c *Constants) marks(a bind.Assignment, w workspace) (cin.Storage, string) {
	elements := w.elements()
	switch {
	case w.terms < c.ScatterTerms:
		return cin.Row, "a list of its entries, since the sum over %v scatters into it"
	case w.terms < c.AdaptiveTerms && !scattered(a) && elements*c.BitmapWord*c.BitmapNear >= w.places:
		return cin.Bitmap, "a bit for each entry, which puts them in order, since the sum over %v scatters into it and entries are close"
	default:
		return cin.Adaptive, "a list, a bitmap or a bytemap of its entries, as each row has few or many terms, near each other or not, since the sum over %v scatters into it"
	}
}

// scattered reports whether neighbouring entries of some sparse operand are seldom neighbours: then a row of the result has entries far from
// each other, whatever the others are like.
func scattered(a bind.Assignment) bool {
	return slices.ContainsFunc(index.Accesses(a.RHS), func(acc *index.Access) bool {
		s := a.Of(acc.Tensor)
		return !s.Format.Dense() && s.Scattered
	})
}
