package bayes

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/tune/space"
)

// Options say how a search goes.
type Options struct {
	// First is the number of points before the model chooses; the number of parameters and one by default. The default
	// point of the space comes first, then random ones. As many more random ones come later, where nothing is gained.
	First int
	// Known are the measurements of a search for a similar objective, of which the shape is expected here, too; points that are not of
	// the space, and values that Tell refuses, are left out.
	Known []Observation
	// Log models the logarithm of values, which are times then, or other positive numbers.
	Log bool
	// Threshold bounds the probability of feasibility that a point is asked to have; 0.1 by default. Each proposal
	// draws another from 0 to this, so that no point is out of reach for ever.
	Threshold float64
	// Seed makes searches repeatable.
	Seed uint64
	// Starts are proposed after the default point, before random ones.
	Starts []space.Point
	// Sample draws the random points; all points of the space have the same probability by default.
	Sample func(*rand.Rand) (space.Point, error)
	// Feasible says what constraints can't: whether a point may be proposed. It is asked of those only that the search would go on to.
	Feasible func(space.Point) bool
}

// Observation is a measurement.
type Observation struct {
	At     space.Point
	Value  float64
	Failed bool // it could not be measured: Value means nothing
}

// ErrNoMore says that all points of a space have been proposed.
var ErrNoMore = diag.Errorf(diag.Unsupported, "all points of the space have been proposed")

// Tuner proposes points. It is not for use by several goroutines at once.
type Tuner struct {
	space   *space.Space
	options Options
	random  *rand.Rand
	first   []space.Point

	told    []Observation // points that were measured several times are there as often
	pending []space.Point // asked and not told
	seen    map[string]bool
	at      hyper // of the last fit
	grown   grown
	prior   *model
	drawn   int // random points in between
}

// stalled is how many measurements without a gain are followed by a random point. From 4 on, searches of the space of SpMM (all of its 864
// kernels measured) took 33 measurements in place of 25, and half of those of two Branins ended in place of two thirds.
const stalled = 8

// grown is the forest of the last time, nil if all points could be measured, and of how many it was grown.
type grown struct {
	forest       forest
	told, failed int
}

// New makes a tuner of a space.
func New(s *space.Space, o Options) *Tuner {
	if o.First <= 0 {
		o.First = len(s.Params) + 1
	}
	if o.Sample == nil {
		o.Sample = s.Sample
	}
	if o.Threshold == 0 {
		o.Threshold = 0.1
	}
	t := &Tuner{space: s, options: o, random: rand.New(rand.NewPCG(o.Seed, 0x6c69627370617273)), seen: map[string]bool{}}
	if s.Default != nil {
		t.first = append(t.first, s.Default)
	}
	t.first = append(t.first, o.Starts...)
	o.Known = slices.DeleteFunc(slices.Clone(o.Known), func(k Observation) bool { return !s.Contains(k.At) || !k.Failed && !t.models(k.Value) })
	if measured := measurements(o.Known, o.Log); len(measured) > 1 {
		t.prior = t.learn(measured, nil)
	}
	return t
}

