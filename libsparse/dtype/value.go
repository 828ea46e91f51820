package dtype

import "math"

// Value is a scalar of any type, as the interpreters have it: integers and booleans are in Int, all others in Num, whose
// imaginary part is zero but for complex types.
type Value struct {
	Int int64
	Num complex128
}

// Int is an integer of type t, reduced to its range, or that number of a type that isn't integer.
func Int(t T, n int64) Value { return Convert(Value{Int: n}, I64, t) }

// Float is a number of type t, rounded to it.
func Float(t T, x float64) Value { return Convert(Value{Num: complex(x, 0)}, F64, t) }

// Wide is the type that the reference evaluators compute values of type t in: the same category, without rounding.
func (t T) Wide() T {
	switch {
	case t.IsFloat():
		return F64
	case t.IsComplex():
		return C128
	default:
		return t
	}
}

// Convert is x, a value of type from, as one of type to, as a conversion in C is.
func Convert(x Value, from, to T) Value {
	switch {
	case from == to:
		return x
	case to == Bool:
		return truth(x.Truth())
	case !from.IsFloat() && !from.IsComplex():
		if !to.IsFloat() && !to.IsComplex() {
			return Value{Int: wrap(to, x.Int)}
		}
		if to.Real() != F64 {
			return roundTo(to, Value{Num: complex(float64(float32(x.Int)), 0)}) // one rounding, not two
		}
		return Value{Num: complex(float64(x.Int), 0)}
	case to.IsFloat():
		return roundTo(to, Value{Num: complex(real(x.Num), 0)})
	case to.IsComplex():
		return roundTo(to, x)
	default:
		return Value{Int: wrap(to, int64(real(x.Num)))}
	}
}

// Truth reports whether x is not zero.
func (x Value) Truth() bool { return x.Int != 0 || x.Num != 0 }

// wrap is n reduced to the range of t; non-zero is 1 as a Bool.
func wrap(t T, n int64) int64 {
	switch t {
	case Bool:
		return truth(n != 0).Int
	case U8:
		return int64(uint8(n))
	case I8:
		return int64(int8(n))
	case I16:
		return int64(int16(n))
	case I32:
		return int64(int32(n))
	default:
		return n
	}
}

// roundTo is a floating or complex x rounded to the precision of t.
func roundTo(t T, x Value) Value {
	part := func(x float64) float64 {
		if t.Real() == F64 {
			return x
		}
		y := float32(x)
		if t.IsHalf() {
			y = FromHalfBits(t, HalfBits(t, y))
		}
		return float64(y)
	}
	return Value{Num: complex(part(real(x.Num)), part(imag(x.Num)))}
}

func truth(b bool) Value {
	if b {
		return Value{Int: 1}
	}
	return Value{}
}

// Range is the least and the largest value of an integer type or Bool.
func (t T) Range() (lo, hi int64) {
	switch t {
	case Bool:
		return 0, 1
	case U8:
		return 0, math.MaxUint8
	default:
		bits := 8 * t.Size()
		return -1 << (bits - 1), 1<<(bits-1) - 1
	}
}
