package pattern

import "math"

const (
	squaredRows  = 1 << 8  // rows of a sample
	squaredTerms = 1 << 15 // products that are looked at, about
)

// squared says what a product of a square matrix with itself sums, of some of its rows: products for each entry of the matrix, and for each of
// the result, as logarithms.
func (f *fibers) squared() []float64 {
	count := f.count()
	if f.above.Len() > 0 || f.rows != f.cols || int64(count) != f.rows {
		return []float64{math.NaN(), math.NaN()}
	}
	places := newSet(1 << 10)
	entries, terms, distinct := 0, 0, 0
	for row := 0; row < count && terms < squaredTerms; row += max(1, count/squaredRows) {
		places.forget()
		for e := int(f.ends.At(row)); e < int(f.ends.At(row+1)) && places.count < squaredTerms; e++ {
			entries++
			from, to := f.ends.At(int(f.crd.At(e))), f.ends.At(int(f.crd.At(e))+1)
			for k := int(from); k < int(to); k++ {
				if places.add(f.crd.At(k)) {
					distinct++
				}
			}
			terms += int(to - from)
		}
	}
	return []float64{log2(float64(max(terms, 1)) / float64(max(entries, 1))), log2(float64(max(terms, 1)) / float64(max(distinct, 1)))}
}
