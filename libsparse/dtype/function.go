package dtype

import (
	"math"
	"math/cmplx"
)

// function is an operator with one argument.
type function struct {
	eval func(float64) float64
	// c is the name in math.h of the version for double; the one for float ends in f.
	c string
	// complex is the meaning on complex values, nil where there is none; complexC the compiler's builtin for it, "" where
	// codegen writes it.
	complex  func(complex128) complex128
	complexC string
}

// functions are the operators with one argument beside Neg, under torch's names.
var functions = map[Op]function{
	Abs:     {math.Abs, "fabs", nil, "cabs"},
	"sqrt":  {math.Sqrt, "sqrt", cmplx.Sqrt, "csqrt"},
	"cbrt":  {math.Cbrt, "cbrt", nil, ""},
	"exp":   {math.Exp, "exp", cmplx.Exp, "cexp"},
	"exp2":  {math.Exp2, "exp2", complexExp2, ""},
	"expm1": {math.Expm1, "expm1", complexExpm1, ""},
	"log":   {math.Log, "log", cmplx.Log, "clog"},
	"log2":  {math.Log2, "log2", complexLog2, ""},
	"log10": {math.Log10, "log10", cmplx.Log10, ""},
	"log1p": {math.Log1p, "log1p", complexLog1p, ""},
	"sin":   {math.Sin, "sin", cmplx.Sin, "csin"},
	"cos":   {math.Cos, "cos", cmplx.Cos, "ccos"},
	"tan":   {math.Tan, "tan", cmplx.Tan, "ctan"},
	"asin":  {math.Asin, "asin", cmplx.Asin, "casin"},
	"acos":  {math.Acos, "acos", cmplx.Acos, "cacos"},
	"atan":  {math.Atan, "atan", cmplx.Atan, "catan"},
	"sinh":  {math.Sinh, "sinh", cmplx.Sinh, "csinh"},
	"cosh":  {math.Cosh, "cosh", cmplx.Cosh, "ccosh"},
	"tanh":  {math.Tanh, "tanh", cmplx.Tanh, "ctanh"},
	"asinh": {math.Asinh, "asinh", cmplx.Asinh, "casinh"},
	"acosh": {math.Acosh, "acosh", cmplx.Acosh, "cacosh"},
	"atanh": {math.Atanh, "atanh", cmplx.Atanh, "catanh"},
	"erf":   {math.Erf, "erf", nil, ""},
	"erfc":  {math.Erfc, "erfc", nil, ""},
	"floor": {math.Floor, "floor", nil, ""},
	"ceil":  {math.Ceil, "ceil", nil, ""},
	"trunc": {math.Trunc, "trunc", nil, ""},
	"round": {math.RoundToEven, "rint", nil, ""},
	Conj:    {nil, "", cmplx.Conj, "conj"},
	Real:    {nil, "", nil, ""},
	Imag:    {nil, "", nil, ""},
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

// binaryFunctions are the operators on two floats that C has as functions.
var binaryFunctions = map[Op]string{Pow: "pow", Atan2: "atan2", Fmod: "fmod"}

// CFunction is the name in C of a function of values of type t; ok is false where there is none, and codegen has to
// write it.
func (op Op) CFunction(t T) (name string, ok bool) {
	f, unary := functions[op]
	if !unary {
		f.c = binaryFunctions[op]
	}
	switch {
	case t.IsComplex():
		name, ok = "__builtin_"+f.complexC, f.complexC != ""
	case t.IsFloat():
		name, ok = f.c, f.c != ""
	}
	if t.Real() == F32 {
		name += "f"
	}
	return name, ok
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
	f, function := functions[op]
	switch {
	case t.IsComplex():
		ordered := op.IsComparison() && op != Eq && op != Ne || op == Min || op == Max || op == Atan2 || op == Pow || op.Divides()
		return !ordered && (!function || f.complex != nil || op.IsPart())
	case !function && op.NeedsFloat() && op != Div:
		return t.IsFloat()
	case !function:
		return t != Bool || op != Neg && op != Sub && op != Div && op != Pow && !op.Divides()
	case t.IsFloat():
		return op != Imag
	case t.IsInt():
		return op.KeepsIntegers()
	default:
		return op == Conj || op == Real
	}
}

// Functions lists the operators that are written as functions, unsorted.
func Functions() []Op {
	out := []Op{Add, Sub, Mul, Div, Neg, Min, Max, And, Or, Xor, First, Second, Pow, Atan2, Fmod, Remainder, FloorDivide, Lt, Le, Gt, Ge, Eq, Ne, Where}
	for op := range functions {
		out = append(out, op)
	}
	return out
}
