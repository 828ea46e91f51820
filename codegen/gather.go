package codegen

import (
	"fmt"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// gatherOf is the C text of a vector whose lanes are elements of one array, at neighbouring coordinates of 32 bits in
// another: `{x[crd[p]], x[crd[p + 1]], ..}`.
func (e *emitter) gatherOf(x *ir.Lanes) (string, bool) {
	var values, coords *ir.Array
	var first ir.Expr
	for lane, of := range x.Of {
		value, ok := of.(*ir.Load)
		if !ok {
			return "", false
		}
		coord, ok := coordinate(value.Index)
		if !ok {
			return "", false
		}
		if lane == 0 {
			values, coords, first = value.Array, coord.Array, coord.Index
		}
		next := ir.SimplifyExpr(ir.Add(first, ir.Const(int64(lane))))
		if value.Array != values || coord.Array != coords || e.index(coord.Index) != e.index(next) {
			return "", false
		}
	}
	if coords.Elem != dtype.I32 || len(x.Of)%2 != 0 || x.Type().Elem.IsComplex() {
		return "", false
	}
	fn := e.uses.gather(x.Type())
	return fmt.Sprintf("%s(%s, &%s[%s])", fn, name(values.Name), name(coords.Name), e.index(first)), true
}

// coordinate is the load of a single coordinate that an index is.
func coordinate(index ir.Expr) (*ir.Load, bool) {
	if cast, ok := index.(*ir.Cast); ok {
		index = cast.X
	}
	load, ok := index.(*ir.Load)
	return load, ok && load.Type() == ir.Scalar(dtype.I32)
}

// gather notes the use of the helper that reads a vector of type t at coordinates, and returns its name.
func (u *uses) gather(t ir.Type) string {
	u.vector(ir.Type{Elem: dtype.I32, Lanes: t.Lanes})
	u.vector(ir.Type{Elem: dtype.I64, Lanes: t.Lanes / 2})
	return u.helper("gather", t)
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
	return fmt.Sprintf(`/* Coordinates are read two at a time, since such loops wait for loads. */
static inline %[1]s %[2]s(const %[3]s *x, const int32_t *crd)
{
    const %[4]s pairs = (%[4]s)*(const %[5]s *)crd;
    return (%[1]s){%[6]s};
}
`, vectorName(h.t), h.name(), elemType(h.t.Elem), vectorName(ir.Type{Elem: dtype.I64, Lanes: h.t.Lanes / 2}),
		vectorName(ir.Type{Elem: dtype.I32, Lanes: h.t.Lanes}), strings.Join(lanes, ", "))
}

// anyNegative is the helper that says whether one of several neighbouring coordinates is negative.
const anyNegative = "any_negative"

// anyNegative is the C text of a comparison of the least of neighbouring coordinates of 32 bits with zero.
func (e *emitter) anyNegative(x *ir.Compare) (string, bool) {
	least, ok := x.X.(*ir.ReduceLanes)
	if !ok || x.Op != ir.Lt || least.Op != dtype.Min || len(least.Of) > 1 || !isZero(x.Y) {
		return "", false
	}
	load, ok := least.Of[0].(*ir.Load)
	if !ok || load.Array.Elem != dtype.I32 || load.Lanes%2 != 0 {
		return "", false
	}
	e.uses.vector(ir.Type{Elem: dtype.I64, Lanes: load.Lanes / 2})
	fn := e.uses.helper(anyNegative, load.Type())
	return fmt.Sprintf("%s(&%s[%s])", fn, name(load.Array.Name), e.index(load.Index)), true
}

// anyNegativeText joins the signs of pairs of coordinates, in a register of 64 bits.
func (h helper) anyNegativeText() string {
	pairs := make([]string, h.t.Lanes/2)
	for pair := range pairs {
		pairs[pair] = fmt.Sprintf("pairs[%d]", pair)
	}
	return fmt.Sprintf(`/* Coordinates are read two at a time: each has its sign at the top of one half. */
static inline int32_t %[1]s(const int32_t *crd)
{
    const %[2]s pairs = (%[2]s)*(const %[3]s *)crd;
    return ((uint64_t)(%[4]s) & 0x8000000080000000) != 0;
}
`, h.name(), vectorName(ir.Type{Elem: dtype.I64, Lanes: h.t.Lanes / 2}), vectorName(h.t), strings.Join(pairs, " | "))
}
