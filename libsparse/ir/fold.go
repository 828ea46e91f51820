package ir

import "libsparse/libsparse/dtype"

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

// literal is the value of a literal.
func literal(e Expr) (value, bool) {
	switch e := e.(type) {
	case *Int:
		return intValue(e.T, e.Value), true
	case *Float:
		return floatValue(e.T, e.Value), true
	default:
		return value{}, false
	}
}

// fromValue is the literal of a scalar.
func fromValue(x value) Expr {
	if x.t.IsFloat() {
		return &Float{Value: x.f, T: x.t}
	}
	return &Int{Value: x.i, T: x.t}
}

func foldBinary(e *Binary) Expr {
	x, okX := literal(e.X)
	y, okY := literal(e.Y)
	if okX && okY {
		if z, err := apply(e.Op, x, y); err == nil {
			return fromValue(z)
		}
		return e
	}
	if e.X.Type() != e.Y.Type() { // a scalar meets a vector
		return e
	}
	t := e.X.Type().Elem
	switch {
	case okY && neutral(e.Op, y):
		return e.X
	case okX && e.Op.Commutes() && neutral(e.Op, x):
		return e.Y
	case okX && e.Op == dtype.Mul && t.IsInt() && x.i == 0:
		return e.X
	case okY && e.Op == dtype.Mul && t.IsInt() && y.i == 0:
		return e.Y
	case okY && t.IsInt():
		return foldSum(e, y)
	}
	return e
}

// neutral reports whether op(x, y) is x for every x, bit by bit.
func neutral(op dtype.Op, y value) bool {
	switch op {
	case dtype.Add, dtype.Sub:
		return y.t.IsInt() && y.i == 0
	case dtype.Mul, dtype.Div:
		return y.i == 1 || y.f == 1
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
		y.i = -y.i
	}
	if inner.Op == dtype.Sub {
		z.i = -z.i
	}
	total := intValue(y.t, y.i+z.i)
	switch {
	case total.i == 0:
		return inner.X
	case total.i < 0 && wrap(total.t, -total.i) > 0:
		return &Binary{Op: dtype.Sub, X: inner.X, Y: fromValue(intValue(total.t, -total.i))}
	default:
		return &Binary{Op: dtype.Add, X: inner.X, Y: fromValue(total)}
	}
}

func isSum(op dtype.Op) bool { return op == dtype.Add || op == dtype.Sub }

func foldCompare(e *Compare) Expr {
	x, okX := literal(e.X)
	y, okY := literal(e.Y)
	switch {
	case e.Op == LogAnd && okX:
		return choose(x.truth(), e.Y, e.X)
	case e.Op == LogOr && okX:
		return choose(x.truth(), e.X, e.Y)
	case e.Op == LogAnd && okY:
		return choose(y.truth(), e.X, e.Y)
	case e.Op == LogOr && okY:
		return choose(y.truth(), e.Y, e.X)
	case okX && okY:
		return fromValue(boolValue(compare(e.Op, x, y)))
	}
	v, okV := e.X.(*Var)
	w, okW := e.Y.(*Var)
	if okV && okW && v.Name == w.Name && v.T.Elem.IsInt() {
		same := e.Op == Eq || e.Op == Le || e.Op == Ge
		return fromValue(boolValue(same))
	}
	return e
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
	x, ok := literal(e.X)
	if !ok || x.t.IsFloat() && !e.To.IsFloat() { // a float out of range has no defined integer
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
