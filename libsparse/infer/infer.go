// Package infer chooses what the user left open: the format of the result, and whether it has an operand's pattern.
//
// It sees formats, extents and counts, never coordinates.
package infer

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Output returns the format of the result of a, and the operand whose pattern it has, or nil.
//
// A product has the pattern of an operand with the result's variables if everything else in it is dense. Otherwise the
// result is dense if it has one mode, or a mode that a dense operand fills; else a mode is stored as in the operand that
// brings it.
func Output(a *index.Assignment) (format.Format, *index.Tensor) {
	if t := Pattern(a); t != nil {
		return t.Format, t
	}
	n := a.LHS.Tensor.Order()
	if f, ok := elementwise(a); ok {
		return f, nil
	}
	if n <= 1 {
		return format.AllDense(n), nil
	}
	letters := make([]byte, n)
	columns := true // every sparse operand is stored column by column
	filled := false
	for i, v := range a.LHS.Vars {
		l, dense := bringer(a.RHS, v)
		letters[i] = l
		filled = filled || dense
	}
	for _, acc := range index.Accesses(a.RHS) {
		if !acc.Tensor.Format.Dense() && (acc.Tensor.Order() != 2 || acc.Tensor.Format.Natural()) {
			columns = false
		}
	}
	if filled && n == 2 || !slices.Contains(letters, 's') {
		return format.AllDense(n), nil
	}
	if columns && n == 2 {
		return format.MustParse(string([]byte{letters[1], letters[0]}) + ":1,0"), nil
	}
	return format.MustParse(string(letters)), nil
}

// Pattern is the operand whose pattern the result has, or nil.
func Pattern(a *index.Assignment) *index.Tensor {
	if !isProduct(a.RHS) {
		return nil
	}
	var owner *index.Access
	for _, acc := range index.Accesses(a.RHS) {
		switch {
		case acc.Tensor.Format.Dense():
		case owner == nil && slices.Equal(acc.Vars, a.LHS.Vars):
			owner = acc
		case owner != nil && acc.Tensor.Owner() == owner.Tensor.Owner() && slices.Equal(acc.Vars, owner.Vars):
		default:
			return nil
		}
	}
	if owner == nil {
		return nil
	}
	return owner.Tensor.Owner()
}

// isProduct reports whether a term exists where all accesses of e are stored.
func isProduct(e index.Expr) bool {
	c, ok := e.(*index.Call)
	if !ok {
		return true
	}
	return c.Region == index.Every && !slices.ContainsFunc(c.Args, func(x index.Expr) bool { return !isProduct(x) })
}

// elementwise is the format of the first sparse operand where all operands have the result's variables, and, unless the
// expression is a product, none is dense.
func elementwise(a *index.Assignment) (f format.Format, ok bool) {
	for _, acc := range index.Accesses(a.RHS) {
		switch {
		case !slices.Equal(acc.Vars, a.LHS.Vars):
			return f, false
		case acc.Tensor.Format.Dense():
			if !isProduct(a.RHS) {
				return f, false
			}
		case !ok:
			f, ok = acc.Tensor.Format, true
		}
	}
	return f, ok
}

// bringer is the kind of level that a variable of the result gets: compressed if some operand stores it so and none
// fills it. dense says that an operand without sparse levels carries it.
func bringer(e index.Expr, v index.Var) (letter byte, dense bool) {
	letter = 'd'
	for _, acc := range index.Accesses(e) {
		m := slices.Index(acc.Vars, v)
		switch {
		case m < 0:
		case acc.Tensor.Format.Dense():
			dense = true
		case !acc.Tensor.Format.Levels[acc.Tensor.Format.LevelOf(m)].Props().Full:
			letter = 's'
		}
	}
	return letter, dense
}

// Elem is the type of the result: that of the operands with values, which the caller has promoted to one type.
func Elem(a *index.Assignment) dtype.T {
	for _, acc := range index.Accesses(a.RHS) {
		if !acc.Tensor.PatternOnly {
			return acc.Tensor.Elem
		}
	}
	for _, acc := range index.Accesses(a.RHS) {
		return acc.Tensor.Elem
	}
	return dtype.F32
}
