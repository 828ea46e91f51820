package codegen

import (
	"fmt"
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// gatherOf is the C text of a vector whose lanes are elements of one array, at neighbouring coordinates of 32 or 16 bits in
// another: `{x[crd[p]], x[crd[p + 1]], ..}`.
func (e *emitter) gatherOf(x *ir.Lanes) (string, bool) {
	var values, coords *ir.Array
	var first ir.Expr
	var present bool
	for lane, of := range x.Of {
		value, ok := of.(*ir.Load)
		if !ok {
			return "", false
		}
		coord, clamped, ok := coordinate(value.Index)
		if !ok {
			return "", false
		}
		if lane == 0 {
			values, coords, first, present = value.Array, coord.Array, coord.Index, clamped
		}
		next := ir.SimplifyExpr(ir.Add(first, ir.Const(int64(lane))))
		if value.Array != values || coord.Array != coords || clamped != present || e.index(coord.Index) != e.index(next) {
			return "", false
		}
	}
	kind := gatherKind(coords.Elem, x.Type(), present)
	if kind == "" {
		return "", false
	}
	if kind == gatherAll && x.Adjacent {
		kind = gatherAdjacent
	}
	if x.AtOnce && x.Type() == (ir.Type{Elem: dtype.F32, Lanes: 8}) {
		kind = atOnce + kind
	}
	return fmt.Sprintf("%s(%s, &%s[%s])", e.uses.gather(kind, x.Type()), name(values.Name), name(coords.Name), e.index(first)), true
}

// gatherKind is the helper that reads a vector of type t at coordinates of a type, "" where there is none.
func gatherKind(coords dtype.T, t ir.Type, present bool) string {
	switch {
	case t.Elem.IsComplex() || t.Lanes%2 != 0:
		return ""
	case coords == dtype.I16 && !present:
		return gatherNarrow
	case coords != dtype.I32:
		return ""
	case present:
		return gatherPresent
	default:
		return gatherAll
	}
}

// coordinate is the load of a single coordinate that an index is; clamped says that the index is 0 where that is negative.
func coordinate(index ir.Expr) (load *ir.Load, clamped, ok bool) {
	if cast, ok := index.(*ir.Cast); ok {
		index = cast.X
	}
	if b, ok := index.(*ir.Binary); ok && b.Op == dtype.Max && isZero(b.Y) {
		index, clamped = b.X, true
	}
	load, ok = index.(*ir.Load)
	return load, clamped, ok && (load.Type() == ir.Scalar(dtype.I32) || load.Type() == ir.Scalar(dtype.I16))
}

// gatherPresent is the helper that reads at coordinate 0 where nothing is stored, gatherAdjacent the one for coordinates that mostly follow each other, gatherNarrow that
// for coordinates of 16 bits.
const (
	gatherAll      = "gather"
	gatherPresent  = "gather_present"
	gatherAdjacent = "gather_adjacent"
	gatherNarrow   = "gather_narrow"
)

// atOnce begins the names of helpers that read eight elements by an instruction: they come after those with a load for each, which they call where there is none.
const atOnce = "vector_"

// gather notes the use of a helper that reads a vector of type t at coordinates, and returns its name.
func (u *uses) gather(kind string, t ir.Type) string {
	if strings.HasPrefix(kind, atOnce) {
		u.vector(ir.Type{Elem: dtype.I32, Lanes: t.Lanes})
		u.vector(ir.Type{Elem: dtype.I16, Lanes: t.Lanes})
		u.gather(strings.TrimPrefix(kind, atOnce), t)
		return u.helper(kind, t)
	}
	if kind == gatherNarrow {
		u.vector(ir.Type{Elem: dtype.I16, Lanes: 2})
		return u.helper(kind, t)
	}
	u.vector(ir.Type{Elem: dtype.I32, Lanes: t.Lanes})
	u.vector(ir.Type{Elem: dtype.I64, Lanes: t.Lanes / 2})
	return u.helper(kind, t)
}

// gatherText reads coordinates in pairs: loads are what bounds a sum over gathered elements, and an addition more is cheaper.
func (h helper) gatherText() string {
	lanes := make([]string, h.t.Lanes)
	for lane := range lanes {
		pair := fmt.Sprintf("pairs[%d]", lane/2)
		lanes[lane] = fmt.Sprintf("x[(uint32_t)%s]", pair)
		if lane%2 == 1 {
			lanes[lane] = fmt.Sprintf("x[%s >> 32]", pair)
		}
	}
	coords := vectorName(ir.Type{Elem: dtype.I32, Lanes: h.t.Lanes})
	comment, load, stored := "Coordinates are read two at a time, since such loops wait for loads.", "", fmt.Sprintf("*(const %s *)crd", coords)
	switch h.kind {
	case gatherAdjacent:
		comment = "Coordinates mostly follow each other; others are read two at a time, since such loops wait for loads."
		load = h.adjacentText()
	case gatherPresent:
		comment = "Coordinate 0 stands for those that are negative."
		load, stored = fmt.Sprintf("    const %s all = %s;\n", coords, stored), "(all & ~(all >> 31))"
	}
	return fmt.Sprintf(`/* %[1]s */
static inline %[2]s %[3]s(const %[4]s *x, const int32_t *crd)
{
%[5]s    const %[6]s pairs = (%[6]s)%[7]s;
    return (%[2]s){%[8]s};
}
`, comment, vectorName(h.t), h.name(), elemType(h.t.Elem), load,
		vectorName(ir.Type{Elem: dtype.I64, Lanes: h.t.Lanes / 2}), stored, strings.Join(lanes, ", "))
}

// atOnceText is the instruction, in the words of either C compiler, and the helper with a load for each element where there is none. What adjacent elements
// are read by is that helper's test and its load.
func (h helper) atOnceText() string {
	kind, crd, coords, all := strings.TrimPrefix(h.kind, atOnce), "int32_t", "*(const i32x8 *)crd", "(f32x8)(i32x8){-1, -1, -1, -1, -1, -1, -1, -1}"
	comment, test := "All are read by one instruction.", ""
	switch kind {
	case gatherNarrow:
		crd, coords = "int16_t", "__builtin_convertvector(*(const i16x8 *)crd, i32x8)"
	case gatherPresent:
		comment, all = "Coordinates that are negative read nothing.", "(f32x8)~*(const i32x8 *)crd"
	case gatherAdjacent:
		comment, test = "Coordinates mostly follow each other; others are read by one instruction.", h.adjacentText()
	}
	return fmt.Sprintf(`/* %s */
static inline f32x8 %s(const float *x, const %s *crd)
{
#if defined __AVX2__
%s    const i32x8 places = %s;
#if defined __clang__
    return __builtin_ia32_gatherd_ps256((f32x8){0}, x, places, %[6]s, 4);
#else
    return __builtin_ia32_gathersiv8sf((f32x8){0}, x, places, %[6]s, 4);
#endif
#else
    return %[7]s(x, crd);
#endif
}
`, comment, h.name(), crd, test, coords, all, helper{kind: kind, t: h.t}.name())
}

// adjacentText reads all elements at once where coordinates follow each other.
func (h helper) adjacentText() string {
	lanes, pairs, counting := h.t.Lanes, make([]string, h.t.Lanes/2), make([]string, h.t.Lanes)
	for lane := range lanes {
		pairs[lane/2], counting[lane] = fmt.Sprintf("apart[%d]", lane/2), strconv.Itoa(lane)
	}
	coords, wide := vectorName(ir.Type{Elem: dtype.I32, Lanes: lanes}), vectorName(ir.Type{Elem: dtype.I64, Lanes: lanes / 2})
	together := fmt.Sprintf("    if (__builtin_expect((%s) == 0, 1)) {", strings.Join(pairs, " | "))
	if macro := map[int]string{4: "__SSE4_1__", 8: "__AVX__"}[lanes]; macro != "" {
		apart := fmt.Sprintf("(long long __attribute__((vector_size(%d))))apart", 4*lanes)
		together = fmt.Sprintf("#if defined %s\n    if (__builtin_expect(__builtin_ia32_ptestz%d(%s, %[3]s), 1)) {\n#else\n%s\n#endif", macro, 32*lanes, apart, together)
	}
	return fmt.Sprintf(`    const %[1]s apart = (%[1]s)((*(const %[2]s *)crd - crd[0]) ^ (%[2]s){%[3]s});
%[4]s
        return *(const %[5]s *)&x[crd[0]];
    }
`, wide, coords, strings.Join(counting, ", "), together, vectorName(h.t))
}

// gatherNarrowText reads coordinates in pairs, as gatherText does; they have no sign.
func (h helper) gatherNarrowText() string {
	var loads strings.Builder
	lanes := make([]string, h.t.Lanes)
	for lane := range lanes {
		pair := fmt.Sprintf("pair%d", lane/2)
		if lane%2 == 1 {
			lanes[lane] = fmt.Sprintf("x[%s >> 16]", pair)
			continue
		}
		fmt.Fprintf(&loads, "    const uint32_t %s = (uint32_t)*(const %s *)&crd[%d];\n", pair, vectorName(ir.Type{Elem: dtype.I16, Lanes: 2}), lane)
		lanes[lane] = fmt.Sprintf("x[%s & 0xffff]", pair)
	}
	return fmt.Sprintf(`/* Coordinates are read two at a time, since such loops wait for loads. */
static inline %[1]s %[2]s(const %[3]s *x, const int16_t *crd)
{
%[4]s    return (%[1]s){%[5]s};
}
`, vectorName(h.t), h.name(), elemType(h.t.Elem), loads.String(), strings.Join(lanes, ", "))
}

// anyNegative and allNegative are the helpers that say whether one of several neighbouring coordinates is negative, and whether all are.
const (
	anyNegative = "any_negative"
	allNegative = "all_negative"
)

// negatives is the C text, and its precedence, of a comparison of the least or the greatest of neighbouring coordinates of 32 bits with zero.
func (e *emitter) negatives(x *ir.Compare) (text string, prec int, ok bool) {
	extreme, ok := x.X.(*ir.ReduceLanes)
	if !ok || x.Op != ir.Lt && x.Op != ir.Ge || len(extreme.Of) > 1 || !isZero(x.Y) {
		return "", 0, false
	}
	kind, ok := map[dtype.Op]string{dtype.Min: anyNegative, dtype.Max: allNegative}[extreme.Op]
	load, loads := extreme.Of[0].(*ir.Load)
	if !ok || !loads || load.Array.Elem != dtype.I32 || load.Lanes%2 != 0 {
		return "", 0, false
	}
	e.uses.vector(ir.Type{Elem: dtype.I64, Lanes: load.Lanes / 2})
	text = fmt.Sprintf("%s(&%s[%s])", e.uses.helper(kind, load.Type()), name(load.Array.Name), e.index(load.Index))
	if x.Op == ir.Ge {
		return "!" + text, precUnary, true
	}
	return text, precAtom, true
}

// negativesText looks at the signs of coordinates at once, by an instruction for that or joined in a register of 64 bits.
func (h helper) negativesText() string {
	pairs := make([]string, h.t.Lanes/2)
	for pair := range pairs {
		pairs[pair] = fmt.Sprintf("pairs[%d]", pair)
	}
	joined, holds, signs := strings.Join(pairs, " | "), "!= 0", "!= 0"
	if h.kind == allNegative {
		joined, holds, signs = strings.Join(pairs, " & "), "== 0x8000000080000000", fmt.Sprintf("== %d", 1<<h.t.Lanes-1)
	}
	inPairs := fmt.Sprintf(`    const %s pairs = (%[1]s)*(const %s *)crd; /* each has a sign at the top of either half */
    return ((uint64_t)(%s) & 0x8000000080000000) %s;`, vectorName(ir.Type{Elem: dtype.I64, Lanes: h.t.Lanes / 2}), vectorName(h.t), joined, holds)
	body := inPairs
	if macro, suffix := signsOf(h.t.Lanes); macro != "" {
		body = fmt.Sprintf(`#if defined %s
    return __builtin_ia32_movmskps%s((float __attribute__((vector_size(%d))))*(const %s *)crd) %s;
#else
%s
#endif`, macro, suffix, 4*h.t.Lanes, vectorName(h.t), signs, inPairs)
	}
	return fmt.Sprintf(`static inline int32_t %s(const int32_t *crd)
{
%s
}
`, h.name(), body)
}

// signsOf is the macro of processors that take the signs of so many numbers of 32 bits at once, and the suffix of the function for it; "" where there are none.
func signsOf(lanes int) (macro, suffix string) {
	switch lanes {
	case 4:
		return "__SSE__", ""
	case 8:
		return "__AVX__", "256"
	}
	return "", ""
}
