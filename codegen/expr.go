package codegen

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Precedences of C, the tightest last.
const (
	precSelect = iota
	precOr
	precAnd
	precBitOr
	precBitAnd
	precEqual
	precLess
	precAdd
	precMul
	precUnary
	precAtom
)

// expr is the C text of x, in parentheses if it binds less than least.
func (e *emitter) expr(x ir.Expr, least int) string {
	text, prec := e.form(x)
	return paren(text, prec, least)
}

func paren(text string, prec, least int) string {
	if prec < least {
		return "(" + text + ")"
	}
	return text
}

// value is the C text of x as a whole expression.
func (e *emitter) value(x ir.Expr) string { return e.expr(x, precSelect) }

// index is value for places where integers of any width do, such as subscripts.
func (e *emitter) index(x ir.Expr) string { return e.value(widened(x)) }

// valueAs is x converted to t: explicitly where it narrows, broadcast where t is a vector.
func (e *emitter) valueAs(x ir.Expr, t ir.Type) string {
	from := x.Type()
	if from.Lanes < t.Lanes {
		return e.splat(x, t)
	}
	if t.Lanes == 1 && t.Elem.IsInt() {
		x = widened(x)
		from = x.Type()
	}
	if _, literal := x.(*ir.Int); literal || !narrows(from.Elem, t.Elem) {
		return e.value(x)
	}
	text := e.expr(x, precUnary)
	return fmt.Sprintf("(%s)%s", ctype(t), text)
}

// narrows reports whether a conversion between integers can lose bits.
func narrows(from, to dtype.T) bool {
	return from != to && to.IsInt() && (from.Size() > to.Size() || from.Size() == to.Size() && from != dtype.Bool)
}

// widened is x without an outermost conversion that C does by itself.
func widened(x ir.Expr) ir.Expr {
	for {
		c, ok := x.(*ir.Cast)
		if !ok || c.To != dtype.I64 || c.X.Type().Elem.IsFloat() || c.X.Type().Lanes > 1 {
			return x
		}
		x = c.X
	}
}

// form is the C text of x and its precedence.
func (e *emitter) form(x ir.Expr) (string, int) {
	switch x := x.(type) {
	case *ir.Var:
		return name(x.Name), precAtom
	case *ir.Int:
		return intLiteral(x)
	case *ir.Float:
		return floatLiteral(x)
	case *ir.Load:
		return e.cell(x.Array, x.Index, x.Type())
	case *ir.Binary:
		return e.binary(x)
	case *ir.Compare:
		return e.compare(x)
	case *ir.Unary:
		return e.unary(x)
	case *ir.Cast:
		return e.cast(x)
	case *ir.Select:
		return e.selection(x), precSelect
	case *ir.Lanes:
		return e.vectorOf(x), precUnary
	case *ir.ReduceLanes:
		return e.reduceLanes(x), precAtom
	case *ir.Tail, *ir.Head, *ir.Where:
		return e.lanesOf(x), precAtom
	case *ir.Hash, *ir.Aligned:
		return e.place(x)
	default:
		panic(fmt.Sprintf("BUG: no C for expression %T", x))
	}
}

// place is the C text of an expression that says where something is stored, or may be.
func (e *emitter) place(x ir.Expr) (string, int) {
	if x, ok := x.(*ir.Aligned); ok {
		return fmt.Sprintf("(uint64_t)%s %% %d == 0", name(x.Array.Name), x.Bytes), precEqual
	}
	hash := x.(*ir.Hash)
	e.uses.add(helper{kind: "hash"})
	return fmt.Sprintf("hash(%s, %s)", e.index(hash.Key), e.index(hash.Size)), precAtom
}

// cell is the C text of an element of a, or of a vector of them.
func (e *emitter) cell(a *ir.Array, index ir.Expr, t ir.Type) (string, int) {
	element := fmt.Sprintf("%s[%s]", name(a.Name), e.index(index))
	if t.Lanes == 1 {
		return element, precAtom
	}
	constant := ""
	if e.readOnly(a) {
		constant = "const "
	}
	return fmt.Sprintf("*(%s%s *)&%s", constant, e.uses.vector(t), element), precUnary
}

