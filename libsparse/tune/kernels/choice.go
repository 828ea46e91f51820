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
	all    []ranked
	times  [][]float64 // by world: what the first points take, as logarithms
	taken  []bool
	best   []float64 // by world: of what was taken, the compiler's own schedule among it
	origin space.Point
}

func newChoice(all []ranked, origin space.Point, seed uint64) *choice {
	c := &choice{all: all, origin: origin, best: make([]float64, worlds)}
	n := min(considered, len(all))
	c.taken = make([]bool, n)
	random := rand.New(rand.NewPCG(seed, 2))
	for range worlds {
		w := world{random: random, params: map[int]float64{}, settings: map[setting]float64{}}
		times := make([]float64, n)
		for i, r := range all[:n] {
			times[i] = r.Mean + r.Deviation*w.error(r.at, origin)
		}
		c.times = append(c.times, times)
	}
	return c
}

// world is one way in which a model may be wrong: by how many deviations for each parameter that is changed, and each value of it.
type world struct {
	random   *rand.Rand
	params   map[int]float64
	settings map[setting]float64
}

func (w *world) error(at, origin space.Point) float64 {
	sum, n := 0.0, 0.0
	for i, x := range at {
		if x == origin[i] {
			continue
		}
		set := setting{i, x}
		if _, ok := w.params[i]; !ok {
			w.params[i] = w.random.NormFloat64()
		}
		if _, ok := w.settings[set]; !ok {
			w.settings[set] = w.random.NormFloat64()
		}
		sum += common*w.params[i] + math.Sqrt(1-common*common)*w.settings[set]
		n++
	}
	return sum / math.Sqrt(max(n, 1))
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
