package lower

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

func zero(t dtype.T) ir.Expr { return ir.Number(0, t) }

// literal is a number of the source as one of type t.
func literal(x *index.Literal, t dtype.T) ir.Expr {
	if x.Whole && (t.IsInt() || t == dtype.Bool) {
		return &ir.Int{Value: dtype.Int(t, x.Int).Int, T: t}
	}
	return ir.Number(x.Value, t)
}

// identity is the value that op leaves alone.
func identity(op dtype.Op, t dtype.T) ir.Expr {
	e, _ := op.Identity()
	return ir.Number(e, t)
}
