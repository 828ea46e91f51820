package infer

import (
	"math"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Temporary is the format of a temporary between the steps of a computation, which no user sees: that of a result, or one with a
// place for every element where that takes less. Where nothing has a term it stores nothing, as in one nest over the whole
// computation: what the temporary is multiplied by may be infinite.
func Temporary(a *index.Assignment) (format.Format, *index.Tensor) {
	f, pattern := Output(a)
	if pattern != nil || everywhere(a.RHS) || f.Order() == 0 {
		return f, pattern
	}
	if f.Dense() {
		return marked(a), nil
	}
	est := Predict(a)
	if est.Volume > math.MaxInt32 {
		return f, nil
	}
	mark := 1 / float64(max(a.LHS.Tensor.Elem.Size(), 1))
	if dense, sparse := est.Costs(crossing(a.LHS.Tensor)); dense*(1+mark) > sparse {
		return f, nil
	}
	return marked(a), nil
}

// marked is the format that has a place for every element, and says which have a term: they differ in no modes after the last
// that a sparse operand carries, whose level is a bitmap.
func marked(a *index.Assignment) format.Format {
	f := format.AllDense(a.LHS.Tensor.Order())
	filled, _, _ := sources(a)
	last := len(filled) - 1
	for last > 0 && filled[last] {
		last--
	}
	f.Levels[last] = format.Bitmap{}
	return f
}
