package index

import (
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// Verify checks the invariants that later stages rely on: each access has one variable for each mode and none twice, operators have the
// right number of arguments, and the extent of a variable that is only on the left is known.
func (a *Assignment) Verify() error {
	if a.Reduce != "" && a.Reduce != dtype.Mean {
		if _, ok := a.Reduce.Identity(); !ok {
			return diag.Errorf(diag.Unsupported, "%s: %q has no identity, so it can't reduce", a, a.Reduce)
		}
	}
	for _, acc := range append([]*Access{a.LHS}, Accesses(a.RHS)...) {
		if len(acc.Vars) != acc.Tensor.Order() {
			return diag.Errorf(diag.Shape, "%s: %s has %d indices, but its format %q has %d modes", a, acc,
				len(acc.Vars), acc.Tensor.Format, acc.Tensor.Order())
		}
		for i, v := range acc.Vars {
			if slices.Contains(acc.Vars[:i], v) {
				return diag.Errorf(diag.Unsupported, "%s: %s repeats index %q; take the diagonal first", a, acc, string(v))
			}
		}
	}
	if err := a.verifyWindows(); err != nil {
		return err
	}
	if err := a.verifyExtents(); err != nil {
		return err
	}
	return verifyExpr(a, a.RHS)
}

// verifyExtents checks that a variable has the same extent in all accesses.
func (a *Assignment) verifyExtents() error {
	known := map[Var]int64{}
	for _, acc := range Accesses(a.RHS) {
		for m, v := range acc.Vars {
			if m >= len(acc.Tensor.Extents) || acc.Window(m) != nil {
				continue
			}
			n := acc.Tensor.Extents[m]
			if other, ok := known[v]; n < 0 || ok && other != n {
				return diag.Errorf(diag.Shape, "%s: mode %d of %s has extent %d; index %q has extent %d elsewhere", a, m, acc, n, string(v), other)
			}
			known[v] = n
		}
	}
	return nil
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
