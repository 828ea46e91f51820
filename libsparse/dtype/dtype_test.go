package dtype

import (
	"fmt"
	"math"
	"testing"
)

func TestPromote(t *testing.T) {
	for _, c := range []struct{ a, b, want T }{
		{Bool, U8, U8},
		{U8, I8, I16},
		{U8, I16, I16},
		{I8, I64, I64},
		{I64, F16, F16},
		{F16, BF16, F32},
		{BF16, F64, F64},
		{F16, C64, C64},
		{F64, C64, C128},
		{C64, C128, C128},
		{I64, C64, C64},
		{Bool, Bool, Bool},
		{Invalid, F16, F16},
	} {
		if got := Promote(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: got %s, want %s", c.a, c.b, got, c.want)
		}
		if got := Promote(c.b, c.a); got != c.want {
			t.Errorf("%s and %s: got %s, want %s", c.b, c.a, got, c.want)
		}
	}
	for _, c := range []struct{ t, number, want T }{
		{I8, I64, I8}, {Bool, I64, I64}, {I8, F32, F32}, {F64, F32, F64}, {BF16, F32, BF16}, {F64, C64, C128}, {Invalid, F32, F32},
	} {
		if got := PromoteNumber(c.t, c.number); got != c.want {
			t.Errorf("%s and a number of %s: got %s, want %s", c.t, c.number, got, c.want)
		}
	}
}

func TestHalves(t *testing.T) {
	for _, half := range []T{F16, BF16} {
		for bits := range 1 << 16 {
			x := FromHalfBits(half, uint16(bits))
			if got := HalfBits(half, x); x == x && got != uint16(bits) {
				t.Fatalf("%s: bits %#04x are %g, whose bits are %#04x", half, bits, x, got)
			}
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		t    T
		x    float32
		want float32
	}{
		{F16, 65519, 65504},
		{F16, 65520, inf},
		{F16, -1e9, -inf},
		{F16, 0x1p-25, 0},
		{F16, 0x1.8p-25, 0x1p-24},
		{F16, 2049, 2048},
		{F16, 2051, 2052},
		{F16, 0x1.ffep-15, 0x1p-14},
		{BF16, 257, 256},
		{BF16, 259, 260},
		{BF16, 3.4e38, inf},
		{BF16, 3.389e38, 0x1.fep127},
	} {
		if got := FromHalfBits(c.t, HalfBits(c.t, c.x)); got != c.want {
			t.Errorf("%s of %g: got %g, want %g", c.t, c.x, got, c.want)
		}
	}
}

// TestEval wants integers that wrap and booleans that stay booleans, NaN that wins over infinity, and plain products of
// complex values.
func TestEval(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	number := func(x float64) Value { return Float(F64, x) }
	for _, c := range []struct {
		t    T
		op   Op
		x, y Value
		want Value
	}{
		{I8, Add, Int(I8, 100), Int(I8, 100), Int(I8, -56)},
		{U8, Sub, Int(U8, 1), Int(U8, 2), Int(U8, 255)},
		{I64, Mul, Int(I64, 1<<53+1), Int(I64, 3), Int(I64, 27021597764222979)},
		{Bool, Add, Int(Bool, 1), Int(Bool, 1), Int(Bool, 1)},
		{F64, Min, number(-inf), number(nan), number(nan)},
		{F64, Max, number(nan), number(inf), number(nan)},
		{C128, Mul, Value{Num: complex(inf, 1)}, Value{Num: 2}, Value{Num: complex(inf, nan)}},
		{C128, Div, Value{Num: complex(1, 2)}, Value{}, Value{Num: complex(inf, inf)}},
		{C128, Div, Value{Num: complex(1e300, 1e300)}, Value{Num: complex(1e300, 1e300)}, Value{Num: 1}},
	} {
		if got := c.op.Eval(c.t, c.x, c.y); fmt.Sprint(got) != fmt.Sprint(c.want) { // NaN differs from itself
			t.Errorf("%s of %s: got %v, want %v", c.op, c.t, got, c.want)
		}
	}
}
