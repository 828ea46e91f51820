package dtype

import "math"

// Eval is the meaning of an operator on values of type t; the result has type op.Result(t). An integer divided by
// zero is zero; who evaluates programs has to ask DividesByZero.
func (op Op) Eval(t T, x ...Value) Value {
	switch {
	case op == First:
		return x[0]
	case op == Second:
		return x[1]
	case op == And:
		return Convert(truth(x[0].Truth() && x[1].Truth()), Bool, t)
	case op == Or:
		return Convert(truth(x[0].Truth() || x[1].Truth()), Bool, t)
	case op == Xor:
		return Convert(truth(x[0].Truth() != x[1].Truth()), Bool, t)
	case op == Where:
		if x[0].Truth() {
			return x[1]
		}
		return x[2]
	case op.IsComparison():
		return Convert(truth(op.compares(t, x[0], x[1])), Bool, t)
	case t.IsComplex():
		return roundTo(t, op.onComplex(x))
	case t.IsFloat():
		return roundTo(t, Value{Num: complex(op.onFloats(x), 0)})
	case t == Bool:
		return op.onBools(x)
	default:
		return Value{Int: wrap(t, op.onInts(x))}
	}
}

// onFloats computes in float64; rounding once more to float32 gives the float32 result for the binary operators.
func (op Op) onFloats(x []Value) float64 {
	a, b := real(x[0].Num), 0.0
	if len(x) > 1 {
		b = real(x[1].Num)
	}
	switch op {
	case Add:
		return a + b
	case Sub:
		return a - b
	case Mul:
		return float64(a * b)
	case Div:
		return a / b
	case Neg:
		return -a
	case Conj, Real:
		return a
	}
	if f := functions[op]; f.eval != nil {
		return f.eval(a)
	}
	if f := floatOperators[op]; f != nil {
		return f(a, b)
	}
	panic("BUG: no meaning for operator " + string(op))
}

// floatOperators are the operators with two arguments beside arithmetic.
var floatOperators = map[Op]func(a, b float64) float64{
	Min:         minimum,
	Max:         maximum,
	Pow:         math.Pow,
	Atan2:       math.Atan2,
	Fmod:        math.Mod,
	Remainder:   remainder,
	FloorDivide: floorDivide,
}

// minimum is the lesser of two numbers; NaN wins, even over infinity.
func minimum(a, b float64) float64 {
	if a < b || math.IsNaN(a) {
		return a
	}
	return b
}

func maximum(a, b float64) float64 {
	if a > b || math.IsNaN(a) {
		return a
	}
	return b
}

// compares is a comparison of values of type t; complex ones are only equal or not.
func (op Op) compares(t T, x, y Value) bool {
	switch {
	case t.IsComplex():
		return (x.Num == y.Num) == (op == Eq)
	case t.IsFloat():
		return holds(op, real(x.Num), real(y.Num))
	default:
		return holds(op, x.Int, y.Int)
	}
}

func holds[N int64 | float64](op Op, x, y N) bool {
	switch op {
	case Lt:
		return x < y
	case Le:
		return x <= y
	case Gt:
		return x > y
	case Ge:
		return x >= y
	case Eq:
		return x == y
	default:
		return x != y
	}
}

func (op Op) onInts(x []Value) int64 {
	a, b := x[0].Int, int64(0)
	if len(x) > 1 {
		b = x[1].Int
	}
	switch op {
	case Add:
		return a + b
	case Sub:
		return a - b
	case Mul:
		return a * b
	case Div:
		return a / b
	case Fmod, Remainder, FloorDivide:
		return op.divideInts(a, b)
	case Pow:
		return powerOfInt(a, b)
	case Min:
		return min(a, b)
	case Max:
		return max(a, b)
	case Neg:
		return -a
	case Abs:
		return max(a, -a)
	}
	if op.KeepsIntegers() {
		return a
	}
	panic("BUG: no integer operator " + string(op))
}

// onBools adds by or and multiplies by and, as torch does.
func (op Op) onBools(x []Value) Value {
	switch op {
	case Add, Max:
		return truth(x[0].Truth() || x[1].Truth())
	case Mul, Min:
		return truth(x[0].Truth() && x[1].Truth())
	case Conj, Real:
		return x[0]
	default:
		panic("BUG: no operator on booleans " + string(op))
	}
}

func (op Op) onComplex(x []Value) Value {
	a := x[0].Num
	switch op {
	case Add:
		return Value{Num: a + x[1].Num}
	case Sub:
		return Value{Num: a - x[1].Num}
	case Mul:
		return Value{Num: multiply(a, x[1].Num)}
	case Div:
		return Value{Num: divide(a, x[1].Num)}
	case Neg:
		return Value{Num: -a}
	case Abs:
		return Value{Num: complex(math.Hypot(real(a), imag(a)), 0)}
	case Real:
		return Value{Num: complex(real(a), 0)}
	case Imag:
		return Value{Num: complex(imag(a), 0)}
	}
	if f := functions[op]; f.complex != nil {
		return Value{Num: f.complex(a)}
	}
	panic("BUG: no operator on complex values " + string(op))
}

// multiply is the plain formula: as in torch, an infinity times a number may have NaN as a part.
func multiply(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	return complex(float64(a*c)-float64(b*d), float64(a*d)+float64(b*c))
}

// divide is Smith's formula as torch and NumPy have it: it scales by the larger part of the divisor, so that squares
// don't overflow.
func divide(x, y complex128) complex128 {
	a, b, c, d := real(x), imag(x), real(y), imag(y)
	switch {
	case c == 0 && d == 0:
		return complex(a/math.Abs(c), b/math.Abs(d))
	case math.Abs(c) >= math.Abs(d):
		ratio := d / c
		scale := 1 / (c + d*ratio)
		return complex((a+b*ratio)*scale, (b-a*ratio)*scale)
	default:
		ratio := c / d
		scale := 1 / (d + c*ratio)
		return complex((a*ratio+b)*scale, (b*ratio-a)*scale)
	}
}
