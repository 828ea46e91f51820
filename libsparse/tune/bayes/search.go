package bayes

import (
	"cmp"
	"math"
	"slices"

	"libsparse/libsparse/tune/space"
)

const (
	candidates = 300 // random points whose acquisition is computed
	climbs     = 5   // local searches: from the best of them and of the neighbours of the best measured point
	attempts   = 50  // points whose feasibility is asked for one proposal
	margin     = 1e-4
)

// model is a process over points of a space, with the shape of an earlier one below it.
type model struct {
	space     *space.Space
	points    []space.Point
	posterior *posterior
	shift     float64 // values are standardised
	spread    float64
	prior     *model
	slope     float64     // of the prior's prediction
	tables    [][]float64 // by parameter: squared distances over squared scales from each choice to each point
	buffer    []float64
}

// learn fits a model to measurements; the last parameters of a tuner are a start where there are some.
func (t *Tuner) learn(measured []measurement, prior *model) *model {
	m := &model{space: t.space, prior: prior, spread: 1, buffer: make([]float64, 0, len(measured)+len(t.pending))}
	s := &sample{}
	for _, own := range measured {
		m.points = append(m.points, own.at)
		s.values = append(s.values, own.value)
		s.repeats = append(s.repeats, own.repeats)
	}
	m.standardise(s.values)
	m.subtractPrior(s.values)
	s.squares = m.squares()
	t.at = fit(s, t.at, t.random)
	posterior, ok := s.condition(t.at)
	if !ok {
		return nil
	}
	m.posterior = posterior
	m.tabulate()
	return m
}

// standardise gives values mean 0 and variance 1.
func (m *model) standardise(values []float64) {
	for _, y := range values {
		m.shift += y / float64(len(values))
	}
	sum := 0.0
	for _, y := range values {
		sum += (y - m.shift) * (y - m.shift)
	}
	if sum > 0 {
		m.spread = math.Sqrt(sum / float64(len(values)-1))
	}
	for i := range values {
		values[i] = (values[i] - m.shift) / m.spread
	}
}

// subtractPrior leaves what the model of a similar objective does not explain, by the slope of a regression on it.
func (m *model) subtractPrior(values []float64) {
	if m.prior == nil {
		return
	}
	expected := make([]float64, len(values))
	mean, product, square := 0.0, 0.0, 0.0
	for i, at := range m.points {
		expected[i] = m.prior.mean(at)
		mean += expected[i] / float64(len(values))
	}
	for i, y := range values {
		product += y * (expected[i] - mean)
		square += (expected[i] - mean) * (expected[i] - mean)
	}
	// One observation in favour of slope 1 keeps the prior until measurements speak against it.
	m.slope = max(0, (product+1)/(square+1))
	for i := range values {
		values[i] -= m.slope * expected[i]
	}
}

// squares are the squared distances between the points, by parameter.
func (m *model) squares() [][]float64 {
	n := len(m.points)
	all := make([][]float64, len(m.space.Params))
	for p, param := range m.space.Params {
		all[p] = make([]float64, n*n)
		for i := range n {
			for j := range i {
				d := param.Distance(m.points[i][p], m.points[j][p])
				all[p][i*n+j], all[p][j*n+i] = d*d, d*d
			}
		}
	}
	return all
}

// tabulate computes the distances of all choices to all points, which candidates look up.
func (m *model) tabulate() {
	n := len(m.points)
	m.tables = make([][]float64, len(m.space.Params))
	for p, param := range m.space.Params {
		weight := math.Pow(m.posterior.at.scale(p), -2)
		m.tables[p] = make([]float64, param.Size()*n)
		for choice := range param.Size() {
			for i, at := range m.points {
				d := param.Distance(float64(choice), at[p])
				m.tables[p][choice*n+i] = d * d * weight
			}
		}
	}
}

// covariances are those of the noise-free value at a point with the values that the model has seen.
func (m *model) covariances(at space.Point) []float64 {
	n := len(m.points)
	k := m.buffer[:n]
	clear(k)
	for p, param := range m.space.Params {
		if param.Kind == space.Real {
			weight := math.Pow(m.posterior.at.scale(p), -2)
			for i := range k {
				d := param.Distance(at[p], m.points[i][p])
				k[i] += d * d * weight
			}
			continue
		}
		row := m.tables[p][int(at[p])*n:][:n]
		for i, square := range row {
			k[i] += square
		}
	}
	variance := m.posterior.at.variance()
	for i, square := range k {
		value, _ := matern(square)
		k[i] = variance * value
	}
	return k
}

// mean is that of the standardised noise-free value at a point.
func (m *model) mean(point space.Point) float64 {
	return m.posterior.mean(m.covariances(point)) + m.expected(point)
}

// expected is the part of the mean that the shape of an earlier objective explains.
func (m *model) expected(point space.Point) float64 {
	if m.prior == nil || m.slope == 0 {
		return 0
	}
	return m.slope * m.prior.mean(point)
}

