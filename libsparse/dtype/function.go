package dtype

import "math"

// function is an operator with one argument on floats.
type function struct {
	eval func(float64) float64
	// c is the name in math.h of the version for double; the one for float ends in f.
	c string
}

// functions are the operators with one argument beside Neg, under torch's names.
var functions = map[Op]function{
	"abs":   {math.Abs, "fabs"},
	"sqrt":  {math.Sqrt, "sqrt"},
	"cbrt":  {math.Cbrt, "cbrt"},
	"exp":   {math.Exp, "exp"},
	"exp2":  {math.Exp2, "exp2"},
	"expm1": {math.Expm1, "expm1"},
	"log":   {math.Log, "log"},
	"log2":  {math.Log2, "log2"},
	"log10": {math.Log10, "log10"},
	"log1p": {math.Log1p, "log1p"},
	"sin":   {math.Sin, "sin"},
	"cos":   {math.Cos, "cos"},
	"tan":   {math.Tan, "tan"},
	"asin":  {math.Asin, "asin"},
	"acos":  {math.Acos, "acos"},
	"atan":  {math.Atan, "atan"},
	"sinh":  {math.Sinh, "sinh"},
	"cosh":  {math.Cosh, "cosh"},
	"tanh":  {math.Tanh, "tanh"},
	"asinh": {math.Asinh, "asinh"},
	"acosh": {math.Acosh, "acosh"},
	"atanh": {math.Atanh, "atanh"},
	"erf":   {math.Erf, "erf"},
	"erfc":  {math.Erfc, "erfc"},
	"floor": {math.Floor, "floor"},
	"ceil":  {math.Ceil, "ceil"},
	"trunc": {math.Trunc, "trunc"},
	"round": {math.RoundToEven, "rint"},
}

// binaryFunctions are the operators on two floats that C has as functions.
var binaryFunctions = map[Op]function{
	Pow:   {nil, "pow"},
	Atan2: {nil, "atan2"},
	Fmod:  {nil, "fmod"},
}

// CFunction is the name in C of a function of floats of type t; ok is false for other operators.
func (op Op) CFunction(t T) (name string, ok bool) {
	f, ok := functions[op]
	if !ok {
		f, ok = binaryFunctions[op]
	}
	if t == F32 {
		return f.c + "f", ok
	}
	return f.c, ok
}

// Apply is the meaning of an operator on floats.
func (op Op) Apply(x ...float64) float64 {
	if f, ok := functions[op]; ok {
		return f.eval(x[0])
	}
	switch op {
	case Add:
		return x[0] + x[1]
	case Sub:
		return x[0] - x[1]
	case Mul:
		return x[0] * x[1]
	case Div:
		return x[0] / x[1]
	case Min:
		return math.Min(x[0], x[1])
	case Max:
		return math.Max(x[0], x[1])
	case And:
		return truth(x[0] != 0 && x[1] != 0)
	case Or:
		return truth(x[0] != 0 || x[1] != 0)
	case Xor:
		return truth((x[0] != 0) != (x[1] != 0))
	case Pow:
		return math.Pow(x[0], x[1])
	case Atan2:
		return math.Atan2(x[0], x[1])
	case Fmod:
		return math.Mod(x[0], x[1])
	case First:
		return x[0]
	case Second:
		return x[1]
	case Neg:
		return -x[0]
	case Where:
		if x[0] != 0 {
			return x[1]
		}
		return x[2]
	default:
		return op.compare(x)
	}
}

func (op Op) compare(x []float64) float64 {
	switch op {
	case Lt:
		return truth(x[0] < x[1])
	case Le:
		return truth(x[0] <= x[1])
	case Gt:
		return truth(x[0] > x[1])
	case Ge:
		return truth(x[0] >= x[1])
	case Eq:
		return truth(x[0] == x[1])
	case Ne:
		return truth(x[0] != x[1])
	default:
		panic("BUG: no meaning for operator " + string(op))
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Functions lists the operators that are written as functions, unsorted.
func Functions() []Op {
	out := []Op{Add, Sub, Mul, Div, Neg, Min, Max, And, Or, Xor, First, Second, Pow, Atan2, Fmod, Lt, Le, Gt, Ge, Eq, Ne, Where}
	for op := range functions {
		out = append(out, op)
	}
	return out
}
