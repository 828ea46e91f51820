package index

import (
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// Verify checks the invariants of notation that later stages rely on: no access has a variable twice, and operators have the right number
// of arguments.
func (a *Assignment) Verify() error {
	if a.Reduce != "" && a.Reduce != dtype.Mean {
		if _, ok := a.Reduce.Identity(); !ok {
			return diag.Errorf(diag.Unsupported, "%s: %q has no identity, so it can't reduce", a, a.Reduce)
		}
	}
	for _, acc := range append([]*Access{a.LHS}, Accesses(a.RHS)...) {
		for i, v := range acc.Vars {
			if slices.Contains(acc.Vars[:i], v) {
				return diag.Errorf(diag.Unsupported, "%s: %s repeats index %q; take the diagonal first", a, acc, string(v))
			}
		}
	}
	if err := a.verifyWindows(); err != nil {
		return err
	}
	if err := a.verifyPooling(); err != nil {
		return err
	}
	if err := a.verifySums(); err != nil {
		return err
	}
	return verifyExpr(a, a.RHS)
}

func verifyExpr(a *Assignment, e Expr) error {
	c, ok := e.(*Call)
	if !ok {
		return nil
	}
	arity := c.Op.Arity()
	if c.Function != nil {
		arity = len(c.Function.Params)
	}
	if len(c.Args) != arity || c.Region.Args != arity {
		return diag.Errorf(diag.Internal, "%s: %s has %d arguments", a, c.Op, len(c.Args))
	}
	for _, arg := range c.Args {
		if err := verifyExpr(a, arg); err != nil {
			return err
		}
	}
	return nil
}
