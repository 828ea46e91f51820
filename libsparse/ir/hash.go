package ir

import "math/bits"

// HashFactor is 2^64 divided by the golden ratio.
const HashFactor uint64 = 0x9E3779B97F4A7C15

// HashOf is the place of a key in a table of size places, a power of two: Fibonacci hashing (Knuth, volume 3, section 6.4),
// the leading bits of a product.
func HashOf(key, size int64) int64 {
	place, _ := bits.Mul64(uint64(key)*HashFactor, uint64(size))
	return int64(place)
}