// key is a point as a key of a map.
func key(at space.Point) string {
	var b []byte
	for _, x := range at {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return string(b)
}

// Ask proposes a point to measure, never one that was proposed or told before. Several may be asked before the first is
// told: the others are expected to turn out as the model predicts.
//
// The error is ErrNoMore where all points have been proposed.
func (t *Tuner) Ask() (space.Point, error) {
	for len(t.first) > 0 {
		at := t.first[0]
		t.first = t.first[1:]
		if t.space.Contains(at) && t.free(at) {
			return t.propose(at), nil
		}
	}
	measured := measurements(t.told, t.options.Log)
	if len(t.told)+len(t.pending) >= t.options.First && len(measured) > 1 && !t.strays() {
		if at := t.search(measured); at != nil {
			return t.propose(at), nil
		}
	}
	at, err := t.unseen()
	if err != nil {
		return nil, err
	}
	return t.propose(at), nil
}

// strays reports whether the next point is random, which is so for every second one after some measurements without a gain, as
// often as at first. A model that has seen one basin of several takes the parameters that hardly matter there for such as
// matter nowhere, and expects nothing of the others.
func (t *Tuner) strays() bool {
	if t.drawn >= t.options.First {
		return false
	}
	best := 0 // some could be measured, else there is no model
	for i, o := range t.told {
		if !o.Failed && (t.told[best].Failed || o.Value < t.told[best].Value) {
			best = i
		}
	}
	since := len(t.told) + len(t.pending) - 1 - best
	if since < stalled || (since-stalled)%2 != 0 {
		return false
	}
	t.drawn++
	return true
}

// free reports whether a point may be proposed. One that is not feasible never is, as if it had been proposed before.
func (t *Tuner) free(at space.Point) bool {
	name := key(at)
	if t.seen[name] {
		return false
	}
	if t.options.Feasible != nil && !t.options.Feasible(at) {
		t.seen[name] = true
		return false
	}
	return true
}

func (t *Tuner) propose(at space.Point) space.Point {
	t.seen[key(at)] = true
	t.pending = append(t.pending, slices.Clone(at))
	return slices.Clone(at)
}

// models reports whether a value can be one of the model's.
func (t *Tuner) models(value float64) bool {
	return !math.IsNaN(value) && !math.IsInf(value, 0) && (!t.options.Log || value > 0)
}

// Tell says what the measurement of a point gave, whether it was proposed or not; points may be told several times.
//
// Values that are no numbers, and such that are not positive where the logarithm is modelled, are errors.
func (t *Tuner) Tell(o Observation) error {
	if !t.space.Contains(o.At) {
		return diag.Errorf(diag.Syntax, "the point %v is not of the space: it has %d coordinates of %d, one of another parameter's, or breaks a constraint",
			o.At, len(o.At), len(t.space.Params))
	}
	if !o.Failed && !t.models(o.Value) {
		return diag.Errorf(diag.Syntax, "the value is %g; expected a finite number, and a positive one where its logarithm is modelled", o.Value)
	}
	o.At = slices.Clone(o.At)
	t.told = append(t.told, o)
	t.seen[key(o.At)] = true
	t.pending = slices.DeleteFunc(t.pending, func(at space.Point) bool { return slices.Equal(at, o.At) })
	return nil
}

// Best is the point with the least mean of its measurements; false if none could be measured.
func (t *Tuner) Best() (Observation, bool) {
	var best Observation
	found := false
	for _, m := range measurements(t.told, false) {
		if !found || m.value < best.Value {
			best, found = Observation{At: m.at, Value: m.value}, true
		}
	}
	return best, found
}

// measurement is a point with the mean of its values, or of their logarithms.
type measurement struct {
	at      space.Point
	value   float64
	repeats float64
}

func measurements(told []Observation, log bool) []measurement {
	var all []measurement
	places := map[string]int{}
	for _, o := range told {
		if o.Failed {
			continue
		}
		value := o.Value
		if log {
			value = math.Log(value)
		}
		place, known := places[key(o.At)]
		if !known {
			places[key(o.At)] = len(all)
			all = append(all, measurement{o.At, value, 1})
			continue
		}
		m := &all[place]
		m.value += (value - m.value) / (m.repeats + 1)
		m.repeats++
	}
	return all
}

// unseen draws a point that was not proposed before.
func (t *Tuner) unseen() (space.Point, error) {
	const tries = 400
	for range tries {
		at, err := t.options.Sample(t.random)
		if err != nil {
			return nil, err
		}
		if t.free(at) {
			return at, nil
		}
	}
	size := t.space.Size()
	if size != nil && size.IsUint64() && size.Uint64() <= uint64(len(t.seen))*tries {
		n := size.Uint64()
		for number, first := uint64(0), t.random.Uint64N(n); number < n; number++ {
			if at := t.space.At((first + number) % n); t.free(at) {
				return at, nil
			}
		}
	}
	return nil, ErrNoMore
}
