package libsparse

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// randomValue is a value of type t: small integers, for halves numbers whose products they can't hold, for the widest
// integers ones that floats can't hold, where the result is of integers.
func randomValue(rng *rand.Rand, t, result dtype.T) dtype.Value {
	small := func() int64 { return rng.Int64N(7) - 3 }
	switch {
	case t == dtype.Bool:
		return dtype.Int(t, rng.Int64N(2))
	case t == dtype.I64 && result == t && rng.IntN(2) == 0:
		return dtype.Int(t, 1<<53+small())
	case t.IsInt() && result.IsInt() && rng.IntN(2) == 0:
		return dtype.Int(t, rng.Int64())
	case t == dtype.F16:
		return dtype.Float(t, float64(rng.IntN(2048)-1024)/256)
	case t == dtype.BF16:
		return dtype.Float(t, float64(rng.IntN(256)-128)/32)
	case t.IsComplex():
		return dtype.Value{Num: complex(float64(small()), float64(small()))}
	default:
		return dtype.Int(t, small())
	}
}

// tolerance is the largest relative error of a result of type t. Integers are exact; halves are rounded once, so that they
// differ by one place where sums of floats fall on the other side of a tie.
func tolerance(t dtype.T) float64 {
	switch t {
	case dtype.F16:
		return 0x1p-10
	case dtype.BF16:
		return 0x1p-7
	case dtype.F32, dtype.F64, dtype.C64, dtype.C128:
		return 1e-4
	default:
		return 0
	}
}

// different says where two results differ; elements that are not stored count as zero. Values of want are of type
// t.Wide(), those of got of type from.
func different(t, from dtype.T, got, want *index.Dense) string {
	least := 1.0
	if t.IsHalf() {
		least = 1e-2
	}
	for i := range want.Vals {
		x, y := got.Vals[i], want.Vals[i]
		if t.IsHalf() { // rounded once
			x, y = dtype.Convert(dtype.Convert(x, from, dtype.F32), dtype.F32, t), dtype.Convert(dtype.Convert(y, t.Wide(), dtype.F32), dtype.F32, t)
		}
		if x.Int == y.Int && same(real(x.Num), real(y.Num)) && same(imag(x.Num), imag(y.Num)) || cmplx.IsNaN(x.Num) && cmplx.IsNaN(y.Num) {
			continue // infinities among them
		}
		if d := cmplx.Abs(x.Num - y.Num); x.Int != y.Int || d > tolerance(t)*(least+cmplx.Abs(y.Num)) || math.IsNaN(d) {
			return fmt.Sprintf("element %d of %v: got %v, want %v", i, want.Shape, x, y)
		}
	}
	return ""
}

// same reports whether two parts are equal, or no numbers.
func same(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }

func identityOf(op dtype.Op, t dtype.T) dtype.Value {
	e, _ := op.Identity()
	if lo, hi := t.Range(); math.IsInf(e, 0) && !t.IsFloat() {
		return dtype.Int(t, map[bool]int64{true: hi, false: lo}[e > 0])
	}
	return dtype.Float(t, e)
}
