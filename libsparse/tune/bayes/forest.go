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
	f := make(forest, trees)
	for t := range f {
		g := &grower{points, measured, random}
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

// grower grows a tree.
type grower struct {
	points   [][]float64
	measured []bool
	random   *rand.Rand
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
		slices.SortFunc(points, func(a, b int) int {
			switch x, y := g.points[a][f], g.points[b][f]; {
			case x < y:
				return -1
			case x > y:
				return 1
			default:
				return 0
			}
		})
		left, leftAll := 0.0, 0.0
		for place, i := range points[:len(points)-1] {
			w, wAll := g.weights(points[place : place+1])
			left, leftAll = left+w, leftAll+wAll
			x, next := g.points[i][f], g.points[points[place+1]][f]
			if x == next {
				continue
			}
			right, rightAll := could-left, all-leftAll
			impurity := left*(leftAll-left)/leftAll + right*(rightAll-right)/rightAll
			if !found || impurity < least {
				feature, threshold, least, found = f, (x+next)/2, impurity, true
			}
		}
	}
	return feature, threshold, found
}
