package bind

import (
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
)

// Assignment is an assignment with the storage of its tensors.
type Assignment struct {
	*index.Assignment
	*Table
}

// With is a where t is stored as s says.
func (a Assignment) With(t *index.Tensor, s Storage) Assignment {
	return Assignment{a.Assignment, a.Table.With(t, s)}
}

// Result is the storage of the result.
func (a Assignment) Result() *Storage { return a.Of(a.LHS.Tensor) }

// Extent is the representative extent of v, 0 if no tensor carries it.
func (a Assignment) Extent(v index.Var) int64 {
	if n := a.extent(a.RHS, v); n >= 0 {
		return n
	}
	return max(a.extent(a.LHS, v), 0)
}

// extent is the extent of v in the first access of e that gives it, or -1.
func (b *Table) extent(e index.Expr, v index.Var) int64 {
	switch e := e.(type) {
	case *index.Access:
		for m, w := range e.Vars {
			if w != v {
				continue
			}
			if e.Window(m) != nil {
				return e.Window(m).Extent()
			}
			if extents := b.Of(e.Tensor).Extents; m < len(extents) {
				return extents[m]
			}
		}
	case *index.Call:
		for _, arg := range e.Args {
			if n := b.extent(arg, v); n >= 0 {
				return n
			}
		}
	}
	return -1
}

// Verify checks the assignment, that each access has one variable for each mode, and that a variable has the same extent in all of them.
func (a Assignment) Verify() error {
	for _, acc := range append([]*index.Access{a.LHS}, index.Accesses(a.RHS)...) {
		if f := a.Of(acc.Tensor).Format; len(acc.Vars) != f.Order() {
			return diag.Errorf(diag.Shape, "%s: %s has %d indices, but its format %q has %d modes", a, acc, len(acc.Vars), f, f.Order())
		}
	}
	if err := a.Assignment.Verify(); err != nil {
		return err
	}
	known := map[index.Var]int64{}
	for _, acc := range index.Accesses(a.RHS) {
		extents := a.Of(acc.Tensor).Extents
		for m, v := range acc.Vars {
			if m >= len(extents) || acc.Window(m) != nil {
				continue
			}
			n := extents[m]
			if other, ok := known[v]; n < 0 || ok && other != n {
				return diag.Errorf(diag.Shape, "%s: mode %d of %s has extent %d; index %q has extent %d elsewhere", a, m, acc, n, string(v), other)
			}
			known[v] = n
		}
	}
	return nil
}
