package codegen

import (
	"fmt"
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// text is the C definition of h.
func (h helper) text() string {
	if write, ok := helperWriters[h.kind]; ok {
		return write(h)
	}
	element, vector, mask, lane, orNaN, key := "", "", "", "", "", ""
	if h.t.Elem != dtype.Invalid {
		element = elemType(h.t.Elem)
	}
	vector = element
	if h.t.Lanes > 1 {
		vector = vectorName(h.t)
	}
	if h.t.Lanes > 1 && h.t.Elem.Size() > 0 {
		mask, lane = vectorName(maskType(h.t)), elemType(maskType(h.t).Elem)
	}
	if h.t.Elem.IsFloat() {
		orNaN = " | (" + mask + ")(x != x)"
	}
	var counting []string
	for lane := range h.t.Lanes {
		counting = append(counting, strconv.Itoa(lane))
	}
	keys := vectorName(ir.Type{Elem: h.key, Lanes: h.t.Lanes})
	if h.key != "" {
		key = elemType(h.key)
	}
	part, suffix := "double", ""
	if h.t.Elem.Real() == dtype.F32 {
		part, suffix = "float", "f"
	}
	sign := signs[h.kind]
	return strings.NewReplacer("NAME", h.name(), "PART", part, "SUFFIX", suffix, "VECTOR", vector, "ELEMENT", element,
		"COUNTING", strings.Join(counting, ", "), "WIDTH", strconv.Itoa(h.t.Lanes), "SIGN", sign, "ORNAN", orNaN, "MASK", mask, "LANE", lane, "KEYVECTOR", keys, "KEY", key, "SCALAR", string(h.t.Elem)).Replace(h.template())
}

// signs are the comparisons of C that helper functions make.
var signs = map[string]string{"min": "<", "max": ">", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}

// helperWriters write the helper functions whose text depends on more than types.
var helperWriters = map[string]func(helper) string{
	"reduce": helper.reduction, gatherAll: helper.gatherText, gatherAdjacent: helper.gatherText, gatherPresent: helper.gatherText, gatherNarrow: helper.gatherNarrowText,
	atOnce + gatherAll: helper.atOnceText, atOnce + gatherAdjacent: helper.atOnceText, atOnce + gatherPresent: helper.atOnceText, atOnce + gatherNarrow: helper.atOnceText, "stream": helper.streamText,
	anyNegative: helper.negativesText, allNegative: helper.negativesText,
	wideningBytes: helper.bytesText, widening: helper.conversion, plainWidening: helper.conversion, narrowing: helper.conversion,
}

// template is the text of h before its words in capitals are replaced.
func (h helper) template() string {
	if h.kind == "min" || h.kind == "max" {
		return h.choice()
	}
	if dtype.Op(h.kind).IsComparison() {
		return vectorComparison
	}
	if op := dtype.Op(h.kind); h.t.Lanes > 1 && libraryFunctions[op].real != "" {
		return lanewise(op, h.t, h.longer)
	}
	logical := h.kind == "and" || h.kind == "or" || h.kind == "xor"
	source, ok := helperText[h.kind]
	if text, divides := division(h.kind, h.t.Elem); divides {
		source, ok = text, true
	}
	if h.t.Elem.IsComplex() && h.kind != "fill" && !logical {
		source, ok = complexText[h.kind]
	}
	if !ok {
		panic("BUG: no helper function " + h.kind)
	}
	return source
}

// choice is the text of a minimum or a maximum. A NaN on either side wins, as in torch.
func (h helper) choice() string {
	switch t := h.t; {
	case t.Lanes > 1 && t.Elem.IsFloat() && t.Lanes*t.Elem.Size() <= instructionBytes:
		return vectorFloatChoice
	case t.Lanes > 1 && t.Elem.IsFloat() && t.Lanes*t.Elem.Size() == 64:
		return strings.Replace(vectorChoice, choosing, native(maskedChoice(h.kind, t.Elem), choosing), 1)
	case t.Lanes > 1:
		return vectorChoice
	case !t.Elem.IsFloat():
		return integerChoice
	default:
		return floatChoice
	}
}

// helperText holds the helper functions, with the words in capitals that text replaces.
var helperText = map[string]string{
	"splat": `static inline VECTOR NAME(ELEMENT x)
{
    return x - (VECTOR){0};
}
`,
	"tail":  chosenLanes("int64_t count", "(MASK){COUNTING} >= (LANE)(WIDTH - count)"),
	"head":  chosenLanes("int64_t count", "(MASK){COUNTING} < (LANE)count"),
	"where": chosenLanes("KEYVECTOR of", "__builtin_convertvector(of >= 0, MASK)"),
	"drain": drainText,
	"abs": `static inline ELEMENT NAME(ELEMENT x)
{
    return x < 0 ? -x : x;
}
`,
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
	"xor": `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    return (x != 0) != (y != 0);
}
`,
	"clear": `static inline void NAME(void *array, int64_t count, size_t size)
{
    if (count > 0) {
        memset(array, 0, (size_t)count * size);
    }
}
`,
	// Vectors of a large array lie within lines of the caches.
	"allocate": `static void *NAME(int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size + 1;
    return bytes < 4096 ? malloc(bytes) : aligned_alloc(64, (bytes + 63) / 64 * 64);
}
`,
	"allocate_zero": `static void *NAME(int64_t count, size_t size)
{
    return calloc((size_t)count + 1, size);
}
`,
	"resize": `static void *NAME(void *array, int64_t count, size_t size)
{
    void *const resized = realloc(array, (size_t)count * size);
    if (!resized) {
        free(array);
    }
    return resized;
}
`,
	"hash": fmt.Sprintf(`/* The place of a key in a table of size places, a power of two. */
static inline int64_t NAME(int64_t key, int64_t size)
{
    return (int64_t)((unsigned __int128)((uint64_t)key * %#xu) * (uint64_t)size >> 64);
}
`, ir.HashFactor),
	"next_part": fmt.Sprintf(`/* The next part of a loop for a thread: of its own, then of those that other threads haven't begun. A thread without a team has no
 * counters of parts that are begun, and takes all. */
static inline int64_t NAME(int64_t *begun, int64_t loop, int64_t *turn, int64_t parts)
{
    if (!begun) {
        return (*turn)++;
    }
    const int64_t team = omp_get_num_threads();
    for (; *turn < team; ++*turn) {
        const int64_t owner = (omp_get_thread_num() + *turn) %% team;
        const int64_t part = parts * owner / team + __atomic_fetch_add(&begun[%d * owner + loop], 1, __ATOMIC_RELAXED);
        if (part < parts * (owner + 1) / team) {
            return part;
        }
    }
    return parts;
}
`, stride),
	// To within two units in the last place, in a quarter to half of the time of the C library's: a polynomial near zero (Moshier's, of
	// Cephes), else by exp.
	"tanh": `static inline float NAME(float x)
{
    const float z = x * x;
    float near = z * -5.70498872745e-3f + 2.06390887954e-2f;
    near = near * z - 5.37397155531e-2f;
    near = near * z + 1.33314422036e-1f;
    near = near * z - 3.33332819422e-1f;
    near = near * (x * z) + x;
    const float far = 1.0f - 2.0f / (__builtin_expf(2.0f * __builtin_fabsf(x)) + 1.0f);
    return __builtin_copysignf(z < 0.390625f ? near : far, x);
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
	"sort":        sortText,
	"sort_places": sortPlacesText, "list_places": listPlacesText, "list_set_places": listSetPlacesText, "list_places_where_marked": listPlacesWhereMarkedText,
	"sort_by": sortByText, "sort_by_team": sortByTeamText,
}

// floatChoice is written so that C compilers make no branch of it, which random values would mislead.
const floatChoice = `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    const ELEMENT chosen = x SIGN y ? x : y;
    return x != x ? x : chosen;
}
`

const integerChoice = `static inline ELEMENT NAME(ELEMENT x, ELEMENT y)
{
    return x SIGN y ? x : y;
}
`

// instructionBytes is the size of vectors up to which C compilers make one instruction of a loop over all lanes.
const instructionBytes = 32

// vectorFloatChoice is one instruction of x86 and two bit operations: that instruction returns its second operand where one
// is NaN, so a NaN of x stays, and all bits are set where y is NaN, which is one as well.
const vectorFloatChoice = `static inline VECTOR NAME(VECTOR x, VECTOR y)
{
    VECTOR chosen;
    for (int lane = 0; lane < WIDTH; lane++) {
        chosen[lane] = y[lane] SIGN x[lane] ? y[lane] : x[lane];
    }
    return (VECTOR)((MASK)chosen | (MASK)(y != y));
}
`

const choosing = `    const MASK first = (MASK)(x SIGN y)ORNAN;
    return (VECTOR)((first & (MASK)x) | (~first & (MASK)y));`

// maskedChoice is the choice by AVX-512: its minimum and maximum return the second operand where one is NaN, and leave x where it is
// NaN itself, which is unequal to itself.
func maskedChoice(kind string, elem dtype.T) string {
	suffix := map[dtype.T]string{dtype.F32: "ps", dtype.F64: "pd"}[elem]
	return fmt.Sprintf("    return __builtin_ia32_%s%s512_mask(x, y, x, __builtin_ia32_cmp%[2]s512_mask(x, x, 7, -1, 4), 4);", kind, suffix)
}

const vectorChoice = `static inline VECTOR NAME(VECTOR x, VECTOR y)
{
` + choosing + `
}
`

// vectorComparison is 1 in the lanes where it holds, else 0.
const vectorComparison = `static inline VECTOR NAME(VECTOR x, VECTOR y)
{
    return (VECTOR)((MASK)(x SIGN y) & (MASK)((VECTOR){0} + (ELEMENT)1));
}
`
