package dtype

import "math"

// DividesByZero reports whether op, on values of type t, divides an integer by the zero y. Such a value doesn't exist, and
// a kernel that meets it fails, as torch does.
func (op Op) DividesByZero(t T, y Value) bool { return op.Divides() && t.IsInt() && y.Int == 0 }

// divideInts is a quotient or a remainder, wrapped where the smallest integer is divided by -1.
func (op Op) divideInts(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	quotient, left := a/b, a%b
	if op != Fmod && left != 0 && (left < 0) != (b < 0) {
		quotient, left = quotient-1, left+b
	}
	if op == FloorDivide {
		return quotient
	}
	return left
}

// powerOfInt wraps. As in torch, a negative exponent leaves what is whole of the result: of 1 and -1 their powers, else 0.
func powerOfInt(a, b int64) int64 {
	switch {
	case b < 0 && a == -1:
		b = -(b & 1)
		return 1 + 2*b
	case b < 0 && a != 1:
		return 0
	case b < 0:
		return 1
	}
	power := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			power *= a
		}
		a *= a
	}
	return power
}

// remainder has the sign of b.
func remainder(a, b float64) float64 {
	left := math.Mod(a, b)
	if left != 0 && (left < 0) != (b < 0) {
		left += b
	}
	return left
}

// floorDivide is torch's and Python's: of a minus the remainder, so that the two fit together.
func floorDivide(a, b float64) float64 {
	if b == 0 {
		return a / b
	}
	left := math.Mod(a, b)
	quotient := (a - left) / b
	if left != 0 && (left < 0) != (b < 0) {
		quotient--
	}
	if quotient == 0 {
		return math.Copysign(0, a/b)
	}
	whole := math.Floor(quotient)
	if quotient-whole > 0.5 {
		whole++
	}
	return whole
}
