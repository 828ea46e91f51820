package kernels

import (
	"math"
	"math/rand/v2"
	"slices"

	"libsparse/libsparse/tune/space"
)

const (
	considered = 400 // of the ranked points
	worlds     = 96  // random ways in which a model may be wrong
	common     = 0.8 // share of an error that all values of a parameter have in common, as a deviation
)

// choice takes points to measure from a ranking: the next one is that from which the most is to be gained beside those that were taken
// before. A model is wrong about points that change the same in the same way, so that several of them are no better than one.
type choice struct {
	all   []ranked
	times [][]float64 // by world: what the first points take, as logarithms
	taken []bool
	best  []float64 // by world: of what was taken, the compiler's own schedule among it
}

func newChoice(all []ranked, origin space.Point, seed uint64) *choice {
	c := &choice{all: all, best: make([]float64, worlds)}
	n := min(considered, len(all))
	c.taken = make([]bool, n)
	random := rand.New(rand.NewPCG(seed, 2))
	changes, params, settings := changesOf(all[:n], origin)
	of, exactly := make([]float64, params), make([]float64, settings)
	for range worlds {
		drawn(of, random)
		drawn(exactly, random)
		times := make([]float64, n)
		for i, r := range all[:n] {
			sum := 0.0
			for _, c := range changes[i] {
				sum += common*of[c.param] + math.Sqrt(1-common*common)*exactly[c.setting]
			}
			times[i] = r.Mean + r.Deviation*sum/math.Sqrt(max(float64(len(changes[i])), 1))
		}
		c.times = append(c.times, times)
	}
	return c
}

// change is a parameter in which a point differs from the compiler's choice, and the number of the value that it has there: a model is wrong
// by as many deviations for each of them in all points.
type change struct{ param, setting int }

// changesOf are the changes of points, with how many parameters and settings there are.
func changesOf(points []ranked, origin space.Point) (changes [][]change, params, settings int) {
	numbers := map[setting]int{}
	changes = make([][]change, len(points))
	for i, r := range points {
		for param, x := range r.at {
			if x == origin[param] {
				continue
			}
			set := setting{param, x}
			number, ok := numbers[set]
			if !ok {
				number = len(numbers)
				numbers[set] = number
			}
			changes[i] = append(changes[i], change{param, number})
		}
	}
	return changes, len(origin), len(numbers)
}

// drawn fills a list with normal numbers.
func drawn(list []float64, random *rand.Rand) {
	for i := range list {
		list[i] = random.NormFloat64()
	}
}

// next takes the most promising point that can be lowered and is new, and says by how much it is expected to be faster than the fastest of
// those before, as a logarithm; false where none is left.
func (c *choice) next(known, feasible func(space.Point) bool) (at space.Point, gain float64, ok bool) {
	for {
		chosen, most := -1, -1.0
		for i, gone := range c.taken {
			if gone {
				continue
			}
			if gain := c.gain(i); gain > most {
				chosen, most = i, gain
			}
		}
		if chosen < 0 {
			return nil, 0, false
		}
		c.taken[chosen] = true
		at := c.all[chosen].at
		old := known(at)
		if !old && !feasible(at) {
			continue
		}
		for k := range c.best {
			c.best[k] = min(c.best[k], c.times[k][chosen])
		}
		if !old {
			return slices.Clone(at), most, true
		}
	}
}

// gain is by how much a point is expected to be faster than the fastest of those that were taken.
func (c *choice) gain(i int) float64 {
	sum := 0.0
	for k, best := range c.best {
		sum += max(0, best-c.times[k][i])
	}
	return sum / worlds
}
