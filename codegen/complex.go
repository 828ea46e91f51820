package codegen

// complexText holds the helper functions on complex values. Products and quotients are written out: C's own look for
// infinities among NaNs with a call for each product, torch takes the plain formula for products and Smith's for
// quotients.
var complexText = map[string]string{
	"mul": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    const PART a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return __builtin_complex(a * c - b * d, a * d + b * c);
}
`,
	"div": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    const PART a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    const PART size_c = __builtin_fabsSUFFIX(c), size_d = __builtin_fabsSUFFIX(d);
    if (size_c == 0 && size_d == 0) {
        return __builtin_complex(a / size_c, b / size_c);
    }
    if (size_c >= size_d) {
        const PART ratio = d / c, scale = 1 / (c + d * ratio);
        return __builtin_complex((a + b * ratio) * scale, (b - a * ratio) * scale);
    }
    const PART ratio = c / d, scale = 1 / (d + c * ratio);
    return __builtin_complex((a * ratio + b) * scale, (b * ratio - a) * scale);
}
`,
	"exp2": `static inline ELEMENT NAME(ELEMENT x)
{
    return __builtin_cexpSUFFIX(x * (PART)0.693147180559945309417);
}
`,
	"expm1": `static inline ELEMENT NAME(ELEMENT x)
{
    const PART a = __real__ x, b = __imag__ x, s = sinSUFFIX(b / 2);
    return __builtin_complex(expm1SUFFIX(a) * cosSUFFIX(b) - 2 * s * s, expSUFFIX(a) * sinSUFFIX(b));
}
`,
	"log2": `static inline ELEMENT NAME(ELEMENT x)
{
    return __builtin_clogSUFFIX(x) / (PART)0.693147180559945309417;
}
`,
	"log10": `static inline ELEMENT NAME(ELEMENT x)
{
    return __builtin_clogSUFFIX(x) / (PART)2.302585092994045684018;
}
`,
	"log1p": `static inline ELEMENT NAME(ELEMENT x)
{
    const PART a = __real__ x, b = __imag__ x;
    return __builtin_complex(log1pSUFFIX(a * (2 + a) + b * b) / 2, atan2SUFFIX(b, 1 + a));
}
`,
}
