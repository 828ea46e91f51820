package codegen

import (
	"fmt"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// divide calls the helper fn for x. Those of integers are told where the flag is.
func (e *emitter) divide(fn string, x *ir.Binary) (string, int) {
	if x.Type().Elem.IsInt() {
		return fmt.Sprintf("%s(%s, %s, &%s)", fn, e.value(x.X), e.value(x.Y), e.fault), precAtom
	}
	return fmt.Sprintf("%s(%s, %s)", fn, e.value(x.X), e.value(x.Y)), precAtom
}

// division is the source of a helper for op on values of type t, if it is one that divides or a power.
func division(op string, t dtype.T) (source string, ok bool) {
	kind := "float"
	switch {
	case t == dtype.U8:
		kind = "unsigned"
	case t.IsInt():
		kind = "signed"
	}
	if op == string(dtype.Pow) && t.IsInt() {
		kind = "int"
	}
	source, ok = divisionText[op+" "+kind]
	return source, ok
}

// byZero is how a helper tells that there is no result. Threads may do so at once.
var byZero = fmt.Sprintf(`    if (y == 0) {
        __atomic_store_n(fault, %d, __ATOMIC_RELAXED);
        return 0;
    }
`, ir.DividedByZero)

// divisionText holds the helpers by operator and kind of type. The smallest integer divided by -1 traps on some machines.
var divisionText = map[string]string{
	"fmod signed": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y, int32_t *fault)
{
` + byZero + `    return y == -1 ? 0 : x % y;
}
`,
	"remainder signed": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y, int32_t *fault)
{
` + byZero + `    const ELEMENT left = y == -1 ? 0 : x % y;
    return left != 0 && (left < 0) != (y < 0) ? left + y : left;
}
`,
	"floor_divide signed": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y, int32_t *fault)
{
` + byZero + `    if (y == -1) {
        return (ELEMENT)-x;
    }
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
`,
	"fmod unsigned":      remainderUnsigned,
	"remainder unsigned": remainderUnsigned,
	"floor_divide unsigned": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y, int32_t *fault)
{
` + byZero + `    return x / y;
}
`,
	"remainder float": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    const ELEMENT left = fmodSUFFIX(x, y);
    return left != 0 && (left < 0) != (y < 0) ? left + y : left;
}
`,
	// As torch and Python do it: of x minus the remainder, so that the two fit together.
	"floor_divide float": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    if (y == 0) {
        return x / y;
    }
    const ELEMENT left = fmodSUFFIX(x, y);
    const ELEMENT quotient = (x - left) / y - (left != 0 && (left < 0) != (y < 0));
    if (quotient == 0) {
        return copysignSUFFIX(0, x / y);
    }
    const ELEMENT whole = floorSUFFIX(quotient);
    return quotient - whole > (ELEMENT)0.5 ? whole + 1 : whole;
}
`,
	// A negative exponent leaves what is whole of the result: of 1 and -1 their powers, else 0. As in torch.
	"pow int": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    int64_t base = x, exponent = y, power = 1;
    if (exponent < 0) {
        return base == 1 || base == -1 ? (ELEMENT)(exponent & 1 ? base : 1) : 0;
    }
    for (; exponent > 0; exponent >>= 1) {
        power *= exponent & 1 ? base : 1;
        base *= base;
    }
    return (ELEMENT)power;
}
`,
}

var remainderUnsigned = `static inline ELEMENT NAME(ELEMENT x, ELEMENT y, int32_t *fault)
{
` + byZero + `    return x % y;
}
`
