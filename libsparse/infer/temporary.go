package infer

import (
	"math"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// hypersparse is the ratio of the extent of a first mode to its expected number of coordinates with entries from which on a compressed
// first level pays. Below it, what is saved in memory is lost in the next step, which searches for coordinates.
const hypersparse = 64

// Temporary is the format of a temporary between steps, which no user sees: that of a result, or if it takes less memory, one with a
// place for every element, or for every element of the nonempty rows. Elements without a term are absent, not zero, as they are in
// a single nest over the whole computation: the next step may multiply by infinity.
func Temporary(a bind.Assignment) (format.Format, *index.Tensor) {
	f, pattern := Output(a)
	if everywhere, _ := a.Presence(a.RHS); pattern != nil || everywhere && !emptied(a) || f.Order() == 0 {
		return f, pattern
	}
	est := Predict(a)
	filled, _, _ := sources(a)
	few := !filled[0] && hypersparse*est.Prefixes[0] <= est.Extents[0]
	if f.Dense() {
		return marked(filled, few), nil
	}
	if few {
		est = est.without(est.Prefixes[0])
	}
	if est.Volume > math.MaxInt32 {
		return f, nil
	}
	mark := 1 / float64(max(a.LHS.Tensor.Elem.Size(), 1))
	if dense, sparse := est.Costs(crossing(a)); dense*(1+mark) > sparse {
		return f, nil
	}
	return marked(filled, few), nil
}

// emptied reports whether a reduced variable of a may have no coordinates.
func emptied(a bind.Assignment) bool {
	return slices.ContainsFunc(a.Reduced(), func(v index.Var) bool { return index.Least(a.Extent(v)) == 0 })
}

// without is the estimate for a tensor whose first mode has only the given number of coordinates.
func (e Estimate) without(rows float64) Estimate {
	rows = max(rows, 1)
	extents := append([]float64{rows}, e.Extents[1:]...)
	return Estimate{Entries: e.Entries, Volume: e.Volume * rows / max(e.Extents[0], 1), Extents: extents, Prefixes: e.Prefixes, Counted: e.Counted}
}

// marked is the format with a place for every element, or if few, for every element below the nonempty coordinates of the first mode.
// The level of the last mode that a sparse operand has is a bitmap, which says which elements have a term: modes after it don't
// matter for that. It is no bitmap if it is the first level and compressed.
func marked(filled []bool, few bool) format.Format {
	f := format.AllDense(len(filled))
	last := len(filled) - 1
	for last > 0 && filled[last] {
		last--
	}
	f.Levels[last] = format.Bitmap{}
	if few {
		f.Levels[0] = format.Compressed{Unique: true}
	}
	return f
}
