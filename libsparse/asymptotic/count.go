package asymptotic

import "math"

const (
	// maxVars and maxGroupings bound the enumeration before programs can be counted.
	maxVars      = 8
	maxGroupings = 20_000
)

// count is how many programs a placing can become, up to math.MaxInt64; those that TACO can't run are included.
func (e *enumerator) count(at placing) int64 {
	if n, ok := e.counted[at]; ok {
		return n
	}
	n := int64(0)
	if at.g.producer == nil {
		n = product(permutations(size(at.vars)), e.ways(at.g.rhs, &at.held))
	} else {
		for _, d := range e.divisions(at) {
			n = sum(n, product(permutations(size(d.outside)), product(e.count(d.consumer), e.count(d.producer))))
		}
	}
	e.counted[at] = n
	return n
}

// ways is the number of combinations of protocols in t.
func (e *enumerator) ways(t *term, held *held) int64 {
	switch {
	case t.ws >= 0:
		return 1 << size(held[t.ws])
	case t.leaf >= 0 && e.leaves[t.leaf].sparse:
		return 1 << size(e.leaves[t.leaf].vars)
	}
	n := int64(1)
	for _, a := range t.args {
		n = product(n, e.ways(a, held))
	}
	return n
}

func permutations(n int) int64 {
	if n < 2 {
		return 1
	}
	return product(int64(n), permutations(n-1))
}

func product(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func sum(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }
