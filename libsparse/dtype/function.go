package dtype

import (
	"math"
	"math/cmplx"
)

// function is an operator with one argument.
type function struct {
	eval func(float64) float64
	// complex is the meaning on complex values, nil where there is none.
	complex func(complex128) complex128
}

// functions are the operators with one argument beside Neg, under torch's names.
var functions = map[Op]function{
	Abs:     {math.Abs, nil},
	"sqrt":  {math.Sqrt, cmplx.Sqrt},
	"cbrt":  {math.Cbrt, nil},
	"exp":   {math.Exp, cmplx.Exp},
	"exp2":  {math.Exp2, complexExp2},
	"expm1": {math.Expm1, complexExpm1},
	"log":   {math.Log, cmplx.Log},
	"log2":  {math.Log2, complexLog2},
	"log10": {math.Log10, cmplx.Log10},
	"log1p": {math.Log1p, complexLog1p},
	"sin":   {math.Sin, cmplx.Sin},
	"cos":   {math.Cos, cmplx.Cos},
	"tan":   {math.Tan, cmplx.Tan},
	"asin":  {math.Asin, cmplx.Asin},
	"acos":  {math.Acos, cmplx.Acos},
	"atan":  {math.Atan, cmplx.Atan},
	"sinh":  {math.Sinh, cmplx.Sinh},
	"cosh":  {math.Cosh, cmplx.Cosh},
	"tanh":  {math.Tanh, cmplx.Tanh},
	"asinh": {math.Asinh, cmplx.Asinh},
	"acosh": {math.Acosh, cmplx.Acosh},
	"atanh": {math.Atanh, cmplx.Atanh},
	"erf":   {math.Erf, nil},
	"erfc":  {math.Erfc, nil},
	"floor": {math.Floor, nil},
	"ceil":  {math.Ceil, nil},
	"trunc": {math.Trunc, nil},
	"round": {math.RoundToEven, nil},
	Conj:    {nil, cmplx.Conj},
	Real:    {nil, nil},
	Imag:    {nil, nil},
}

func complexExp2(z complex128) complex128 { return cmplx.Exp(z * math.Ln2) }

func complexLog2(z complex128) complex128 { return cmplx.Log(z) / math.Ln2 }

// complexExpm1 keeps what exp(z) - 1 would cancel.
func complexExpm1(z complex128) complex128 {
	s := math.Sin(imag(z) / 2)
	return complex(math.Expm1(real(z))*math.Cos(imag(z))-2*s*s, math.Exp(real(z))*math.Sin(imag(z)))
}

func complexLog1p(z complex128) complex128 {
	x, y := real(z), imag(z)
	return complex(math.Log1p(x*(2+x)+y*y)/2, math.Atan2(y, 1+x))
}

// IsFunction reports whether op has one argument and is written as a function.
func (op Op) IsFunction() bool {
	_, ok := functions[op]
	return ok
}

// Approximates reports whether processors have no instruction for op on real numbers: libraries compute it by polynomials, in tens of instructions.
func (op Op) Approximates() bool {
	switch op {
	case Abs, Conj, Real, Imag, "sqrt", "floor", "ceil", "trunc", "round":
		return false
	case Pow, Atan2:
		return true
	default:
		return op.IsFunction()
	}
}

// mostFactors is the highest power that is a product: those above have more rounding errors than what libraries approximate.
const mostFactors = 8

// Multiplies reports whether the power n of a floating value is a product or a root, or one divided by it, instead of what libraries approximate.
func Multiplies(n float64) bool {
	n = math.Abs(n)
	return n == 0.5 || 1 <= n && n <= mostFactors && n == math.Trunc(n)
}

// IsPart reports whether op makes a real number of a complex one.
func (op Op) IsPart() bool { return op == Abs || op == Real || op == Imag }

// KeepsIntegers reports whether a function makes integers of integers; others need floating values.
func (op Op) KeepsIntegers() bool {
	switch op {
	case Abs, Conj, Real, "floor", "ceil", "trunc", "round":
		return true
	default:
		return false
	}
}

// KeepsZeros reports whether op makes zero of zeros.
func (op Op) KeepsZeros() bool {
	switch op {
	case Eq, Le, Ge, Pow, "acos", "acosh", "cos", "cosh", "erfc", "exp", "exp2", "log", "log2", "log10":
		return false
	default:
		return true
	}
}

// Result is the type of op applied to values of type t.
func (op Op) Result(t T) T {
	if op.IsPart() {
		return t.Real()
	}
	return t
}

// On reports whether op is defined on values of type t, which are computed in t.
func (op Op) On(t T) bool {
	switch {
	case t.IsComplex():
		return op.onComplexNumbers()
	case !op.IsFunction() && op.NeedsFloat() && op != Div:
		return t.IsFloat()
	case !op.IsFunction():
		return t != Bool || op != Neg && op != Sub && op != Div && op != Pow && !op.Divides()
	case t.IsFloat():
		return op != Imag
	case t.IsInt():
		return op.KeepsIntegers()
	default:
		return op == Conj || op == Real
	}
}

// onComplexNumbers reports whether op is defined on complex numbers, which have no order.
func (op Op) onComplexNumbers() bool {
	switch op {
	case Lt, Le, Gt, Ge, Min, Max, Atan2, Pow, Fmod, Remainder, FloorDivide:
		return false
	}
	f, function := functions[op]
	return !function || f.complex != nil || op.IsPart()
}

// Functions lists the operators that are written as functions, unsorted.
func Functions() []Op {
	out := []Op{Add, Sub, Mul, Div, Neg, Min, Max, And, Or, Xor, First, Second, Pow, Atan2, Fmod, Remainder, FloorDivide, Lt, Le, Gt, Ge, Eq, Ne, Where}
	for op := range functions {
		out = append(out, op)
	}
	return out
}