// expect adds points that are being measured, with the values that the model expects of them.
func (t *Tuner) expect(measured []measurement) []measurement {
	if len(t.pending) == 0 {
		return measured
	}
	m := t.learn(measured, t.prior)
	if m == nil {
		return measured
	}
	for _, at := range t.pending {
		measured = append(measured, measurement{at, m.shift + m.spread*m.mean(at), 1})
	}
	return measured
}

// acquisition is what a point promises: the improvement that is expected of its noise-free value on the best so far, times
// the probability that it can be measured.
type acquisition struct {
	model    *model
	least    float64 // the best mean at a measured point
	forest   forest  // nil where all points could be measured
	floor    float64 // on the probability
	features []float64
	known    map[string]float64 // by point: local searches meet
}

// at is the acquisition of a point if it is more than a threshold, else some number that is not.
func (a *acquisition) at(point space.Point, threshold float64) float64 {
	name := key(point)
	value, ok := a.known[name]
	if ok {
		return value
	}
	covariances := a.model.covariances(point)
	mean := a.model.posterior.mean(covariances) + a.model.expected(point)
	if a.improvement(mean, a.model.posterior.mostDeviation(covariances)) <= threshold {
		return threshold
	}
	value = a.improvement(mean, a.model.posterior.deviation(covariances)) * a.probability(point)
	a.known[name] = value
	return value
}

// improvement is the expected one of a normal variable.
func (a *acquisition) improvement(mean, deviation float64) float64 {
	gain := a.least - mean - margin
	z := gain / deviation
	return gain*0.5*math.Erfc(-z/math.Sqrt2) + deviation*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
}

// probability is that of a point to be measurable, 0 below the floor.
func (a *acquisition) probability(point space.Point) float64 {
	if a.forest == nil {
		return 1
	}
	a.features = a.model.space.Features(point, a.features[:0])
	if p := a.forest.probability(a.features); p >= a.floor {
		return p
	}
	return 0
}

// search is the point of the largest acquisition that local searches find; nil if none promises anything.
func (t *Tuner) search(measured []measurement) space.Point {
	m := t.learn(t.expect(measured), t.prior)
	if m == nil {
		return nil
	}
	a := &acquisition{model: m, known: map[string]float64{}, least: math.Inf(1), floor: t.options.Threshold * float64(t.random.IntN(11)) / 10}
	for _, point := range m.points {
		a.least = min(a.least, m.mean(point))
	}
	t.learnFeasibility(a)

	return t.best(t.starts(a), a)
}

// best is the best point that climbs find and that may be proposed; nil if there is none. Whether a point is feasible may take
// longer than all the rest, so it is asked of the best ones only: from where one that is not was found, a climb goes elsewhere.
func (t *Tuner) best(starts []proposal, a *acquisition) space.Point {
	found := make([]proposal, len(starts))
	for i, start := range starts {
		found[i] = t.climb(start, a)
	}
	for range attempts {
		at := -1
		for i, p := range found {
			if p.value > 0 && (at < 0 || p.value > found[at].value) {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		if t.free(found[at].at) {
			return found[at].at
		}
		found[at] = t.climb(starts[at], a)
	}
	return nil
}

// proposal is a point and its acquisition.
type proposal struct {
	at    space.Point
	value float64
}

// starts are the best of random points and of the neighbours of the best measured one.
func (t *Tuner) starts(a *acquisition) []proposal {
	best := make([]proposal, climbs)
	add := func(at space.Point) {
		last := &best[climbs-1]
		if value := a.at(at, last.value); value > last.value && !t.seen[key(at)] {
			*last = proposal{slices.Clone(at), value}
			slices.SortStableFunc(best, func(x, y proposal) int { return cmp.Compare(y.value, x.value) })
		}
	}
	for range candidates {
		if at, err := t.options.Sample(t.random); err == nil {
			add(at)
		}
	}
	if least, ok := t.Best(); ok {
		t.space.Neighbours(least.At, t.random, add)
	}
	return slices.DeleteFunc(best, func(p proposal) bool { return p.at == nil })
}

// climb goes to the best neighbour that was not seen until none is better. The value is 0 where all points on the way were.
func (t *Tuner) climb(from proposal, a *acquisition) proposal {
	if t.seen[key(from.at)] {
		from.value = 0
	}
	for {
		next := from
		t.space.Neighbours(from.at, t.random, func(to space.Point) {
			if value := a.at(to, next.value); value > next.value && !t.seen[key(to)] {
				next = proposal{slices.Clone(to), value}
			}
		})
		if next.value == from.value {
			return from
		}
		from = next
	}
}

// learnFeasibility grows a forest if some points could not be measured: anew where one more could not, or many more could.
func (t *Tuner) learnFeasibility(a *acquisition) {
	failed := 0
	for _, o := range t.told {
		if o.Failed {
			failed++
		}
	}
	if failed != t.grown.failed || len(t.told) > t.grown.told+t.grown.told/10 {
		points, measured := make([][]float64, len(t.told)), make([]bool, len(t.told))
		for i, o := range t.told {
			points[i], measured[i] = t.space.Features(o.At, nil), !o.Failed
		}
		t.grown = grown{told: len(t.told), failed: failed}
		if failed > 0 {
			t.grown.forest = grow(points, measured, t.random)
		}
	}
	a.forest = t.grown.forest
}
