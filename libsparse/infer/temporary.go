package infer

import (
	"math"
	"slices"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// hypersparse is how many coordinates a first mode has for each that is expected to have entries where storing only those pays.
// Below, what is saved is lost again where the next step looks for them.
const hypersparse = 64

// Temporary is the format of a temporary between the steps of a computation, which no user sees: that of a result, or one with a
// place for every element, or for every element of the rows that have any, where that takes less. Where nothing has a term it
// stores nothing, as in one nest over the whole computation: what the temporary is multiplied by may be infinite.
func Temporary(a *index.Assignment) (format.Format, *index.Tensor) {
	f, pattern := Output(a)
	if everywhere, _ := index.Presence(a.RHS); pattern != nil || everywhere && !emptied(a) || f.Order() == 0 {
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
	if dense, sparse := est.Costs(crossing(a.LHS.Tensor)); dense*(1+mark) > sparse {
		return f, nil
	}
	return marked(filled, few), nil
}

// emptied reports whether a may be reduced over nothing.
func emptied(a *index.Assignment) bool {
	return slices.ContainsFunc(a.Reduced(), func(v index.Var) bool { return index.Least(a.Extent(v)) == 0 })
}

// without is the estimate when only so many coordinates of the first mode are stored.
func (e Estimate) without(rows float64) Estimate {
	rows = max(rows, 1)
	extents := append([]float64{rows}, e.Extents[1:]...)
	return Estimate{Entries: e.Entries, Volume: e.Volume * rows / max(e.Extents[0], 1), Extents: extents, Prefixes: e.Prefixes, Counted: e.Counted}
}

// marked is the format that has a place for every element, or where few coordinates of the first mode have any, for every element
// of those; and says which have a term: they differ in no modes after the last that a sparse operand carries, whose level is
// a bitmap unless it is the first and compressed.
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
