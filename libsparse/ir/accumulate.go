package ir

import "math"

// Accumulate is m with its Simd loops that reduce into a scalar rewritten: partial sums are kept in the lanes of vectors, which are
// reduced to one value behind the loop. C compilers may not change the order of sums, and leave such loops to one chain of
// operations that wait for each other.
//
// The order of the sums depends on the width of the target's vectors, on the number of iterations, and on nothing else. With L lanes
// and U vectors, iteration k goes to lane k mod L of vector k/L mod U, in ascending order; the last iterations, where they fill no vector, to
// the last lanes of the first vector. Then vectors are added in pairs, then lanes: those that are half a vector apart, until one is left.
func Accumulate(m *Module, target Target) *Module {
	reduces := func(s *For) bool {
		_, ok := reductionOf(s)
		return ok
	}
	x := vectorizer{Target: target, gather: true}
	return rewriteLoops(m, reduces, func(s *For, names *Builder) Stmt { return x.accumulate(s, names) })
}

// chains is how many vectors of sums a loop of that many vectors has: enough not to wait for the one before, few enough that adding
// them up doesn't show.
func chains(vectors int64) int {
	switch {
	case vectors < 8:
		return 1
	case vectors < 32:
		return 2
	default:
		return 4
	}
}

// shortLanes is how many lanes the sums of a loop have that is as short as rows of a sparse tensor mostly are: more are
// seldom filled.
const shortLanes = 4

func (x vectorizer) accumulate(s *For, names *Builder) Stmt {
	r, ok := reductionOf(s)
	if !ok {
		return s
	}
	return x.accumulators(r, names).one()
}

// one is the loop of a reduction into one scalar.
func (a *accumulators) one() Stmt {
	a.values, a.scalars = []Expr{a.value}, []*Var{a.sum}
	stmts, sums, ok := a.run()
	if !ok {
		return a.serial()
	}
	return Do(append(stmts, &Assign{Var: a.sum, Reduce: a.op, Value: &ReduceLanes{Op: a.op, Of: sums}})...)
}

// serial is the loop as it is where its values can't be vectors: without lanes where they gather, since a C compiler gathers slowly.
func (r reduction) serial() Stmt {
	if !gathers(r.value, r.loop.Var) {
		return r.loop
	}
	loop := *r.loop
	loop.Kind = Serial
	return &loop
}

// accumulators are those for a reduction, without its values.
func (x vectorizer) accumulators(r reduction, names *Builder) *accumulators {
	a := &accumulators{vectorizer: x, reduction: r, names: names}
	a.lanes = x.VectorBytes() / max(a.elem().Size(), widest(r.value, r.loop.Var))
	if !isLiteralZero(r.loop.Lo) || gathers(r.value, r.loop.Var) {
		a.lanes, a.each = min(a.lanes, shortLanes), 1
	}
	n, known := a.trips()
	if !known {
		n = math.MaxInt64
	}
	for int64(a.lanes) > n {
		a.lanes /= 2
	}
	if a.each == 0 {
		a.each = chains(n / int64(max(a.lanes, 1)))
	}
	return a
}