func (e *emitter) compare(x *ir.Compare) (string, int) {
	switch x.Op {
	case ir.LogAnd:
		return e.expr(x.X, precAnd) + " && " + e.expr(x.Y, precBitOr), precAnd
	case ir.NotAbove:
		return fmt.Sprintf("(uint64_t)%s <= (uint64_t)%s", e.expr(x.X, precUnary), e.expr(x.Y, precUnary)), precLess
	case ir.LogOr: // parentheses around && keep gcc quiet and readers sure
		return e.expr(x.X, precBitOr) + " || " + e.expr(x.Y, precBitOr), precOr
	case ir.Eq, ir.Ne:
		if x.X.Type().Elem == dtype.Bool && isZero(x.Y) {
			if x.Op == ir.Ne {
				return e.form(x.X)
			}
			return "!" + e.expr(x.X, precUnary), precUnary
		}
		return fmt.Sprintf("%s %s %s", e.expr(widened(x.X), precAdd), x.Op, e.expr(widened(x.Y), precAdd)), precEqual
	default:
		if text, prec, ok := e.negatives(x); ok {
			return text, prec
		}
		return fmt.Sprintf("%s %s %s", e.expr(widened(x.X), precAdd), x.Op, e.expr(widened(x.Y), precAdd)), precLess
	}
}

// selection is the C text of a choice. C takes a vector type and the type of what is calculated with it for two, so both arms are converted.
func (e *emitter) selection(x *ir.Select) string {
	then, otherwise := e.expr(x.Then, precOr), e.expr(x.Else, precOr)
	if t := x.Type(); t.Lanes > 1 {
		v := e.uses.vector(t)
		then, otherwise = fmt.Sprintf("(%s)(%s)", v, then), fmt.Sprintf("(%s)(%s)", v, otherwise)
	}
	return fmt.Sprintf("%s ? %s : %s", e.expr(x.Cond, precOr), then, otherwise)
}

// unary is the C text of a function or a negation.
func (e *emitter) unary(x *ir.Unary) (string, int) {
	t := x.X.Type()
	name, ok := libraryFunction(x.Op, t.Elem)
	switch {
	case x.Op == dtype.Neg:
		return e.negation(x)
	case x.Op == dtype.Real:
		return "__real__ " + e.expr(x.X, precUnary), precUnary
	case x.Op == dtype.Imag:
		return "__imag__ " + e.expr(x.X, precUnary), precUnary
	case e.computesOnVector(x.Op, t):
		return e.oneOfVector(x.Op, t, x.X), precAtom
	case !ok || t.Lanes > 1 || x.Op == "tanh" && t.Elem == dtype.F32:
		name = e.uses.helper(string(x.Op), t)
	}
	return fmt.Sprintf("%s(%s)", name, e.value(x.X)), precAtom
}

func (e *emitter) negation(x *ir.Unary) (string, int) {
	text := e.expr(x.X, precUnary)
	if strings.HasPrefix(text, "-") {
		text = "(" + text + ")"
	}
	t := x.X.Type()
	if t.Lanes == 1 && t.Elem.Size() < 4 {
		return fmt.Sprintf("(%s)-%s", elemType(t.Elem), text), precUnary
	}
	return "-" + text, precUnary
}

func (e *emitter) cast(x *ir.Cast) (string, int) {
	from := x.X.Type()
	to := ir.Type{Elem: x.To, Lanes: from.Lanes}
	switch {
	case from == to:
		return e.form(x.X)
	case from.Elem.IsHalf() || to.Elem.IsHalf():
		return e.castHalf(x.X, to)
	case to.Lanes > 1:
		return e.widened(e.value(x.X), from, to), precAtom
	case x.To == dtype.Bool:
		return e.expr(x.X, precAdd) + " != 0", precEqual
	case from.Elem.IsComplex() && !x.To.IsComplex():
		return fmt.Sprintf("(%s)__real__ %s", elemType(x.To), e.expr(x.X, precUnary)), precUnary
	default:
		return fmt.Sprintf("(%s)%s", elemType(x.To), e.expr(x.X, precUnary)), precUnary
	}
}

