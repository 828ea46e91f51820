package codegen

import (
	"strings"

	"libsparse/libsparse/dtype"
)

// text is the C definition of h.
func (h helper) text() string {
	source, ok := helperText[h.kind]
	if !ok {
		panic("BUG: no helper function " + h.kind)
	}
	if (h.kind == "min" || h.kind == "max") && h.t.Lanes > 1 {
		source = vectorChoice
	} else if (h.kind == "min" || h.kind == "max") && !h.t.Elem.IsFloat() {
		source = integerChoice
	}
	sign := map[string]string{"min": "<", "max": ">"}[h.kind]
	mask := ""
	if h.t.Lanes > 1 && h.t.Elem.Size() > 0 {
		mask = vectorName(maskType(h.t))
	}
	orNaN := ""
	if h.t.Elem.IsFloat() {
		orNaN = " | (" + mask + ")(x != x)"
	}
	key := ""
	if h.key != "" {
		key = h.key.C()
	}
	element := ""
	if h.t.Elem != dtype.Invalid {
		element = h.t.Elem.C()
	}
	vector := element
	if h.t.Lanes > 1 {
		vector = vectorName(h.t)
	}
	suffix := strings.TrimPrefix(h.name(), h.kind)
	return strings.NewReplacer("NAME", h.name(), "SUFFIX", suffix, "VECTOR", vector, "ELEMENT", element,
		"SIGN", sign, "ORNAN", orNaN, "MASK", mask, "KEY", key).Replace(source)
}

// helperText holds the helper functions, with the words in capitals that text replaces.
var helperText = map[string]string{
	"splat": `static inline VECTOR NAME(ELEMENT x)
{
    return x - (VECTOR){0};
}
`,
	// A NaN on either side wins, as in torch.
	"min": floatChoice,
	"max": floatChoice,
	"and": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    return x != 0 && y != 0;
}
`,
	"or": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    return x != 0 || y != 0;
}
`,
	"allocate": `static void *NAME(int64_t count, size_t size)
{
    return malloc((count > 0 ? (size_t)count : 1) * size);
}
`,
	"allocate_zero": `static void *NAME(int64_t count, size_t size)
{
    return calloc(count > 0 ? (size_t)count : 1, size);
}
`,
	"fill": `static inline void NAME(ELEMENT *restrict a, int64_t n, ELEMENT x)
{
    for (int64_t i = 0; i < n; i++) {
        a[i] = x;
    }
}
`,
	"prefix_sum": `static void NAME(ELEMENT *restrict a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}
`,
	"sort":    sortText,
	"sort_by": sortByText,
}

const floatChoice = `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    return x SIGN y || x != x ? x : y;
}
`

const integerChoice = `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    return x SIGN y ? x : y;
}
`

const vectorChoice = `static inline VECTOR NAME(VECTOR x, VECTOR y)
{
    const MASK first = (MASK)(x SIGN y)ORNAN;
    return (VECTOR)((first & (MASK)x) | (~first & (MASK)y));
}
`

// sortText sorts short ranges by insertion, longer ones by quicksort, and by heapsort where quicksort degrades.
const sortText = `static void sinkSUFFIX(ELEMENT *a, int64_t i, int64_t n)
{
    const ELEMENT x = a[i];
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        child += child + 1 < n && a[child] < a[child + 1];
        if (a[child] <= x) {
            break;
        }
        a[i] = a[child];
        i = child;
    }
    a[i] = x;
}

__attribute__((noinline)) static void sort_rangeSUFFIX(ELEMENT *a, int64_t n, int depth)
{
    while (n > 32 && depth > 0) {
        const ELEMENT x = a[0], y = a[n / 2], z = a[n - 1];
        const ELEMENT pivot = x < y ? (y < z ? y : x < z ? z : x) : (x < z ? x : y < z ? z : y);
        int64_t i = -1, j = n;
        for (;;) {
            while (a[++i] < pivot) {
            }
            while (a[--j] > pivot) {
            }
            if (i >= j) {
                break;
            }
            const ELEMENT t = a[i];
            a[i] = a[j];
            a[j] = t;
        }
        depth--;
        sort_rangeSUFFIX(a, j + 1, depth);
        a += j + 1;
        n -= j + 1;
    }
    if (n > 32) {
        for (int64_t i = n / 2 - 1; i >= 0; i--) {
            sinkSUFFIX(a, i, n);
        }
        for (int64_t i = n - 1; i > 0; i--) {
            const ELEMENT t = a[0];
            a[0] = a[i];
            a[i] = t;
            sinkSUFFIX(a, 0, i);
        }
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        const ELEMENT x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > x; j--) {
            a[j] = a[j - 1];
        }
        a[j] = x;
    }
}

/* Sorts a[0:n] in ascending order. */
static void NAME(ELEMENT *a, int64_t n)
{
    int64_t ordered = 1;
    while (ordered < n && a[ordered - 1] <= a[ordered]) {
        ordered++;
    }
    if (ordered < n) {
        sort_rangeSUFFIX(a, n, 64);
    }
}
`

// sortByText is a radix sort by digits of eleven bits, from the least significant on.
const sortByText = `/* Rearranges perm[0:n] so that key[perm[.]] ascends; ties keep their order. Returns 1 if out of memory. */
static int NAME(ELEMENT *perm, const KEY *key, int64_t n, int64_t extent)
{
    int64_t ordered = 1;
    while (ordered < n && key[perm[ordered - 1]] <= key[perm[ordered]]) {
        ordered++;
    }
    if (ordered >= n) {
        return 0;
    }
    ELEMENT *const buffer = malloc((size_t)n * sizeof *buffer);
    if (!buffer) {
        return 1;
    }
    ELEMENT *from = perm, *to = buffer;
    for (int shift = 0; shift < 63 && (extent - 1) >> shift > 0; shift += 11) {
        int64_t next[2049] = {0};
        for (int64_t i = 0; i < n; i++) {
            next[(((int64_t)key[from[i]] >> shift) & 2047) + 1]++;
        }
        for (int d = 1; d < 2048; d++) {
            next[d] += next[d - 1];
        }
        for (int64_t i = 0; i < n; i++) {
            to[next[((int64_t)key[from[i]] >> shift) & 2047]++] = from[i];
        }
        ELEMENT *const swap = from;
        from = to;
        to = swap;
    }
    if (from != perm) {
        memcpy(perm, from, (size_t)n * sizeof *perm);
    }
    free(buffer);
    return 0;
}
`
