package index

import "math/bits"

// The extents of tensors that the compiler sees are representatives of classes, so that kernels serve tensors of other sizes too.

const (
	// largestExact is the extent up to which a loop is compiled for exactly that extent.
	largestExact = 64
	// few stands for all extents below 64 where they vary from call to call.
	few = 10
)

// SizeClass is the representative of extents that get the same schedule. Extents below 8, and multiples of 8 up to 64,
// stand for themselves, so that loops over them have constant bounds; beyond, the number after a power of two stands for
// all up to the next. Callers whose extents vary from call to call have coarser classes; a representative only has to
// stand for itself or for none of the exact ones.
func SizeClass(n int64) int64 {
	switch {
	case n < 8 || n <= largestExact && n%8 == 0:
		return n
	case n < largestExact:
		return n/8*8 + 1
	}
	return 1<<(bits.Len64(uint64(n))-1) + 1
}

// Exact reports whether a class holds one extent only.
func Exact(class int64) bool { return class < 8 || class <= largestExact && class%8 == 0 }

// Least is the smallest extent of a class of SizeClass; of coarser ones, it tells those from the others that have 0.
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
