package space

import "math"

// Semimetric is a way to compare two orders of the same elements.
type Semimetric int

// The semimetrics. Spearman is the default: it measured best for loop orders.
const (
	Spearman Semimetric = iota // the sum of squared differences of positions
	Kendall                    // the number of pairs in opposite orders
	Hamming                    // the number of elements at other places
	Naive                      // whether they differ
)

// Semimetrics are the names of semimetrics.
var Semimetrics = map[string]Semimetric{"spearman": Spearman, "kendall": Kendall, "hamming": Hamming, "naive": Naive}

// Distance is how far two coordinates of a parameter are apart, from 0 to 1.
//
// That of permutations is the root of the semimetric over its largest value: each of these is a squared Euclidean
// distance between vectors of positions or of comparisons, so that a kernel of the distance stays positive definite.
// The formula of the BaCO paper squares them once more; its code does what is done here.
func (p *Parameter) Distance(a, b float64) float64 {
	switch p.Kind {
	case Real:
		return math.Abs(p.scale(a, p.Low, p.High) - p.scale(b, p.Low, p.High))
	case Ordinal:
		return math.Abs(p.scaled[int(a)] - p.scaled[int(b)])
	case Permutation:
		if a == b {
			return 0
		}
		return math.Sqrt(p.Semimetric.compare(p.places[int(a)], p.places[int(b)]))
	default:
		if a == b {
			return 0
		}
		return 1
	}
}

// compare is the semimetric of two orders over the largest value that it has for their length.
func (s Semimetric) compare(a, b []int) float64 {
	n, sum := float64(len(a)), 0.0
	switch s {
	case Spearman:
		for element := range a {
			sum += float64((a[element] - b[element]) * (a[element] - b[element]))
		}
		return sum / (n * (n*n - 1) / 3)
	case Kendall:
		for j := range a {
			for i := range j {
				if (a[i] < a[j]) != (b[i] < b[j]) {
					sum++
				}
			}
		}
		return sum / (n * (n - 1) / 2)
	case Hamming:
		for element := range a {
			if a[element] != b[element] {
				sum++
			}
		}
		return sum / n
	default:
		return 1
	}
}

// Features appends a point as numbers from 0 to 1 for models that split by thresholds: a scaled value, a number for each
// category, or the position of each element.
func (s *Space) Features(at Point, to []float64) []float64 {
	for i, p := range s.Params {
		switch p.Kind {
		case Real:
			to = append(to, p.scale(at[i], p.Low, p.High))
		case Ordinal:
			to = append(to, p.scaled[int(at[i])])
		case Categorical:
			for choice := range p.Labels {
				to = append(to, truth(choice == int(at[i])))
			}
		case Permutation:
			for _, position := range p.places[int(at[i])] {
				to = append(to, float64(position)/float64(p.Length))
			}
		}
	}
	return to
}
