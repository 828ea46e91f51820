package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// uses collects what functions need before them: vector types and helper functions.
type uses struct {
	vectors map[ir.Type]bool
	helpers map[helper]bool
	// functionBytes are those of Options.
	functionBytes int
}

// helper is one instance of a helper function, for one or two types.
type helper struct {
	kind string
	t    ir.Type
	key  dtype.T // of sort_by: the type of the keys; of where: of the integers
	// Of reduce: the operator, and the number of vectors.
	op    dtype.Op
	count int
	// longer is the number of lanes of the vectors on which a function is computed, 0 for those of t.
	longer int
}

func newUses(functionBytes int) *uses {
	return &uses{vectors: map[ir.Type]bool{}, helpers: map[helper]bool{}, functionBytes: functionBytes}
}

// vectorName is the C name of a vector type.
func vectorName(t ir.Type) string { return fmt.Sprintf("%sx%d", t.Elem, t.Lanes) }

// vector notes the use of a vector type and returns its name.
func (u *uses) vector(t ir.Type) string {
	u.vectors[t] = true
	return vectorName(t)
}

// helper notes the use of the helper function kind on values of type t and returns its name.
func (u *uses) helper(kind string, t ir.Type) string {
	h := helper{kind: kind, t: t}
	if t.Lanes > 1 && t.Lanes*t.Elem.Size() < u.functionBytes && inVectorLibrary(dtype.Op(kind), t.Elem) {
		h.longer = u.functionBytes / t.Elem.Size()
		u.vector(ir.Type{Elem: t.Elem, Lanes: h.longer})
	}
	u.add(h)
	return h.name()
}

// sortBy notes the use of a sort of permutations and returns its name.
func (u *uses) sortBy(kind string, perm, key dtype.T) string {
	h := helper{kind: kind, t: ir.Scalar(perm), key: key}
	u.add(h)
	return h.name()
}

// where notes the use of the choice of lanes of vectors of type t by integers of a vector, and returns its name.
func (u *uses) where(t, of ir.Type) string {
	h := helper{kind: "where", t: t, key: of.Elem}
	u.add(h)
	u.vector(of)
	return h.name()
}

// widen notes the use of the conversion of half values of type t to float, and returns its name. simd says that it is in a
// loop which the C compiler makes vector code of.
func (u *uses) widen(t ir.Type, simd bool) string {
	if simd && t.Elem == dtype.F16 {
		return u.conversion(plainWidening, t)
	}
	return u.conversion(widening, t)
}

// narrow is the opposite of widen.
func (u *uses) narrow(t ir.Type) string { return u.conversion(narrowing, t) }

func (u *uses) conversion(kind string, t ir.Type) string {
	if t.Lanes > 1 {
		for _, elem := range []dtype.T{dtype.F32, dtype.I32} {
			u.vector(ir.Type{Elem: elem, Lanes: t.Lanes})
		}
	}
	return u.helper(kind, t)
}

func (u *uses) add(h helper) {
	u.helpers[h] = true
	if h.t.Lanes > 1 {
		u.vector(h.t)
		for t := h.t; h.kind == "reduce" && t.Lanes > ir.GroupLanes(h.t); {
			t.Lanes /= 2
			u.vector(t)
		}
		if slices.Contains([]string{"min", "max", "tail", "head", "where", "exp"}, h.kind) || dtype.Op(h.kind).IsComparison() {
			u.vector(maskType(h.t))
		}
	}
}

// maskType is the type of a comparison of two vectors of type t.
func maskType(t ir.Type) ir.Type {
	return ir.Type{Elem: map[int]dtype.T{1: dtype.I8, 2: dtype.I16, 4: dtype.I32, 8: dtype.I64}[t.Elem.Size()], Lanes: t.Lanes}
}

func (h helper) name() string {
	switch {
	case h.kind == "reduce" && h.count > 1:
		return fmt.Sprintf("reduce%d_%s_%s", h.count, h.op, vectorName(h.t))
	case h.kind == "reduce":
		return fmt.Sprintf("reduce_%s_%s", h.op, vectorName(h.t))
	case h.t.Elem == dtype.Invalid:
		return h.kind
	case h.key != "" && h.t.Lanes > 1:
		return fmt.Sprintf("%s_%s_%s", h.kind, vectorName(h.t), h.key)
	case h.key != "":
		return fmt.Sprintf("%s_%s_%s", h.kind, h.t.Elem, h.key)
	case h.t.Lanes > 1:
		return fmt.Sprintf("%s_%s", h.kind, vectorName(h.t))
	default:
		return fmt.Sprintf("%s_%s", h.kind, h.t.Elem)
	}
}

// before is text with everything that stands before it: declarations, vector types and helper functions, in an order that depends on nothing but the content.
// Helper functions stand in the order of their names: each calls others only whose names come before its own.
func (u *uses) before(text string) string {
	var out strings.Builder
	if len(u.vectors) > 0 {
		out.WriteString("\n")
	}
	byType := func(a, b ir.Type) int {
		return cmp.Or(strings.Compare(string(a.Elem), string(b.Elem)), cmp.Compare(a.Lanes, b.Lanes))
	}
	for _, t := range sortedKeys(u.vectors, byType) {
		size := t.Elem.Size()
		fmt.Fprintf(&out, "typedef %s %s __attribute__((vector_size(%d), aligned(%d), may_alias));\n",
			elemType(t.Elem), vectorName(t), size*t.Lanes, size)
	}
	byName := func(a, b helper) int { return strings.Compare(a.name(), b.name()) }
	for _, h := range sortedKeys(u.helpers, byName) {
		out.WriteString("\n" + h.text())
	}
	out.WriteString(text)
	return declared(out.String()) + out.String()
}

func sortedKeys[K comparable](set map[K]bool, order func(a, b K) int) []K {
	keys := make([]K, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, order)
	return keys
}
