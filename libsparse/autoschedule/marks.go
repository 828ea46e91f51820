package autoschedule

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// marks chooses how a dense row knows its entries, and says why of variables that are reduced. A bitmap has them in order without a sort, for
// the price of its words from the first entry to the last. All of them are read where they have entries on average, and so are more of them
// where the operands' entries have neighbours, so that those of a row are near each other; else words are marked, where a row has enough entries to make
// up for reading the marks. Where most terms fall on entries that are there already, a branch for the new ones is cheaper than to mark each
// term; so is a list, without a branch, where rows are short. Where entries have neighbours and rows have many terms, they have bytes: bits of a word would wait
// for each other.
func (c *Constants) marks(a bind.Assignment, w workspace) (cin.Storage, string) {
	elements, word, repeats := w.elements(), c.BitmapWord*c.BitmapNear, c.ScatterRepeats
	far := scattered(a)
	if far {
		word, repeats = c.BitmapWord, 2*c.ScatterRepeats // a branch on where they fall is not predicted
	}
	several := w.terms >= c.ScatterTerms && w.terms <= repeats*elements
	switch {
	case !far && w.terms >= c.ScatterTerms && elements*word >= w.places && w.terms*c.BytemapTerms >= w.places:
		return cin.Bytemap, "a byte for each entry, which puts them in order, since the sum over %v scatters many terms into it and entries are close"
	case several && elements*word >= w.places:
		return cin.Bitmap, "a bit for each entry, which puts them in order, since the sum over %v scatters into it and entries are close"
	case several && elements >= c.BlocksLeast+w.places/c.BlocksStep:
		return cin.Blocks, "a bitmap of its entries and a mark for each word, which put them in order, since the sum over %v scatters into it"
	case several && far:
		return cin.Scatter, "a list of its entries, since the sum over %v scatters into it; new entries are found without branches, since the operands' are scattered"
	default:
		return cin.Row, "a list of its entries, since the sum over %v scatters into it"
	}
}

// scattered reports whether neighbouring entries of the sparse operands are seldom neighbours.
func scattered(a bind.Assignment) bool {
	return !slices.ContainsFunc(index.Accesses(a.RHS), func(acc *index.Access) bool {
		s := a.Of(acc.Tensor)
		return !s.Format.Dense() && !s.Scattered
	})
}
