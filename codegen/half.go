package codegen

import (
	"fmt"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Halves are bits in C: few compilers calculate with them, and those that know _Float16 convert vectors of them element
// by element. These functions need only integers and floats, never denormal floats (a process may have turned those
// off), and no branches, so that loops over them become vector code.

// The kinds of helper functions that convert halves to floats and back.
const (
	widening  = "f32_of"
	narrowing = "f32_to"
	// plainWidening is without instructions that a C compiler can't make vector code of.
	plainWidening = "f32_of_each"
)

// conversion is the C definition of a conversion helper.
func (h helper) conversion() string {
	float, whole := ir.Type{Elem: dtype.F32, Lanes: h.t.Lanes}, ir.Type{Elem: dtype.I32, Lanes: h.t.Lanes}
	kind := h.kind
	if kind == plainWidening {
		kind = widening
	}
	key := kind + " " + string(h.t.Elem)
	source := scalarConversions[key]
	if h.t.Lanes > 1 {
		source = vectorConversions[key]
	}
	begin, end := "", ""
	if native, ok := nativeConversions[fmt.Sprintf("%s %d", key, h.t.Lanes)]; ok && h.kind != plainWidening {
		begin, end = native, "#endif\n"
	}
	return strings.NewReplacer("BEGIN\n", begin, "END\n", end).Replace(
		strings.NewReplacer("NAME", h.name(), "HALF", ctype(h.t), "FLOAT", ctype(float), "WHOLE", ctype(whole)).Replace(source))
}

// nativeConversions are instructions that do it at once, for the kinds, types and lanes that have some.
var nativeConversions = map[string]string{
	"f32_of bf16 8": `#if defined __AVX2__ && !defined __clang__
    return (f32x8)(__builtin_ia32_pmovzxwd256((short __attribute__((vector_size(16))))x) << 16);
#else
`,
	// One permutation (measured on Zen 4: products of 64 columns take .64 of the time of widening and shifting; nothing was measured on others).
	"f32_of bf16 16": `#if defined __AVX512BW__ && (defined __znver3__ || defined __znver4__ || defined __znver5__)
    return (f32x16)__builtin_shufflevector((bf16x16){0}, x, 0, 16, 0, 17, 0, 18, 0, 19, 0, 20, 0, 21, 0, 22, 0, 23, 0, 24, 0, 25, 0, 26, 0, 27, 0, 28, 0, 29, 0, 30, 0, 31);
#else
`,
	"f32_of f16 1": `#ifdef __F16C__
    return __builtin_ia32_vcvtph2ps((short __attribute__((vector_size(16)))){(short)x})[0];
#else
`,
	"f32_of f16 2": `#ifdef __F16C__
    typedef int whole __attribute__((vector_size(16)));
    typedef long long pair __attribute__((vector_size(16)));
    return (f32x2)((pair)__builtin_ia32_vcvtph2ps((short __attribute__((vector_size(16))))(whole){(int)x}))[0];
#else
`,
	"f32_to f16 2": `#ifdef __F16C__
    typedef int whole __attribute__((vector_size(16)));
    typedef long long pair __attribute__((vector_size(16)));
    return (f16x2)((whole)__builtin_ia32_vcvtps2ph((float __attribute__((vector_size(16))))(pair){(long long)x}, 0))[0];
#else
`,
	"f32_of f16 4": `#ifdef __F16C__
    typedef long long pair __attribute__((vector_size(16)));
    return (f32x4)__builtin_ia32_vcvtph2ps((short __attribute__((vector_size(16))))(pair){(long long)x});
#else
`,
	"f32_to f16 4": `#ifdef __F16C__
    typedef long long pair __attribute__((vector_size(16)));
    return (f16x4)((pair)__builtin_ia32_vcvtps2ph(x, 0))[0];
#else
`,
	"f32_of f16 8": `#ifdef __F16C__
    return (f32x8)__builtin_ia32_vcvtph2ps256((short __attribute__((vector_size(16))))x);
#else
`,
	"f32_to f16 8": `#ifdef __F16C__
    return (f16x8)__builtin_ia32_vcvtps2ph256(x, 0);
#else
`,
	"f32_of f16 16": `#ifdef __AVX512F__
    return (f32x16)__builtin_ia32_vcvtph2ps512_mask((short __attribute__((vector_size(32))))x, (f32x16){0}, -1, 4);
#else
`,
	"f32_to f16 16": `#ifdef __AVX512F__
    return (f16x16)__builtin_ia32_vcvtps2ph512_mask(x, 0, (short __attribute__((vector_size(32)))){0}, -1);
#else
`,
}

// scalarConversions are by kind and type.
var scalarConversions = map[string]string{
	"f32_of bf16": `static inline float NAME(HALF x)
{
    const union { uint32_t bits; float value; } y = {(uint32_t)x << 16};
    return y.value;
}
`,
	"f32_to bf16": `/* Rounds to nearest, ties to even. */
static inline HALF NAME(float x)
{
    const union { float value; uint32_t bits; } y = {x};
    const uint32_t rounded = (y.bits + 0x7fff + (y.bits >> 16 & 1)) >> 16;
    return x != x ? 0x7fc0 : rounded;
}
`,
	"f32_of f16": `static inline float NAME(HALF x)
{
BEGIN
    const uint32_t magnitude = (uint32_t)(x & 0x7fff) << 13;
    union { uint32_t bits; float value; } normal, tiny;
    normal.bits = magnitude + (magnitude < 0x0f800000 ? 0x38000000 : 0x70000000);
    tiny.bits = magnitude + 0x38800000;
    tiny.value -= 0x1p-14f;
    normal.bits = (magnitude < 0x00800000 ? tiny.bits : normal.bits) | (uint32_t)(x & 0x8000) << 16;
    return normal.value;
END
}
`,
	"f32_to f16": `/* Rounds to nearest, ties to even. */
static inline HALF NAME(float x)
{
    union { float value; uint32_t bits; } y = {x}, tiny;
    const uint32_t sign = y.bits & 0x80000000;
    y.bits ^= sign;
    tiny.value = y.value + 0.5f;
    const uint32_t normal = (y.bits - 0x38000000 + 0xfff + (y.bits >> 13 & 1)) >> 13;
    const uint32_t finite = y.bits < 0x38800000 ? tiny.bits - 0x3f000000 : normal;
    const uint32_t special = y.bits > 0x7f800000 ? 0x7e00 : 0x7c00;
    return (y.bits < 0x47800000 ? finite : special) | sign >> 16;
}
`,
}

// vectorConversions are by kind and type, the same computations without a choice.
var vectorConversions = map[string]string{
	"f32_of bf16": `static inline FLOAT NAME(HALF x)
{
BEGIN
    return (FLOAT)(__builtin_convertvector(x, WHOLE) << 16);
END
}
`,
	"f32_to bf16": `/* Rounds to nearest, ties to even. */
static inline HALF NAME(FLOAT x)
{
    const WHOLE bits = (WHOLE)x, nan = (WHOLE)(x != x);
    const WHOLE rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return __builtin_convertvector((nan & 0x7fc0) | (~nan & rounded), HALF);
}
`,
	"f32_of f16": `static inline FLOAT NAME(HALF x)
{
BEGIN
    const WHOLE bits = __builtin_convertvector(x, WHOLE), magnitude = (bits & 0x7fff) << 13;
    const WHOLE small = (WHOLE)(magnitude < 0x00800000), special = (WHOLE)(magnitude >= 0x0f800000);
    const WHOLE normal = magnitude + 0x38000000 + (special & 0x38000000);
    const WHOLE tiny = (WHOLE)((FLOAT)(magnitude + 0x38800000) - 0x1p-14f);
    return (FLOAT)((small & tiny) | (~small & normal) | (bits & 0x8000) << 16);
END
}
`,
	"f32_to f16": `/* Rounds to nearest, ties to even. */
static inline HALF NAME(FLOAT x)
{
BEGIN
    const WHOLE magnitude = (WHOLE)x & 0x7fffffff, sign = (WHOLE)x >> 16 & 0x8000;
    const WHOLE small = (WHOLE)(magnitude < 0x38800000), special = (WHOLE)(magnitude >= 0x47800000);
    const WHOLE normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const WHOLE tiny = (WHOLE)((FLOAT)magnitude + 0.5f) - 0x3f000000;
    const WHOLE finite = (small & tiny) | (~small & normal);
    const WHOLE beyond = 0x7c00 + ((WHOLE)(magnitude > 0x7f800000) & 0x0200);
    return __builtin_convertvector((special & beyond) | (~special & finite) | sign, HALF);
END
}
`,
}
