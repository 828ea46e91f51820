package ir

import "libsparse/libsparse/dtype"

// expr checks e and returns its type.
func (v *verifier) expr(e Expr) Type {
	if v.err == nil {
		v.node(e)
	}
	if v.err != nil {
		return Type{}
	}
	return e.Type()
}

func (v *verifier) node(e Expr) {
	switch e := e.(type) {
	case *Var:
		v.bound(e)
	case *Int:
		v.integer(e)
	case *Float:
		if !e.T.IsFloat() && !e.T.IsComplex() {
			v.failf("floating literal %v of type %q", e.Value, e.T)
		}
	case *Load:
		v.array(e.Array)
		v.index(e.Index)
	case *Binary:
		v.binary(e)
	case *Compare:
		v.compare(e)
	case *Unary:
		v.unary(e)
	case *Cast:
		v.cast(e)
	case *Select:
		v.selection(e)
	case *Hash:
		v.index(e.Key)
		v.index(e.Size)
	default:
		v.vector(e)
	}
}

// vector checks an expression that makes or takes apart vectors, or asks where they may be stored.
func (v *verifier) vector(e Expr) {
	switch e := e.(type) {
	case *Lanes:
		v.sameTypes(e, e.Of)
		if len(e.Of) < 2 || e.Of[0].Type().Lanes > 1 {
			v.failf("%s is no vector of scalars", ExprText(e))
		}
	case *ReduceLanes:
		v.sameTypes(e, e.Of)
		v.operator(e.Op, e.Type().Elem)
		if !e.Op.Commutes() || e.Of[0].Type().Lanes < 2 {
			v.failf("%s reduces no lanes", ExprText(e))
		}
	case *Tail:
		v.index(e.Count)
		v.bothVectors(e, e.X, e.Else)
	case *Head:
		v.index(e.Count)
		v.bothVectors(e, e.X, e.Else)
	case *Where:
		v.bothVectors(e, e.X, e.Else)
		if of := v.expr(e.Of); !of.Elem.IsInt() || of.Lanes != e.X.Type().Lanes {
			v.failf("%s chooses lanes by %s", ExprText(e), of)
		}
	case *Aligned:
		v.array(e.Array)
		if e.Bytes < 1 {
			v.failf("an alignment to %d bytes", e.Bytes)
		}
	default:
		v.failf("unknown expression %T", e)
	}
}

// bothVectors checks that e chooses lanes of two vectors of one type.
func (v *verifier) bothVectors(e, x, otherwise Expr) {
	if t, other := v.expr(x), v.expr(otherwise); t.Lanes < 2 || other != t {
		v.failf("%s has a vector of %s and %s", ExprText(e), t, other)
	}
}

func (v *verifier) bound(e *Var) {
	if b := v.vars[e.Name]; b == nil || b.t != e.T {
		v.failf("variable %s: %s is not in scope", e.Name, e.T)
	}
}

func (v *verifier) cast(e *Cast) {
	v.expr(e.X)
	if e.To.Size() == 0 {
		v.failf("cast to unknown type %q", e.To)
	}
}

func (v *verifier) integer(e *Int) {
	if !e.T.IsInt() && e.T != dtype.Bool {
		v.failf("integer literal %d of type %q", e.Value, e.T)
	} else if dtype.Int(e.T, e.Value).Int != e.Value {
		v.failf("integer literal %d does not fit %s", e.Value, e.T)
	}
}

func (v *verifier) unary(e *Unary) {
	t := v.expr(e.X)
	if e.Op.Arity() != 1 || !e.Op.On(t.Elem) || t.Elem.IsHalf() {
		v.failf("%s does not apply to %s", e.Op, t)
	}
}

func (v *verifier) selection(e *Select) {
	v.cond(e.Cond)
	if x, y := v.expr(e.Then), v.expr(e.Else); x != y {
		v.failf("%s chooses between %s and %s", ExprText(e), x, y)
	}
}

func (v *verifier) binary(e *Binary) {
	x, y := v.expr(e.X), v.expr(e.Y)
	if v.err != nil {
		return
	}
	if x.Elem != y.Elem || (x.Lanes != y.Lanes && x.Lanes != 1 && y.Lanes != 1) {
		v.failf("%s has operands %s and %s", ExprText(e), x, y)
	}
	v.operator(e.Op, x.Elem)
}

// operator checks that op is binary and takes values of type t.
func (v *verifier) operator(op dtype.Op, t dtype.T) {
	switch {
	case op.Arity() != 2 || op == dtype.First || op == dtype.Second:
		v.failf("%q is no binary operator of the loop language", op)
	case !op.On(t) || t.IsHalf():
		v.failf("%s does not apply to %s", op, t)
	}
}

func (v *verifier) compare(e *Compare) {
	x, y := v.expr(e.X), v.expr(e.Y)
	if v.err != nil {
		return
	}
	ints := x.Elem.IsInt() && y.Elem.IsInt()
	switch {
	case x.Lanes != 1 || y.Lanes != 1:
		v.failf("%s compares vectors", ExprText(e))
	case e.Op == LogAnd || e.Op == LogOr:
		if x.Elem != dtype.Bool || y.Elem != dtype.Bool {
			v.failf("%s has operands %s and %s, expected booleans", ExprText(e), x, y)
		}
	case !ints && x.Elem != y.Elem:
		v.failf("%s compares %s and %s", ExprText(e), x, y)
	case x.Elem.IsHalf() || x.Elem.IsComplex() && e.Op != Eq && e.Op != Ne:
		v.failf("%s: values of type %s have no such comparison", ExprText(e), x)
	}
}

// sameTypes checks the operands of e, which are all of one type.
func (v *verifier) sameTypes(e Expr, list []Expr) {
	for _, x := range list {
		if t := v.expr(x); v.err == nil && t != list[0].Type() {
			v.failf("%s has operands %s and %s", ExprText(e), list[0].Type(), t)
		}
	}
}
