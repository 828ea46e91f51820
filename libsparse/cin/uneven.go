package cin

import "libsparse/libsparse/index"

// balanced is the number of entries of a class from which on rows are worth dividing by what they store: with fewer, a pass over
// all of them takes less than compiling the search.
const balanced = 1 << 13

// Uneven reports whether an access stores different numbers of entries below the positions of its first level, says so in the
// first array below, and stores enough for that to matter; of zero entries it is not known.
func Uneven(a *index.Access) bool {
	f := a.Tensor.Format
	if f.Order() < 2 || a.Tensor.NNZ > 0 && a.Tensor.NNZ < balanced {
		return false
	}
	top := f.Levels[0].Props()
	if top.Padded || !top.Unique {
		return false
	}
	for _, level := range f.Levels[1:] {
		if p := level.Props(); !p.Full {
			return p.HasPos && !p.Padded && !p.OfRow
		}
	}
	return false
}
