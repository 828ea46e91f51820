package codegen

import (
	"fmt"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// wideningBytes is the kind of helper functions that make int32 of integers of 8 bits and of truth values. GCC widens vectors of them in halves, which takes
// five instructions for one of x86.
const wideningBytes = "i32_of"

// byteInstructions are, by lanes, where the instruction is and how it is called of a vector x; its name lacks z for unsigned numbers and s for others.
var byteInstructions = map[int][2]string{
	4: {"__SSE4_1__", `    typedef int four __attribute__((vector_size(16)));
    return (i32x4)__builtin_ia32_pmov%sxbd128((char __attribute__((vector_size(16))))(four){(int)x});`},
	8: {"__AVX2__", `    typedef long long pair __attribute__((vector_size(16)));
    return (i32x8)__builtin_ia32_pmov%sxbd256((char __attribute__((vector_size(16))))(pair){(long long)x});`},
	16: {"__AVX512F__", `    return (i32x16)__builtin_ia32_pmov%sxbd512_mask((char __attribute__((vector_size(16))))x, (i32x16){0}, -1);`},
}

// hasByteInstruction reports whether vectors of type t are widened by one instruction.
func hasByteInstruction(t ir.Type) bool {
	_, ok := byteInstructions[t.Lanes]
	return ok && t.Elem.Size() == 1
}

// widenBytes notes the use of the conversion of bytes of type t to int32, and returns its name.
func (u *uses) widenBytes(t ir.Type) string {
	u.vector(ir.Type{Elem: dtype.I16, Lanes: t.Lanes})
	u.vector(ir.Type{Elem: dtype.I32, Lanes: t.Lanes})
	return u.helper(wideningBytes, t)
}

// bytesText is the C definition of a conversion of bytes.
func (h helper) bytesText() string {
	sign := "z"
	if h.t.Elem == dtype.I8 {
		sign = "s"
	}
	where := byteInstructions[h.t.Lanes]
	half, whole := ir.Type{Elem: dtype.I16, Lanes: h.t.Lanes}, ir.Type{Elem: dtype.I32, Lanes: h.t.Lanes}
	return fmt.Sprintf(`static inline %[1]s %[2]s(%[3]s x)
{
#if defined %[4]s && !defined __clang__
%[5]s
#else
    return __builtin_convertvector(__builtin_convertvector(x, %[6]s), %[1]s);
#endif
}
`, ctype(whole), h.name(), ctype(h.t), where[0], fmt.Sprintf(where[1], sign), ctype(half))
}
