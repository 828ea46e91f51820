package codegen

import (
	"fmt"
	"math/bits"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// binary is the C text of an operator. Arithmetic on integers narrower than int wraps to their width, as in torch.
func (e *emitter) binary(x *ir.Binary) (string, int) {
	t := x.Type()
	if t.Elem == dtype.Bool {
		return e.boolean(x)
	}
	prec := precAdd
	switch {
	case x.Op == dtype.Add || x.Op == dtype.Sub:
	case (x.Op == dtype.Mul || x.Op == dtype.Div) && !t.Elem.IsComplex():
		prec = precMul
	default:
		if e.computesOnVector(x.Op, t) {
			return e.oneOfVector(x.Op, t, x.X, x.Y), precAtom
		}
		if fn, ok := libraryFunction(x.Op, t.Elem); ok && t.Lanes == 1 {
			return fmt.Sprintf("%s(%s, %s)", fn, e.value(x.X), e.value(x.Y)), precAtom
		}
		fn := e.uses.helper(string(x.Op), t)
		if x.Op.Divides() {
			return e.divide(fn, x)
		}
		return fmt.Sprintf("%s(%s, %s)", fn, e.lanes(x.X, t, precSelect), e.lanes(x.Y, t, precSelect)), precAtom
	}
	if text, ok := e.share(x); ok {
		return text, precAtom
	}
	left, right := e.operandsOf(x, t, prec)
	text := fmt.Sprintf("%s %s %s", left, x.Op.Infix(), right)
	if t.Lanes == 1 && t.Elem.Size() < 4 {
		return fmt.Sprintf("(%s)(%s)", elemType(t.Elem), text), precUnary
	}
	return text, prec
}

// share is the C text of x where it is a length divided by a power of two: one shift, where C divides what may be negative in four steps. Integers of
// users are divided by floor_divide, and never come here.
func (e *emitter) share(x *ir.Binary) (string, bool) {
	length, ok := x.X.(*ir.Binary)
	if !ok || x.Op != dtype.Div || x.Type() != ir.Index || !isLength(length) {
		return "", false
	}
	n, ok := x.Y.(*ir.Int)
	if !ok || n.Value < 2 || n.Value&(n.Value-1) != 0 {
		return "", false
	}
	return fmt.Sprintf("((%s) >> %d)", e.index(length), bits.TrailingZeros64(uint64(n.Value))), true
}

// isLength reports whether x is how far an element of an array is from the next one, as positions are: it isn't negative, which C doesn't know.
func isLength(x *ir.Binary) bool {
	end, begin := loaded(x.X), loaded(x.Y)
	return x.Op == dtype.Sub && end != nil && begin != nil && end.Array == begin.Array && end.Array.Elem.IsInt() &&
		ir.ExprText(ir.SimplifyExpr(end.Index)) == ir.ExprText(ir.SimplifyExpr(ir.Next(begin.Index)))
}

// loaded is the element that x is, nil where it is none.
func loaded(x ir.Expr) *ir.Load {
	if cast, ok := x.(*ir.Cast); ok {
		x = cast.X
	}
	l, ok := x.(*ir.Load)
	if !ok || l.Lanes > 1 {
		return nil
	}
	return l
}

// boolean writes arithmetic on 0 and 1 that stays in 0 and 1.
func (e *emitter) boolean(x *ir.Binary) (string, int) {
	if x.Type().Lanes > 1 {
		e.failf("vectors of booleans in %s", ir.ExprText(x))
	}
	sign, prec := boolSign(x.Op), precBitOr
	if sign == "&" {
		prec = precBitAnd
	}
	left := e.expr(x.X, precAdd)
	if strings.HasPrefix(left, "!") {
		left = "(" + left + ")" // else gcc takes the whole for what is negated by mistake
	}
	return fmt.Sprintf("%s %s %s", left, sign, e.expr(x.Y, precAdd)), prec
}

// boolSign is the bitwise operator that op is on booleans.
func boolSign(op dtype.Op) string {
	switch op {
	case dtype.Mul, dtype.And, dtype.Min:
		return "&"
	case dtype.Xor:
		return "^"
	default:
		return "|"
	}
}

// operandsOf is the text of both operands of an arithmetic operator on values of type t.
func (e *emitter) operandsOf(x *ir.Binary, t ir.Type, prec int) (left, right string) {
	if t != ir.Index {
		return e.lanes(x.X, t, prec), e.lanes(x.Y, t, prec+1)
	}
	a, b := x.X, x.Y
	switch {
	case wide(a) && !wide(widened(a)) && wide(widened(b)):
		a, b = widened(a), widened(b)
	case wide(widened(a)):
		a, b = widened(a), widened(b)
	case wide(a):
		b = widened(b)
	case wide(b):
		a = widened(a)
	default: // C would compute in int
		return "(int64_t)" + e.expr(a, precUnary), e.expr(b, prec+1)
	}
	return e.expr(a, prec), e.expr(b, prec+1)
}

// wide reports whether the C text of x has the type int64_t by itself.
func wide(x ir.Expr) bool {
	switch x := x.(type) {
	case *ir.Int:
		return x.Value > 1<<31-1 || x.Value < -1<<31
	case *ir.Compare:
		return false
	case *ir.Unary:
		return wide(x.X)
	case *ir.Select:
		return wide(x.Then) || wide(x.Else)
	default:
		return x.Type().Elem == dtype.I64
	}
}

// lanes is the text of x where a value of type t is due. Floats are broadcast by C itself inside operators, but not
// as arguments; integers of other widths than int are not.
func (e *emitter) lanes(x ir.Expr, t ir.Type, least int) string {
	if x.Type().Lanes == t.Lanes {
		return e.expr(x, least)
	}
	if t.Elem.IsFloat() && least > precSelect {
		return e.expr(x, least)
	}
	return e.splat(x, t)
}

// update is the statement text `target op= value`, where op reduces values of type t.
func (e *emitter) update(target string, op dtype.Op, x ir.Expr, t ir.Type) string {
	switch {
	case op == "":
		return fmt.Sprintf("%s = %s;", target, e.valueAs(x, t))
	case t.Elem == dtype.Bool:
		return fmt.Sprintf("%s %s= %s;", target, boolSign(op), e.value(x))
	case op == dtype.Add && t.Lanes == 1 && isOne(x):
		return target + "++;"
	case t.Elem.IsComplex() && op != dtype.Add && op != dtype.Sub:
		return fmt.Sprintf("%s = %s(%s, %s);", target, e.uses.helper(string(op), t), target, e.valueAs(x, t))
	case op.Infix() != "" && (t.Elem.IsFloat() || t.Elem.IsComplex()):
		return fmt.Sprintf("%s %s= %s;", target, op.Infix(), e.value(x))
	case op.Infix() != "":
		return fmt.Sprintf("%s %s= %s;", target, op.Infix(), e.valueAs(x, t))
	default:
		return fmt.Sprintf("%s = %s(%s, %s);", target, e.uses.helper(string(op), t), target, e.valueAs(x, t))
	}
}

func isOne(x ir.Expr) bool {
	n, ok := x.(*ir.Int)
	return ok && n.Value == 1 && n.T != dtype.Bool
}
