// Package bayes searches a space for the point with the least value, by few measurements.
//
// It is Bayesian optimisation as in BaCO (Hellsten et al., ASPLOS 2024), by ask and tell: a Gaussian process models the
// measurements, a random forest the probability that a point can be measured at all, and the next point is the one
// with the largest expected improvement times that probability.
//
// It must not know about tensors, kernels or time: values are numbers, of which less is better.
package bayes
