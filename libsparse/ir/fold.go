package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// SimplifyExpr is e with constants folded.
func SimplifyExpr(e Expr) Expr { return MapExpr(e, simplifyNode) }

// simplifyNode simplifies an expression whose operands are simple already.
func simplifyNode(e Expr) Expr {
	switch e := e.(type) {
	case *Binary:
		return foldBinary(e)
	case *Compare:
		return foldCompare(e)
	case *Unary:
		if x, ok := literal(e.X); ok {
			return fromValue(unary(e.Op, x))
		}
	case *Cast:
		return foldCast(e)
	case *Select:
		if c, ok := e.Cond.(*Int); ok {
			if c.Value != 0 {
				return e.Then
			}
			return e.Else
		}
	}
	return e
}

// literal is the value of a literal. Those of complex types are left to run time: there are none for most results.
func literal(e Expr) (value, bool) {
	switch e := e.(type) {
	case *Int:
		return intValue(e.T, e.Value), true
	case *Float:
		return floatValue(e.T, e.Value), !e.T.IsComplex()
	default:
		return value{}, false
	}
}

// fromValue is the literal of a scalar without an imaginary part.
func fromValue(x value) Expr {
	if x.t.IsFloat() || x.t.IsComplex() {
		return &Float{Value: real(x.Num), T: x.t}
	}
	return &Int{Value: x.Int, T: x.t}
}

func foldBinary(e *Binary) Expr {
	x, okX := literal(e.X)
	y, okY := literal(e.Y)
	if okY && dividesByZero(e.Op, y) {
		return e
	}
	switch {
	case okX && okY:
		if z, err := apply(e.Op, x, y); err == nil {
			return fromValue(z)
		}
		return e
	case e.X.Type() != e.Y.Type(): // a scalar meets a vector
		return e
	case neutral(e.Op, e.Y):
		return e.X
	case e.Op.Commutes() && neutral(e.Op, e.X):
		return e.Y
	case !e.X.Type().Elem.IsInt():
		return e
	case okX && annuls(e.Op, x, e.Y):
		return e.X
	case okY:
		return foldInteger(e, y)
	default:
		return e
	}
}

// foldInteger is e, whose right side is the integer y.
func foldInteger(e *Binary, y value) Expr {
	if annuls(e.Op, y, e.X) {
		return e.Y
	}
	return foldSum(e, y)
}

// annuls reports whether a product of integers is zero because of its factor x, and the other may go.
func annuls(op dtype.Op, x value, other Expr) bool {
	return op == dtype.Mul && x.Int == 0 && !divides(other)
}

// divides reports whether e may divide an integer by zero, which has to be noticed even if nothing depends on the value.
func divides(e Expr) bool {
	found := false
	EachExpr(e, func(e Expr) {
		b, ok := e.(*Binary)
		found = found || ok && b.Op.Divides()
	})
	return found
}

// neutral reports whether op(x, y) is x for every x, bit by bit; a complex one is taken to be, though the formula makes NaN
// of infinite parts, since it is what a pattern counts as.
func neutral(op dtype.Op, y Expr) bool {
	switch y := y.(type) {
	case *Int:
		return isSum(op) && y.T.IsInt() && y.Value == 0 || (op == dtype.Mul || op == dtype.Div) && y.Value == 1
	case *Float:
		return (op == dtype.Mul || op == dtype.Div) && y.Value == 1
	default:
		return false
	}
}

// foldSum turns (x + a) + b of integers into x + (a + b), whatever the signs.
func foldSum(e *Binary, y value) Expr {
	inner, ok := e.X.(*Binary)
	if !ok || !isSum(e.Op) || !isSum(inner.Op) {
		return e
	}
	z, ok := literal(inner.Y)
	if !ok || z.t != y.t {
		return e
	}
	if e.Op == dtype.Sub {
		y.Int = -y.Int
	}
	if inner.Op == dtype.Sub {
		z.Int = -z.Int
	}
	total := intValue(y.t, y.Int+z.Int)
	switch {
	case total.Int == 0:
		return inner.X
	case total.Int < 0 && dtype.Int(total.t, -total.Int).Int > 0:
		return &Binary{Op: dtype.Sub, X: inner.X, Y: fromValue(intValue(total.t, -total.Int))}
	default:
		return &Binary{Op: dtype.Add, X: inner.X, Y: fromValue(total)}
	}
}

