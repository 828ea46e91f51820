package codegen

import (
	"fmt"
	"strconv"
	"strings"

	"libsparse/libsparse/ir"
)

// vectorOf is the C text of a vector of scalars.
func (e *emitter) vectorOf(x *ir.Lanes) string {
	if text, ok := e.gatherOf(x); ok {
		return text
	}
	return fmt.Sprintf("(%s){%s}", e.uses.vector(x.Type()), e.list(x.Of))
}

func (e *emitter) list(list []ir.Expr) string {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = e.value(x)
	}
	return strings.Join(texts, ", ")
}

// reduceLanes is the C text of the reductions of several vectors.
func (e *emitter) reduceLanes(x *ir.ReduceLanes) string {
	t := x.Of[0].Type()
	if n := len(x.Of); n > 1 && n != ir.GroupLanes(t) {
		texts := make([]string, n)
		for i, v := range x.Of {
			texts[i] = e.reduceLanes(&ir.ReduceLanes{Op: x.Op, Of: []ir.Expr{v}})
		}
		return fmt.Sprintf("(%s){%s}", e.uses.vector(x.Type()), strings.Join(texts, ", "))
	}
	h := helper{kind: "reduce", op: x.Op, t: t, count: len(x.Of)}
	e.uses.add(h)
	if x.Op.Infix() == "" {
		for n := t.Lanes; n >= ir.GroupLanes(t); n /= 2 {
			e.uses.helper(string(x.Op), ir.Type{Elem: t.Elem, Lanes: n})
		}
	}
	return fmt.Sprintf("%s(%s)", h.name(), e.list(x.Of))
}

// lanesOf is the C text of some lanes of a vector and the others of another.
func (e *emitter) lanesOf(x ir.Expr) string {
	switch x := x.(type) {
	case *ir.Tail:
		return fmt.Sprintf("%s(%s, %s, %s)", e.uses.helper("tail", x.Type()), e.value(x.X), e.index(x.Count), e.value(x.Else))
	case *ir.Head:
		return fmt.Sprintf("%s(%s, %s, %s)", e.uses.helper("head", x.Type()), e.value(x.X), e.index(x.Count), e.value(x.Else))
	default:
		where := x.(*ir.Where)
		return fmt.Sprintf("%s(%s, %s, %s)", e.uses.where(where.Type(), where.Of.Type()), e.value(where.X), e.value(where.Of), e.value(where.Else))
	}
}

// chosenLanes is a helper that takes lanes of x, where kept has all bits set, and of another vector. COUNTING are the numbers of the lanes.
func chosenLanes(by, kept string) string {
	return `static inline VECTOR NAME(VECTOR x, ` + by + `, VECTOR other)
{
    const MASK kept = ` + kept + `;
    return (VECTOR)((kept & (MASK)x) | (~kept & (MASK)other));
}
`
}

// reduction is the helper that reduces the lanes of one vector, or of as many as a group has lanes. Vectors exchange lanes
// within groups, which processors do cheaply, until one is left.
func (h helper) reduction() string {
	var out strings.Builder
	names, params := make([]string, h.count), make([]string, h.count)
	for i := range names {
		names[i] = string(rune('a' + i))
		params[i] = fmt.Sprintf("%s %s", ctype(h.t), names[i])
	}
	fmt.Fprintf(&out, "static inline %s %s(%s)\n{\n", ctype(ir.Type{Elem: h.t.Elem, Lanes: h.count}), h.name(), strings.Join(params, ", "))
	group := ir.GroupLanes(h.t)
	for level := 0; 1<<level < group; level++ {
		var next []string
		for i := 0; i < len(names); i += 2 {
			pair := []string{names[i], names[min(i+1, len(names)-1)]}
			name := fmt.Sprintf("level%d", level)
			if len(names) > 2 {
				name += "_" + strconv.Itoa(i/2)
			}
			low, high := h.exchanged(pair, level, group)
			fmt.Fprintf(&out, "    const %s %s = %s;\n", ctype(h.t), name, h.apply(h.t, low, high))
			next = append(next, name)
		}
		names = next
	}
	last, t := names[0], h.t
	for t.Lanes > group {
		t.Lanes /= 2
		low, high := fmt.Sprintf("*(const %s *)&%s", ctype(t), last), fmt.Sprintf("*((const %s *)&%s + 1)", ctype(t), last)
		last = "half" + strconv.Itoa(t.Lanes)
		fmt.Fprintf(&out, "    const %s %s = %s;\n", ctype(t), last, h.apply(t, low, high))
	}
	if h.count == 1 {
		last += "[0]"
	}
	fmt.Fprintf(&out, "    return %s;\n}\n", last)
	return out.String()
}

// exchanged are the two vectors that a level of reduction combines. Of each group, a lane number says by its lowest bits which vectors it
// stems from, by the others which lane of those.
func (h helper) exchanged(pair []string, level, group int) (low, high string) {
	var lows, highs []string
	for lane := range h.t.Lanes {
		within := lane % group
		from, left := pair[within>>level&1], within&(1<<level-1)+within>>(level+1)<<level
		right := left + group/2
		if h.count == 1 {
			from, right = pair[0], within^(group>>(level+1))
		}
		lows = append(lows, fmt.Sprintf("%s[%d]", from, lane-within+left))
		highs = append(highs, fmt.Sprintf("%s[%d]", from, lane-within+right))
	}
	v := ctype(h.t)
	if low = fmt.Sprintf("(%s){%s}", v, strings.Join(lows, ", ")); h.count == 1 {
		low = pair[0]
	}
	return low, fmt.Sprintf("(%s){%s}", v, strings.Join(highs, ", "))
}

// apply is the C text of the operator of a reduction.
func (h helper) apply(t ir.Type, x, y string) string {
	if sign := h.op.Infix(); sign != "" {
		return fmt.Sprintf("%s %s %s", x, sign, y)
	}
	return fmt.Sprintf("%s(%s, %s)", helper{kind: string(h.op), t: t}.name(), x, y)
}
