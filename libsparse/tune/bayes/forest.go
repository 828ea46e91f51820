package bayes

import (
	"math/rand/v2"
	"slices"
)

const (
	trees    = 50
	share    = 0.75 // of the features that a split chooses from
	feasible = 0.8  // the weight of points that could be measured, 1 less it that of others
)

// forest predicts the probability that a point can be measured: the mean of trees that differ in the features that their
// splits may use.
type forest []*split

// split sends points whose feature is at most the threshold to the left; a leaf has the probability.
type split struct {
	feature     int
	threshold   float64
	left, right *split
	probability float64
}

// grow makes a forest of points as numbers and whether each could be measured.
func grow(points [][]float64, measured []bool, random *rand.Rand) forest {
	all := make([]int, len(points))
	for i := range all {
		all[i] = i
	}
	f, g := make(forest, trees), newGrower(points, measured, random)
	for t := range f {
		f[t] = g.split(slices.Clone(all))
	}
	return f
}

func (f forest) probability(point []float64) float64 {
	sum := 0.0
	for _, s := range f {
		for s.left != nil {
			if point[s.feature] <= s.threshold {
				s = s.left
			} else {
				s = s.right
			}
		}
		sum += s.probability
	}
	return sum / float64(len(f))
}

// grower grows trees. Features have few values, so that splits count points by value and sort none.
type grower struct {
	points   [][]float64
	measured []bool
	random   *rand.Rand

	values     [][]float64 // by feature, rising
	places     [][]int     // by feature and point: which of the values it has
	could, all []float64   // by value: weights of the points of a split
}

func newGrower(points [][]float64, measured []bool, random *rand.Rand) *grower {
	features := len(points[0])
	g := &grower{points: points, measured: measured, random: random, values: make([][]float64, features), places: make([][]int, features)}
	for f := range features {
		column := make([]float64, len(points))
		for i, point := range points {
			column[i] = point[f]
		}
		values := slices.Compact(slices.Sorted(slices.Values(column)))
		g.values[f], g.places[f] = values, make([]int, len(points))
		for i, x := range column {
			g.places[f][i], _ = slices.BinarySearch(values, x)
		}
	}
	g.could, g.all = make([]float64, len(points)), make([]float64, len(points))
	return g
}

// weights are those of points that could be measured, and of all.
func (g *grower) weights(points []int) (could, all float64) {
	for _, i := range points {
		if g.measured[i] {
			could += feasible
			all += feasible
		} else {
			all += 1 - feasible
		}
	}
	return could, all
}

func (g *grower) split(points []int) *split {
	could, all := g.weights(points)
	if could == 0 || could == all {
		return &split{probability: could / all}
	}
	feature, threshold, found := g.best(points)
	if !found {
		return &split{probability: could / all}
	}
	var left, right []int
	for _, i := range points {
		if g.points[i][feature] <= threshold {
			left = append(left, i)
		} else {
			right = append(right, i)
		}
	}
	return &split{feature: feature, threshold: threshold, left: g.split(left), right: g.split(right)}
}

// best is the split with the least impurity (Gini) among those of some features.
func (g *grower) best(points []int) (feature int, threshold float64, found bool) {
	features := len(g.points[0])
	least := 0.0
	could, all := g.weights(points)
	// At least one feature is tried that has a threshold, so that points that differ are told apart.
	for tried, f := range g.random.Perm(features) {
		if found && float64(tried) >= share*float64(features) {
			break
		}
		values, places := g.values[f], g.places[f]
		here, hereAll := g.could[:len(values)], g.all[:len(values)]
		clear(here)
		clear(hereAll)
		for _, i := range points {
			if g.measured[i] {
				here[places[i]] += feasible
				hereAll[places[i]] += feasible
			} else {
				hereAll[places[i]] += 1 - feasible
			}
		}
		left, leftAll, last := 0.0, 0.0, -1 // last is the value before, of those that these points have
		for v, weight := range hereAll {
			if weight == 0 {
				continue
			}
			if last >= 0 {
				right, rightAll := could-left, all-leftAll
				impurity := left*(leftAll-left)/leftAll + right*(rightAll-right)/rightAll
				if !found || impurity < least {
					feature, threshold, least, found = f, (values[last]+values[v])/2, impurity, true
				}
			}
			left, leftAll, last = left+here[v], leftAll+weight, v
		}
	}
	return feature, threshold, found
}
