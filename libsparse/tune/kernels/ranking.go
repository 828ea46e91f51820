package kernels

import (
	"cmp"
	"math"
	"slices"

	"libsparse/libsparse/tune/bayes"
	"libsparse/libsparse/tune/learned"
	"libsparse/libsparse/tune/space"
)

const (
	bestSingle = 20  // steps of which pairs are judged
	bestPairs  = 10  // pairs to which a third step is added
	bestThird  = 10  // steps that are
	hope       = 0.7 // standard deviations by which a time may be shorter, where that has to be decided point by point
	trusted    = 96  // points of the ranking whose predictions the Bayesian tuner is told
)

// ranked is a point with what a model expects of it.
type ranked struct {
	at    space.Point
	steps []int // of moves
	learned.Prediction
}

// score is a time that is not unlikely, as a logarithm.
func (r ranked) score() float64 { return r.Mean - hope*r.Deviation }

// judge is a model that looks at the points of a search.
type judge struct {
	search *Search
	model  *learned.Model
	places []int // of the model's features among those of points
}

func (s *Search) judge(m *learned.Model) (*judge, bool) {
	f, ok := s.features(s.space.origin, true)
	if !ok {
		return nil, false
	}
	return &judge{search: s, model: m, places: m.Places(f.names)}, true
}

// seen is a point as the model sees it; false where the space has no such point.
func (j *judge) seen(at space.Point) ([]float32, bool) {
	f, ok := j.search.features(at, false)
	if !ok {
		return nil, false
	}
	row := make([]float32, len(j.places))
	for i, place := range j.places {
		row[i] = float32(math.NaN())
		if place >= 0 {
			row[i] = f.values[place]
		}
	}
	return row, true
}

// rank lists points, the most promising first: all single steps from the compiler's choice, all pairs of the best of these, and three steps
// where pairs are good.
func (s *Search) rank(m *learned.Model) []ranked {
	j, ok := s.judge(m)
	if !ok {
		return nil
	}
	moves := s.moves()
	single := j.extend(moves, [][]int{nil}, span(len(moves)))
	var best []int
	for _, r := range single[:min(bestSingle, len(single))] {
		best = append(best, r.steps[0])
	}
	pairs := j.extend(moves, apiece(best), best)
	var begun [][]int
	for _, r := range pairs[:min(bestPairs, len(pairs))] {
		begun = append(begun, r.steps)
	}
	triples := j.extend(moves, begun, best[:min(bestThird, len(best))])
	all := slices.Concat(single, pairs, triples)
	slices.SortStableFunc(all, byScore)
	return all
}

func byScore(a, b ranked) int { return cmp.Compare(a.score(), b.score()) }

func span(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func apiece(all []int) (each [][]int) {
	for _, x := range all {
		each = append(each, []int{x})
	}
	return each
}

// extend judges points that take one more step, the most promising first. Each set of steps is judged once.
func (j *judge) extend(moves []move, begun [][]int, steps []int) (found []ranked) {
	known := map[string]bool{}
	var rows [][]float32
	for _, before := range begun {
		for _, step := range steps {
			if slices.Contains(before, step) {
				continue
			}
			taken := append(slices.Clone(before), step)
			slices.Sort(taken)
			var all []move
			for _, n := range taken {
				all = append(all, moves[n])
			}
			at, ok := j.search.after(all...)
			if name := key(at); !ok || known[name] {
				continue
			} else {
				known[name] = true
			}
			if row, ok := j.seen(at); ok {
				found, rows = append(found, ranked{at: at, steps: taken}), append(rows, row)
			}
		}
	}
	for i, p := range j.model.PredictAll(rows) {
		found[i].Prediction = p
	}
	slices.SortStableFunc(found, byScore)
	return found
}

// advise gives the Bayesian tuner the most promising points of a model to begin with, and its expectations of many.
func (s *Search) advise(o *bayes.Options) {
	for len(o.Starts) < nearby {
		at, _, ok := s.choice.next(func(space.Point) bool { return false }, s.feasible)
		if !ok {
			break
		}
		o.Starts = append(o.Starts, at)
	}
	all := s.choice.all
	every := max(1, len(all)/trusted)
	for i := 0; i < len(all); i += every {
		o.Known = append(o.Known, bayes.Observation{At: all[i].at, Value: math.Exp2(all[i].Mean)})
	}
}