func isSum(op dtype.Op) bool { return op == dtype.Add || op == dtype.Sub }

func foldCompare(e *Compare) Expr {
	x, okX := literal(e.X)
	y, okY := literal(e.Y)
	logical := e.Op == LogAnd || e.Op == LogOr
	switch {
	case logical && okX:
		return choose(x.truth() == (e.Op == LogAnd), e.Y, e.X)
	case logical && okY:
		return choose(y.truth() == (e.Op == LogAnd), e.X, e.Y)
	case okX && okY:
		return fromValue(boolValue(compare(e.Op, x, y)))
	}
	if c := truthOf(e); c != nil {
		return c
	}
	switch v, ok := e.X.(*Var); {
	case ok && sameInteger(v, e.Y):
		return fromValue(boolValue(slices.Contains([]Cmp{Eq, Le, Ge, NotAbove}, e.Op)))
	case okY:
		return foldBound(e, e.Op, e.X, y)
	case okX:
		return foldBound(e, mirrored[e.Op], e.Y, x)
	default:
		return e
	}
}

// truthOf is the comparison that e asks to be no zero, nil if e asks something else.
func truthOf(e *Compare) Expr {
	truth, cast := e.X.(*Cast)
	y, ok := literal(e.Y)
	if !cast || e.Op != Ne || !ok || y.truth() {
		return nil
	}
	if c, compared := truth.X.(*Compare); compared {
		return c
	}
	return nil
}

// sameInteger reports whether e is the integer variable v too.
func sameInteger(v *Var, e Expr) bool {
	w, ok := e.(*Var)
	return ok && v.Name == w.Name && v.T.Elem.IsInt()
}

// mirrored are the comparisons with their sides exchanged.
var mirrored = map[Cmp]Cmp{Lt: Gt, Le: Ge, Gt: Lt, Ge: Le, Eq: Eq, Ne: Ne, NotAbove: Ge}

// foldBound is e, which compares x with y, without the comparison where the type of x decides: compilers warn of what is always so.
func foldBound(e *Compare, op Cmp, x Expr, y value) Expr {
	lo, hi, ok := bounds(x)
	if !ok || !y.t.IsInt() && y.t != dtype.Bool || divides(x) {
		return e
	}
	if least := holds(op, lo, y.Int); least == holds(op, hi, y.Int) && (y.Int < lo || y.Int > hi || op != Eq && op != Ne) {
		return fromValue(boolValue(least))
	}
	return e
}

// bounds are the least and greatest value of an integer that follow from its type.
func bounds(e Expr) (lo, hi int64, ok bool) {
	if c, cast := e.(*Cast); cast && c.To.IsInt() && c.X.Type().Elem.Size() < c.To.Size() {
		e = c.X
	}
	t := e.Type()
	if t.Lanes > 1 || !t.Elem.IsInt() && t.Elem != dtype.Bool {
		return 0, 0, false
	}
	lo, hi = t.Elem.Range()
	return lo, hi, true
}

func holds(op Cmp, x, y int64) bool {
	switch op {
	case Lt:
		return x < y
	case Le, NotAbove:
		return x <= y
	case Gt:
		return x > y
	case Ge:
		return x >= y
	case Eq:
		return x == y
	default:
		return x != y
	}
}

func choose(cond bool, x, y Expr) Expr {
	if cond {
		return x
	}
	return y
}

func foldCast(e *Cast) Expr {
	if e.X.Type().Elem == e.To {
		return e.X
	}
	if inner, ok := e.X.(*Cast); ok && e.To.IsHalf() && inner.X.Type().Elem == e.To && inner.To == dtype.F32 {
		return inner.X // a copy
	}
	x, ok := literal(e.X)
	if !ok || x.t.IsFloat() && !e.To.IsFloat() && !e.To.IsComplex() { // a float out of range has no defined integer
		return e
	}
	return fromValue(x.convert(e.To))
}

// negated is the opposite of a comparison of integers, nil for anything else.
func negated(e Expr) Expr {
	c, ok := e.(*Compare)
	if !ok || c.X.Type().Elem.IsFloat() {
		return nil
	}
	opposite, ok := map[Cmp]Cmp{Lt: Ge, Ge: Lt, Le: Gt, Gt: Le, Eq: Ne, Ne: Eq}[c.Op]
	if !ok {
		return nil
	}
	return &Compare{Op: opposite, X: c.X, Y: c.Y}
}
