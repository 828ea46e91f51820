package lower

import (
	"math"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// inlined is the value of a call of a function. Whatever argument is not known to be missing has a value here.
func (l *lowerer) inlined(c *index.Call, t dtype.T, e env) ir.Expr {
	body := lattice.Without(c.Inline(), nil, nil)
	if body == nil {
		return zero(t)
	}
	return l.value(body, t, e)
}

var comparisons = map[dtype.Op]ir.Cmp{
	dtype.Lt: ir.Lt, dtype.Le: ir.Le, dtype.Gt: ir.Gt, dtype.Ge: ir.Ge, dtype.Eq: ir.Eq, dtype.Ne: ir.Ne,
}

// apply is an operator on values of type t.
func apply(op dtype.Op, t dtype.T, args []ir.Expr) ir.Expr {
	switch {
	case op == dtype.First:
		return args[0]
	case op == dtype.Second:
		return args[1]
	case op == dtype.Where:
		return &ir.Select{Cond: ir.Is(args[0], ir.Ne, zero(t)), Then: args[1], Else: args[2]}
	case op.IsComparison():
		truth := ir.Is(args[0], comparisons[op], args[1])
		if t.IsComplex() { // which may be ordered, unlike complex numbers
			return truth
		}
		return &ir.Cast{X: truth, To: t}
	case op == dtype.Conj && !t.IsComplex(), op == dtype.Real && !t.IsComplex(), op.KeepsIntegers() && t.IsInt() && (op != dtype.Abs || t == dtype.U8):
		return args[0]
	case op.Arity() == 1:
		return &ir.Unary{Op: op, X: args[0]}
	case op == dtype.Pow:
		return power(args[0], args[1])
	default:
		return ir.Apply(scalarOp(op, t), args[0], args[1])
	}
}

// power is x to the power of y: a product for small whole numbers, a root for halves of one, as in torch, and a quotient where they are negative.
func power(x, y ir.Expr) ir.Expr {
	n, ok := exponent(y)
	if !ok || !dtype.Multiplies(n) || copies(x) > mostCopied {
		return ir.Apply(dtype.Pow, x, y)
	}
	var out ir.Expr = &ir.Unary{Op: "sqrt", X: x}
	if size := math.Abs(n); size >= 1 {
		out = product(x, int(size))
	}
	if n < 0 {
		return ir.Apply(dtype.Div, ir.Number(1, x.Type().Elem), out)
	}
	return out
}

// exponent is the number that a literal of floating type is, which may have a sign.
func exponent(e ir.Expr) (n float64, ok bool) {
	switch e := e.(type) {
	case *ir.Float:
		return e.Value, !e.T.IsComplex() || e.Value > 0 && e.Value == math.Trunc(e.Value)
	case *ir.Unary:
		n, ok = exponent(e.X)
		return -n, ok && e.Op == dtype.Neg && !e.X.Type().Elem.IsComplex()
	default:
		return 0, false
	}
}

// product is x multiplied by itself: its square is multiplied by itself for the fourth power.
func product(x ir.Expr, n int) ir.Expr {
	switch {
	case n == 1:
		return x
	case n%2 == 1:
		return ir.Mul(product(x, n-1), x)
	default:
		half := product(x, n/2)
		return ir.Mul(half, half)
	}
}

// mostCopied is how many operations and elements an expression may have that is written several times; C compilers compute it once.
const mostCopied = 32

// copies is the number of operations and elements in e.
func copies(e ir.Expr) (n int) {
	ir.EachExpr(e, func(ir.Expr) { n++ })
	return n
}

// scalarOp is op on values of type t: booleans add by or and multiply by and, as in torch.
func scalarOp(op dtype.Op, t dtype.T) dtype.Op {
	switch {
	case t == dtype.Bool && op == dtype.Add:
		return dtype.Or
	case t == dtype.Bool && op == dtype.Mul:
		return dtype.And
	default:
		return op
	}
}

func zero(t dtype.T) ir.Expr { return ir.Number(0, t) }

// literal is a number of the source as one of type t.
func literal(x *index.Literal, t dtype.T) ir.Expr {
	if x.Whole && (t.IsInt() || t == dtype.Bool) {
		return &ir.Int{Value: dtype.Int(t, x.Int).Int, T: t}
	}
	return ir.Number(x.Value, t)
}

// identity is the value that op leaves alone, zero where there is no operator.
func identity(op dtype.Op, t dtype.T) ir.Expr {
	e, _ := op.Identity()
	return ir.Number(e, t)
}
