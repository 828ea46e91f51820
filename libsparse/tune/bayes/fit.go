package bayes

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// gamma is a prior of a positive number.
type gamma struct{ shape, rate float64 }

// The priors, of values that are standardised and distances that go from 0 to 1.
//
// The published TACO scenarios have Gamma(1.3, 0.1) for length scales, which expects some ten times the range of a
// parameter, and the published code Gamma(1.1, 0.05) for noise, which expects that the values are nothing else. Priors
// that expect scales of the range, and little noise, needed 20 measurements in place of 33 for the space of SpMM with a
// synthetic time, and 26 in place of 56 for the one of RISE (medians of 16 searches).
var (
	scalePrior    = gamma{3, 3}
	variancePrior = gamma{2, 0.15}
	noisePrior    = gamma{1.1, 100}
)

// penalty is the negative logarithm of the density of the number's logarithm, and its derivative by that.
func (g gamma) penalty(logarithm float64) (value, slope float64) {
	x := math.Exp(logarithm)
	return g.rate*x - g.shape*logarithm, g.rate*x - g.shape
}

// priorOf is the negative logarithm of the prior of parameters; it writes the gradient where that is not nil.
func priorOf(at hyper, gradient []float64) float64 {
	sum := 0.0
	for i, x := range at {
		g := scalePrior
		switch i {
		case len(at) - 2:
			g = variancePrior
		case len(at) - 1:
			g = noisePrior
		}
		value, slope := g.penalty(x)
		sum += value
		if gradient != nil {
			gradient[i] = slope
		}
	}
	return sum
}

const (
	mostFitted = 64  // points whose likelihood chooses the parameters; all are conditioned on
	draws      = 40  // of parameters, of which the best are refined
	refined    = 2   // of them, beside the parameters of the last fit
	steps      = 12  // of a refinement, in evaluations
	work       = 1e6 // the cube of the sample's size times evaluations that a fit may take
)

// fit finds the parameters of the kernel that are most probable given a sample: of random ones and those of the last
// fit, the best are refined along the gradient.
func fit(s *sample, last hyper, random *rand.Rand) hyper {
	s = s.some(mostFitted, random)
	n := float64(s.size())
	evaluations := int(work/(n*n*n)) + 1
	dims := len(s.squares) + 2
	type start struct {
		at    hyper
		value float64
	}
	var starts []start
	add := func(at hyper) { starts = append(starts, start{at, s.objective(at, nil)}) }
	if last != nil {
		add(last)
	}
	for range min(draws, evaluations/2) + min(1, 1-len(starts)) {
		at := make(hyper, dims)
		for i := range at {
			at[i] = math.Ln10 * (2*random.Float64() - 1)
		}
		at[dims-1] = math.Ln10 * (4*random.Float64() - 5)
		add(at)
	}
	slices.SortStableFunc(starts, func(a, b start) int {
		if a.value < b.value {
			return -1
		}
		return 1
	})
	best := starts[0]
	for i := 0; i < min(refined, len(starts)) && (i == 0 || evaluations > steps); i++ {
		at, value := s.refine(starts[i].at, min(steps, max(evaluations, 4)))
		if value < best.value {
			best = start{at, value}
		}
		evaluations -= steps
	}
	return best.at
}

// refine follows the gradient from parameters, for some evaluations.
func (s *sample) refine(from hyper, evaluations int) (hyper, float64) {
	best, least := from, math.Inf(1)
	last, value, slopes := hyper(nil), 0.0, make([]float64, len(from)) // value and gradient share their work
	at := func(x []float64) {
		if !slices.Equal(last, x) {
			last = slices.Clone(x)
			value = s.objective(x, slopes)
		}
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 {
			at(x)
			return value
		},
		Grad: func(gradient, x []float64) {
			at(x)
			copy(gradient, slopes)
		},
	}
	result, err := optimize.Minimize(problem, from, &optimize.Settings{
		FuncEvaluations: evaluations, GradEvaluations: evaluations, Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: 3},
	}, &optimize.LBFGS{})
	if result != nil && (err == nil || result.Status == optimize.FunctionEvaluationLimit || result.Status == optimize.GradientEvaluationLimit) {
		best, least = result.X, result.F
	}
	return best, least
}

// some is the sample, or a random part of it with its least value.
func (s *sample) some(most int, random *rand.Rand) *sample {
	n := s.size()
	if n <= most {
		return s
	}
	kept := random.Perm(n)[:most]
	least := 0
	for i, value := range s.values {
		if value < s.values[least] {
			least = i
		}
	}
	if !slices.Contains(kept, least) {
		kept[0] = least
	}
	part := &sample{}
	for _, i := range kept {
		part.values = append(part.values, s.values[i])
		part.repeats = append(part.repeats, s.repeats[i])
	}
	for _, squares := range s.squares {
		own := make([]float64, 0, most*most)
		for _, i := range kept {
			for _, j := range kept {
				own = append(own, squares[i*n+j])
			}
		}
		part.squares = append(part.squares, own)
	}
	return part
}
