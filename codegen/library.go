package codegen

import "libsparse/libsparse/dtype"

// ctypes are the types in C99 with stdint.h. Halves are bits, since few compilers calculate with them.
var ctypes = map[dtype.T]string{
	dtype.Bool: "uint8_t",
	dtype.U8:   "uint8_t",
	dtype.I8:   "int8_t",
	dtype.I16:  "int16_t",
	dtype.I32:  "int32_t",
	dtype.I64:  "int64_t",
	dtype.F16:  "uint16_t",
	dtype.BF16: "uint16_t",
	dtype.F32:  "float",
	dtype.F64:  "double",
	dtype.C64:  "float _Complex",
	dtype.C128: "double _Complex",
}

// elemType is the name of t in C.
func elemType(t dtype.T) string {
	name, ok := ctypes[t]
	if !ok {
		panic("BUG: no C type for dtype " + string(t))
	}
	return name
}

// libraryFunctions are the operators that C has as functions: the name in math.h of the version for double (the one for float
// ends in f), and the compiler's builtin for complex values. Where a name is empty, a helper function computes the operator.
var libraryFunctions = map[dtype.Op]struct{ real, complex string }{
	dtype.Abs:   {"fabs", "cabs"},
	"sqrt":      {"sqrt", "csqrt"},
	"cbrt":      {"cbrt", ""},
	"exp":       {"exp", "cexp"},
	"exp2":      {"exp2", ""},
	"expm1":     {"expm1", ""},
	"log":       {"log", "clog"},
	"log2":      {"log2", ""},
	"log10":     {"log10", ""},
	"log1p":     {"log1p", ""},
	"sin":       {"sin", "csin"},
	"cos":       {"cos", "ccos"},
	"tan":       {"tan", "ctan"},
	"asin":      {"asin", "casin"},
	"acos":      {"acos", "cacos"},
	"atan":      {"atan", "catan"},
	"sinh":      {"sinh", "csinh"},
	"cosh":      {"cosh", "ccosh"},
	"tanh":      {"tanh", "ctanh"},
	"asinh":     {"asinh", "casinh"},
	"acosh":     {"acosh", "cacosh"},
	"atanh":     {"atanh", "catanh"},
	"erf":       {"erf", ""},
	"erfc":      {"erfc", ""},
	"floor":     {"floor", ""},
	"ceil":      {"ceil", ""},
	"trunc":     {"trunc", ""},
	"round":     {"rint", ""},
	dtype.Conj:  {"", "conj"},
	dtype.Pow:   {"pow", ""},
	dtype.Atan2: {"atan2", ""},
	dtype.Fmod:  {"fmod", ""},
}

// libraryFunction is the name of the function that computes op on values of type t; ok is false where there is none.
func libraryFunction(op dtype.Op, t dtype.T) (name string, ok bool) {
	f := libraryFunctions[op]
	switch {
	case t.IsComplex():
		name, ok = "__builtin_"+f.complex, f.complex != ""
	case t.IsFloat():
		name, ok = f.real, f.real != ""
	}
	if t.Real() == dtype.F32 {
		name += "f"
	}
	return name, ok
}
