package dtype

import "math"

// HalfBits are the bits of x, rounded to the nearest value of the half type t, ties to even. As in torch a BF16 NaN has
// one pattern.
func HalfBits(t T, x float32) uint16 {
	bits := math.Float32bits(x)
	if t == BF16 {
		if x != x {
			return 0x7fc0
		}
		return uint16((bits + 0x7fff + bits>>16&1) >> 16)
	}
	sign := uint16(bits >> 16 & 0x8000)
	magnitude := math.Abs(float64(x))
	switch {
	case x != x:
		return sign | 0x7e00
	case magnitude >= 65520: // halfway between the largest value and the one that would follow
		return sign | 0x7c00
	case magnitude < 0x1p-14: // a denormal is a multiple of 2^-24
		return sign | uint16(math.RoundToEven(magnitude*0x1p24))
	default:
		low := bits & 0x7fffffff
		return sign | uint16((low-112<<23+0xfff+low>>13&1)>>13)
	}
}

// FromHalfBits is the value of the half type t with the given bits.
func FromHalfBits(t T, bits uint16) float32 {
	if t == BF16 {
		return math.Float32frombits(uint32(bits) << 16)
	}
	sign, exponent, fraction := uint32(bits&0x8000)<<16, uint32(bits>>10&0x1f), uint32(bits&0x3ff)
	switch exponent {
	case 0:
		return math.Float32frombits(math.Float32bits(float32(fraction)*0x1p-24) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	default:
		return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
	}
}
