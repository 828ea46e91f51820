package codegen

import (
	"strings"

	"libsparse/libsparse/ir"
)

// expText is exp of each lane of a vector of floats, to within two units in the last place: x is n * log(2) + r, where n is whole and
// r no more than log(2) / 2 from zero, and exp(r) is a polynomial (Moshier's, of Cephes). Added to 1.5 * 2^23, a number becomes a whole
// one, which the lowest bits of the sum are. 2^n is multiplied in two steps, since n may be beyond the exponents of normal numbers.
//
// Results below 2^-125, some of which are below the normal numbers, are rounded as whole numbers of 2^-149, whose bits they are: where a product is one of them, some processors
// take 100 ns (measured: 95 for a vector on Sapphire Rapids, with weights of a softmax that are far below the greatest).
const expText = `static inline VECTOR NAME(VECTOR x)
{
    const VECTOR least = (VECTOR){0} - 104.0f, most = (VECTOR){0} + 89.0f;
BOUNDED
    const VECTOR shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
    const VECTOR r = x - n * 0.693359375f + n * 2.12194440e-4f;
    VECTOR y = r * 1.9875691500e-4f + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
SCALED
}
`

const expBounded = `    const MASK below = x < least, above = x > most;
    x = (VECTOR)((below & (MASK)least) | (above & (MASK)most) | (~(below | above) & (MASK)x));`

const expScaled = `    const MASK tiny = n < -125.0f, whole = (MASK)shifted - 0x4b400000, exponent = whole + (tiny & 149), half = exponent >> 1;
    const VECTOR scaled = y * (VECTOR)((half + 127) << 23) * (VECTOR)((exponent - half + 127) << 23);
COMMON
    const MASK bits = __builtin_convertvector((VECTOR)(tiny & (MASK)(scaled + 0.5f)), MASK);
    return (VECTOR)((tiny & bits) | (~tiny & (MASK)scaled));`

// expCommon returns where no lane is that small, for 16 and 32 bytes.
const expCommon = `    if (__builtin_expect(!SIGNS((VECTOR)tiny), 1)) {
        return scaled;
    }`

const expScaled512 = `    const unsigned short tiny = __builtin_ia32_cmpps512_mask(n, (VECTOR){0} - 125.0f, 1, -1, 4);
    if (__builtin_expect(!tiny, 1)) {
        return __builtin_ia32_scalefps512_mask(y, n, y, -1, 4);
    }
    const VECTOR scaled = __builtin_ia32_scalefps512_mask(y, __builtin_ia32_addps512_mask(n, (VECTOR){0} + 149.0f, n, tiny, 4), y, -1, 4);
    return (VECTOR)__builtin_ia32_cvttps2dq512_mask(scaled + 0.5f, (MASK)scaled, tiny, 4);`

// exponential is the template of exp on vectors of type t. AVX-512 bounds a vector, and multiplies by powers of two, by an instruction each.
func exponential(t ir.Type) string {
	bounded, scaled, common := expBounded, expScaled, ""
	switch t.Lanes * t.Elem.Size() {
	case 16:
		common = onGCC("__SSE__", strings.ReplaceAll(expCommon, "SIGNS", "__builtin_ia32_movmskps"))
	case 32:
		common = onGCC("__AVX__", strings.ReplaceAll(expCommon, "SIGNS", "__builtin_ia32_movmskps256"))
	case 64:
		bounded = native("    x = __builtin_ia32_minps512_mask(most, __builtin_ia32_maxps512_mask(least, x, least, -1, 4), most, -1, 4);", bounded)
		scaled = native(expScaled512, scaled)
	}
	return strings.NewReplacer("BOUNDED", bounded, "SCALED", strings.ReplaceAll(scaled, "COMMON\n", common)).Replace(expText)
}

// native is text for gcc where it compiles for AVX-512, else other text.
func native(text, other string) string {
	return "#if defined __AVX512F__ && !defined __clang__\n" + text + "\n#else\n" + other + "\n#endif"
}

// onGCC is lines for gcc where it compiles for a set of instructions.
func onGCC(instructions, text string) string {
	return "#if defined " + instructions + " && !defined __clang__\n" + text + "\n#endif\n"
}
