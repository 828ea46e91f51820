package index

import "math/bits"

// The compiler sees representatives of size classes, not the extents of tensors, so that a kernel serves all sizes of its class.

const (
	// largestExact is the extent up to which multiples of 8 have loops compiled for exactly that extent, and largestPower that up to which
	// powers of two have: layers mostly have such widths.
	largestExact, largestPower = 64, 512
	// few is the representative of all extents below 64 for callers whose extents vary from call to call.
	few = 10
)

// SizeClass is the representative of the class of an extent; equal classes get equal schedules. Extents below 8, multiples of 8 up
// to 64, and powers of two up to 512 are classes of their own, so that loops over them have constant bounds. Other extents are in classes
// between multiples of 8, and beyond 64 between powers of two, whose representative is the number after the lower bound. Callers whose
// extents vary from call to call use coarser classes; their representatives must not be extents with a class of their own here.
func SizeClass(n int64) int64 {
	switch {
	case Exact(n):
		return n
	case n < largestExact:
		return n/8*8 + 1
	}
	return 1<<(bits.Len64(uint64(n))-1) + 1
}

// Exact reports whether a class holds one extent only.
func Exact(class int64) bool {
	return class < 8 || class <= largestExact && class%8 == 0 || class <= largestPower && class&(class-1) == 0
}

// Bounds are the least and the largest extent of a class, where it holds one extent, or those between two multiples of 8 up to 64; known is false of others.
func Bounds(class int64) (least, most int64, known bool) {
	if Exact(class) {
		return class, class, true
	}
	return class, class + 6, class < largestExact && class%8 == 1
}

// Least is the smallest extent of a class of SizeClass. Of a coarser class it is positive only if 0 is not in the class.
func Least(class int64) int64 {
	switch {
	case class == few:
		return 0
	case Exact(class):
		return class
	default:
		return class / 8 * 8
	}
}
