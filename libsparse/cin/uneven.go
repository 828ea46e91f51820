package cin

import (
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Team is how threads divide the loops that a program gives them. Nothing that is computed depends on it.
type Team struct {
	// Grain is the number of innermost iterations up to which one thread runs them all.
	Grain int64
	// Shared is the number of entries that each thread has at least where several put entries into the same rows.
	Shared int64
	// Balanced are the owners of the patterns whose entries, and not the number of rows, decide where the blocks of a balanced loop begin.
	Balanced []*index.Tensor
}

// Uneven reports whether a tensor stores different numbers of entries below the positions of its first level, and says so in
// the first array below.
func Uneven(f format.Format) bool {
	if f.Order() < 2 {
		return false
	}
	top := f.Levels[0].Props()
	if top.Padded || !top.Unique {
		return false
	}
	for _, level := range f.Levels[1:] {
		if p := level.Props(); !p.Full {
			return p.HasPos && !p.Padded && !p.RowRelative
		}
	}
	return false
}
