package bayes

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// jitter keeps matrices of points that the kernel can hardly tell apart positive definite.
const jitter = 1e-8

// leastVariance is that of a point that has been measured without noise, which rounding may bring below 0.
const leastVariance = 1e-11

// hyper are the logarithms of the parameters of a kernel: a length scale for each parameter of the space, the variance,
// and the variance of the noise.
type hyper []float64

func (h hyper) scale(i int) float64 { return math.Exp(h[i]) }
func (h hyper) variance() float64   { return math.Exp(h[len(h)-2]) }
func (h hyper) noise() float64      { return math.Exp(h[len(h)-1]) }

// sample is what a process is conditioned on: values, how many measurements each is the mean of, and the squared distances
// between the points in each parameter, a symmetric matrix by rows.
type sample struct {
	values  []float64
	repeats []float64
	squares [][]float64
}

func (s *sample) size() int { return len(s.values) }

// matern is the Matérn kernel of smoothness 5/2 at a squared distance, and its derivative by the squared distance.
//
// The paper prints 5 d^2 for the quadratic term; the kernel has 5/3 d^2.
func matern(square float64) (value, slope float64) {
	d := math.Sqrt(5 * square)
	e := math.Exp(-d)
	return (1 + d + d*d/3) * e, -5. / 6 * (1 + d) * e
}

// posterior is a process conditioned on a sample.
type posterior struct {
	at      hyper
	factor  mat.Cholesky
	weights *mat.VecDense // the inverse covariance times the values
	inverse mat.SymDense
}

// covariances fills the matrix of a sample, and the slopes of the kernel where that is not nil.
func (s *sample) covariances(at hyper, to *mat.SymDense, slopes []float64) {
	n, variance := s.size(), at.variance()
	weights := make([]float64, len(s.squares))
	for p := range weights {
		weights[p] = 1 / (at.scale(p) * at.scale(p))
	}
	for i := range n {
		for j := range i {
			square := 0.0
			for p, squares := range s.squares {
				square += squares[i*n+j] * weights[p]
			}
			value, slope := matern(square)
			to.SetSym(i, j, variance*value)
			if slopes != nil {
				slopes[i*n+j] = variance * slope
			}
		}
		to.SetSym(i, i, variance+at.noise()/s.repeats[i]+jitter)
	}
}

// condition computes the posterior; false if the matrix can't be factored.
func (s *sample) condition(at hyper) (*posterior, bool) {
	n := s.size()
	k := mat.NewSymDense(n, nil)
	s.covariances(at, k, nil)
	p := &posterior{at: at, weights: mat.NewVecDense(n, nil)}
	if !p.factor.Factorize(k) || p.factor.SolveVecTo(p.weights, mat.NewVecDense(n, s.values)) != nil {
		return nil, false
	}
	return p, p.factor.InverseTo(&p.inverse) == nil
}

// mean is that of the noise-free value at a point with these covariances with the sample.
func (p *posterior) mean(covariances []float64) float64 {
	return mat.Dot(mat.NewVecDense(len(covariances), covariances), p.weights)
}

// deviation is the standard deviation of the noise-free value.
func (p *posterior) deviation(covariances []float64) float64 {
	k := mat.NewVecDense(len(covariances), covariances)
	return math.Sqrt(math.Max(p.at.variance()-mat.Inner(k, &p.inverse, k), leastVariance))
}

// mostDeviation is a bound on deviation that costs a pass: what is left once one value of the sample is known.
func (p *posterior) mostDeviation(covariances []float64) float64 {
	most := 0.0
	for _, k := range covariances {
		most = max(most, k)
	}
	// The most correlated value may be a single measurement; its noise is at most this.
	known := most * most / (p.at.variance() + p.at.noise() + jitter)
	return math.Sqrt(math.Max(p.at.variance()-known, leastVariance))
}

// objective is the negative logarithm of the likelihood of the sample times the prior, and its gradient.
func (s *sample) objective(at hyper, gradient []float64) float64 {
	n := s.size()
	k, slopes := mat.NewSymDense(n, nil), make([]float64, n*n)
	s.covariances(at, k, slopes)
	var factor mat.Cholesky
	weights := mat.NewVecDense(n, nil)
	var inverse mat.SymDense
	if !factor.Factorize(k) || factor.SolveVecTo(weights, mat.NewVecDense(n, s.values)) != nil || factor.InverseTo(&inverse) != nil {
		return math.Inf(1)
	}
	fit := mat.Dot(weights, mat.NewVecDense(n, s.values)) + factor.LogDet()
	prior := priorOf(at, gradient)
	if gradient == nil {
		return fit/2 + prior
	}
	// Half the trace of (inverse - weights weights^T) times the derivative of the matrix.
	last, variance := len(at)-1, at.variance()
	for i := range n {
		a := weights.AtVec(i)
		diagonal := inverse.At(i, i) - a*a
		gradient[last-1] += diagonal * variance / 2
		gradient[last] += diagonal * at.noise() / s.repeats[i] / 2
		for j := range i {
			outer := inverse.At(i, j) - a*weights.AtVec(j)
			gradient[last-1] += outer * k.At(i, j)
			for p, squares := range s.squares {
				scale := at.scale(p)
				gradient[p] += outer * slopes[i*n+j] * -2 * squares[i*n+j] / (scale * scale)
			}
		}
	}
	return fit/2 + prior
}
