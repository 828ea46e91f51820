// Package space describes what a tuner searches: parameters, the constraints between them, and the points that satisfy
// these.
//
// Points that satisfy the constraints are the leaves of a chain of trees (BaCO, section 4.2): parameters that share
// constraints share a tree, and the space is the product of the trees. Nodes below which the same choices are left are
// one node, so that a tree takes memory for its distinct sub-spaces and not for its leaves.
//
// It must not know about tensors, measurements or models.
package space