// widened is a vector converted to another type. Integers are widened twofold at a time, for which processors have instructions: what is wider at once GCC
// converts element by element.
func (e *emitter) widened(text string, from, to ir.Type) string {
	if to.Elem.Size() >= 4 && hasByteInstruction(from) {
		text, from = fmt.Sprintf("%s(%s)", e.uses.widenBytes(from), text), ir.Type{Elem: dtype.I32, Lanes: from.Lanes}
		if to == from {
			return text
		}
	}
	for n := 2 * from.Elem.Size(); (from.Elem.IsInt() || from.Elem == dtype.Bool) && n < to.Elem.Size(); n *= 2 {
		step := ir.Type{Elem: map[int]dtype.T{2: dtype.I16, 4: dtype.I32}[n], Lanes: to.Lanes}
		text = fmt.Sprintf("__builtin_convertvector(%s, %s)", text, e.uses.vector(step))
	}
	return fmt.Sprintf("__builtin_convertvector(%s, %s)", text, e.uses.vector(to))
}

// castHalf converts from or to a half, by way of float.
func (e *emitter) castHalf(x ir.Expr, to ir.Type) (string, int) {
	from := x.Type()
	float := ir.Type{Elem: dtype.F32, Lanes: from.Lanes}
	switch {
	case from.Elem.IsHalf() && to == float:
		return fmt.Sprintf("%s(%s)", e.uses.widen(from, e.simd), e.value(x)), precAtom
	case from.Elem.IsHalf():
		return e.form(&ir.Cast{X: &ir.Cast{X: x, To: dtype.F32}, To: to.Elem})
	case from == float:
		return fmt.Sprintf("%s(%s)", e.uses.narrow(to), e.value(x)), precAtom
	default:
		return e.form(&ir.Cast{X: &ir.Cast{X: x, To: dtype.F32}, To: to.Elem})
	}
}

// splat is the scalar x as a vector of type t.
func (e *emitter) splat(x ir.Expr, t ir.Type) string {
	if isZero(x) {
		return fmt.Sprintf("(%s){0}", e.uses.vector(t))
	}
	return fmt.Sprintf("%s(%s)", e.uses.helper("splat", t), e.value(x))
}

// isZero reports whether x is a zero whose bits are all zero.
func isZero(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Int:
		return x.Value == 0
	case *ir.Float:
		return x.Value == 0 && !math.Signbit(x.Value)
	default:
		return false
	}
}

func intLiteral(x *ir.Int) (string, int) {
	switch {
	case x.Value == math.MinInt64:
		return "INT64_MIN", precAtom
	case x.Value == math.MinInt32:
		return "INT32_MIN", precAtom
	case x.Value > math.MaxInt32 || x.Value < math.MinInt32:
		return fmt.Sprintf("INT64_C(%d)", x.Value), precAtom
	case x.Value < 0:
		return strconv.FormatInt(x.Value, 10), precUnary
	default:
		return strconv.FormatInt(x.Value, 10), precAtom
	}
}

func floatLiteral(x *ir.Float) (string, int) {
	if x.T.IsHalf() {
		return fmt.Sprintf("0x%04x", dtype.HalfBits(x.T, float32(x.Value))), precAtom
	}
	suffix := map[dtype.T]string{dtype.F32: "f"}[x.T.Real()]
	sign, prec := "", precAtom
	if math.Signbit(x.Value) {
		sign, prec = "-", precUnary
	}
	switch {
	case math.IsInf(x.Value, 0):
		return sign + "__builtin_inf" + suffix + "()", prec
	case math.IsNaN(x.Value):
		return "__builtin_nan" + suffix + `("")`, precAtom
	}
	text := strconv.FormatFloat(math.Abs(x.Value), 'g', -1, 8*x.T.Real().Size())
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return sign + text + suffix, prec
}
