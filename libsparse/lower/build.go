package lower

import (
	"math"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Short forms for the nodes that lowering makes most.

func integer(n int64) *ir.Int { return &ir.Int{Value: n, T: dtype.I64} }

func block(stmts ...ir.Stmt) *ir.Block { return &ir.Block{Stmts: stmts} }

func binary(op dtype.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y} }

func plus(x, y ir.Expr) ir.Expr { return binary(dtype.Add, x, y) }

func next(x ir.Expr) ir.Expr { return plus(x, integer(1)) }

func compare(op ir.Cmp, x, y ir.Expr) ir.Expr { return &ir.Compare{Op: op, X: x, Y: y} }

// all is the conjunction of conditions.
func all(conds []ir.Expr) ir.Expr {
	e := conds[0]
	for _, c := range conds[1:] {
		e = compare(ir.LogAnd, e, c)
	}
	return e
}

func declare(v *ir.Var, init ir.Expr) ir.Stmt { return &ir.Decl{Var: v, Init: init} }

func constant(v *ir.Var, init ir.Expr) ir.Stmt { return &ir.Decl{Var: v, Init: init, Const: true} }

func set(v *ir.Var, value ir.Expr) ir.Stmt { return &ir.Assign{Var: v, Value: value} }

func increment(v *ir.Var) ir.Stmt { return &ir.Assign{Var: v, Reduce: dtype.Add, Value: integer(1)} }

// store writes a coordinate or position, which is narrower in memory than in a register.
func store(a *ir.Array, at, value ir.Expr) ir.Stmt {
	return &ir.Store{Array: a, Index: at, Value: cast(value, a.Elem)}
}

func loadIndex(a *ir.Array, at ir.Expr) ir.Expr { return toIndex(&ir.Load{Array: a, Index: at}) }

func zero(t dtype.T) ir.Expr { return number(0, t) }

// number is a literal of type t; infinities become the extreme integers.
func number(v float64, t dtype.T) ir.Expr {
	switch {
	case t.IsFloat() || t.IsComplex():
		return &ir.Float{Value: v, T: t}
	case math.IsInf(v, 0):
		lo, hi := t.Range()
		if v < 0 {
			return &ir.Int{Value: lo, T: t}
		}
		return &ir.Int{Value: hi, T: t}
	default:
		return &ir.Int{Value: int64(v), T: t}
	}
}

// literal is a number of the source as one of type t.
func literal(x *index.Literal, t dtype.T) ir.Expr {
	if x.Whole && (t.IsInt() || t == dtype.Bool) {
		return &ir.Int{Value: dtype.Int(t, x.Int).Int, T: t}
	}
	return number(x.Value, t)
}

// identity is the value that op leaves alone.
func identity(op dtype.Op, t dtype.T) ir.Expr {
	e, _ := op.Identity()
	return number(e, t)
}

// cast is x as a value of type t.
func cast(x ir.Expr, t dtype.T) ir.Expr {
	if x.Type().Elem == t {
		return x
	}
	return &ir.Cast{X: x, To: t}
}
