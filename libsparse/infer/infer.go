// Package infer chooses the format of a result if the user leaves it open, and finds out whether the result has an operand's pattern.
//
// It sees formats, extents and counts, never coordinates.
package infer

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// unknownDensity is assumed of operands that are empty, or whose entries nobody counted.
const unknownDensity = 0.01

// Output returns the format of the result of a, and the operand whose pattern it has, or nil: their sparse levels are the same, dense levels
// below may differ.
//
// The first rule that applies decides:
//   - an expression of one sparse operand, which has the result's variables, and dense ones has that operand's pattern if it has a value exactly
//     where that has one, as products have; several that have their entries together count as one;
//   - an expression with a value at every coordinate is dense;
//   - a copy, or an elementwise expression of sparse operands, keeps the format of its first sparse operand;
//   - what has no more than one mode that a sparse operand has is dense: vectors, products with dense matrices, and batches of those;
//   - an expression of one sparse operand like that, whose entries are at variables of the result, has its pattern, with a dense block of
//     the other modes for each entry;
//   - modes that only dense operands have are dense, the first mode too unless most of its coordinates would be empty, and the
//     others are compressed: CSR for products of sparse matrices.
//
// The density of sparse operands never makes a result dense: a program must not get another type of tensor for other data.
func Output(a bind.Assignment) (format.Format, *index.Tensor) {
	f, pattern, _ := Expected(a)
	return f, pattern
}

// Expected is Output with the expected number of entries of the result.
func Expected(a bind.Assignment) (f format.Format, pattern *index.Tensor, entries float64) {
	volume := 1.0
	for _, v := range a.LHS.Vars {
		volume *= float64(max(a.Extent(v), 1))
	}
	if owner := exact(a); owner != nil {
		s := a.Of(owner.Tensor)
		return s.Format, a.Owner(owner.Tensor), float64(s.NNZ)
	}
	n := len(a.LHS.Vars)
	filled, columns, sparse := sources(a)
	f, ok := elementwise(a)
	if !ok {
		f, ok = permuted(a)
	}
	switch {
	case Everywhere(a):
		f = format.AllDense(n)
	case ok:
	case !sparse || len(slices.DeleteFunc(slices.Clone(filled), func(dense bool) bool { return dense })) <= 1:
		f = format.AllDense(n)
	default:
		entries = Density(a) * volume
		if f, ok = inBlocks(a); !ok {
			f = byMode(a, filled, columns, entries)
		}
		return f, Pattern(a, f), entries
	}
	if f.Dense() {
		return f, nil, volume
	}
	return f, Pattern(a, f), Density(a) * volume
}

// inBlocks is the format of an expression with one sparse operand (single) that has a dense block for each entry of it, where the result has the variables
// of these entries.
func inBlocks(a bind.Assignment) (f format.Format, ok bool) {
	owner := single(a)
	if owner == nil {
		return f, false
	}
	for level, v := range a.Entries(owner) {
		m := slices.Index(a.LHS.Vars, v)
		if m < 0 || slices.Contains(f.ModeOrder, m) {
			return f, false
		}
		f.Levels, f.ModeOrder = append(f.Levels, a.Of(owner.Tensor).Format.Levels[level]), append(f.ModeOrder, m)
	}
	for m := range a.LHS.Vars {
		if !slices.Contains(f.ModeOrder, m) {
			f.Levels, f.ModeOrder = append(f.Levels, format.Dense{}), append(f.ModeOrder, m)
		}
	}
	return f, f.Equal(f.Writable())
}

// byMode is the format whose levels are dense for modes that only dense operands have, for the last ones that are whole, and for the first
// mode unless most of its coordinates would be empty; the others are compressed.
func byMode(a bind.Assignment, filled []bool, columns bool, entries float64) format.Format {
	n := len(filled)
	order := make([]int, n)
	for i := range order {
		order[i] = i
		if columns && n == 2 {
			order[i] = 1 - i
		}
	}
	f := format.Format{ModeOrder: order}
	for l, m := range order {
		switch {
		case filled[m], l == 0 && float64(a.Extent(a.LHS.Vars[m])) <= 4*entries:
			f.Levels = append(f.Levels, format.Dense{})
		default:
			f.Levels = append(f.Levels, format.Compressed{Unique: true})
		}
	}
	// Below a compressed level whole modes are dense blocks. Without one the result would be dense, which others decide.
	if blocks := n - whole(a); blocks > 1 && blocks < n && !(format.Format{Levels: f.Levels[:blocks]}).Dense() {
		for l := blocks; l < n; l++ {
			f.Levels[l] = format.Dense{}
		}
	}
	return f
}

// whole is how many of the result's last modes have a value at each coordinate wherever one is there: those that every sparse operand
// stores at dense levels below all others.
func whole(a bind.Assignment) (count int) {
	for _, v := range slices.Backward(a.LHS.Vars) {
		carried := false
		for _, acc := range index.Accesses(a.RHS) {
			m := slices.Index(acc.Vars, v)
			if m < 0 || a.Dense(acc) {
				continue
			}
			f := a.Of(acc.Tensor).Format
			if slices.Index(f.ModeOrder, m) < f.Sparse() {
				return count
			}
			carried = true
		}
		if !carried {
			return count
		}
		count++
	}
	return count
}

// permuted is the format of the only operand of a copy, for the result's order of modes.
func permuted(a bind.Assignment) (format.Format, bool) {
	acc, ok := a.RHS.(*index.Access)
	if !ok || len(acc.Vars) != len(a.LHS.Vars) || len(a.Reduced()) > 0 {
		return format.Format{}, false
	}
	f := format.Format{Levels: a.Of(acc.Tensor).Format.Levels}
	for _, m := range a.Of(acc.Tensor).Format.ModeOrder {
		f.ModeOrder = append(f.ModeOrder, slices.Index(a.LHS.Vars, acc.Vars[m]))
	}
	return f, true
}

// sources looks at the operands: filled says of each mode of the result whether only dense operands have it, columns whether all sparse
// operands are matrices stored by columns, and sparse whether there is a sparse operand.
func sources(a bind.Assignment) (filled []bool, columns, sparse bool) {
	columns = true
	accesses := index.Accesses(a.RHS)
	for _, v := range a.LHS.Vars {
		carried, limited := false, false
		for _, acc := range accesses {
			if slices.Contains(acc.Vars, v) {
				carried, limited = true, limited || !a.Dense(acc)
			}
		}
		filled = append(filled, carried && !limited)
	}
	for _, acc := range accesses {
		if !a.Dense(acc) {
			sparse = true
			columns = columns && len(acc.Vars) == 2 && !a.Of(acc.Tensor).Format.Natural()
		}
	}
	return filled, columns, sparse
}

// exact is the operand that has the variables and the entries of the result, or nil.
func exact(a bind.Assignment) *index.Access {
	owner := single(a)
	if owner == nil || !slices.Equal(owner.Vars, a.LHS.Vars) {
		return nil
	}
	return owner
}

// Pattern is the operand whose pos and crd arrays the result has if its format is f, or nil. Dense blocks may differ: those of operands
// without the variable of a block, and blocks that are summed.
func Pattern(a bind.Assignment, f format.Format) *index.Tensor {
	owner := single(a)
	if owner == nil || !f.SameEntries(a.Of(owner.Tensor).Format) {
		return nil
	}
	for level, v := range a.Entries(owner) {
		if a.LHS.Vars[f.ModeOrder[level]] != v {
			return nil
		}
	}
	return a.Owner(owner.Tensor)
}

// single is the sparse operand of an expression of one and dense ones that has a value exactly where it has one, or the first where several have their
// entries together; else nil.
func single(a bind.Assignment) (owner *index.Access) {
	if !holds(a.Table, a.RHS, true) || holds(a.Table, a.RHS, false) || a.LHS.Windowed() {
		return nil
	}
	for _, acc := range index.Accesses(a.RHS) {
		switch {
		case a.Dense(acc):
		case acc.Windowed():
			return nil
		case owner == nil:
			owner = acc
		case !a.Together(acc, owner):
			return nil
		}
	}
	return owner
}

// holds reports whether e has a value where all its sparse accesses have one, or where none has.
func holds(b *bind.Table, e index.Expr, stored bool) bool {
	switch e := e.(type) {
	case *index.Access:
		return stored || b.Dense(e)
	case *index.Call:
		defined := make([]bool, len(e.Args))
		for k, arg := range e.Args {
			defined[k] = holds(b, arg, stored)
		}
		return e.Region.Holds(defined...)
	case *index.Missing:
		return false
	default:
		return true
	}
}

// isProduct reports whether e has a value exactly where all its accesses have one.
func isProduct(e index.Expr) bool {
	c, ok := e.(*index.Call)
	if !ok {
		return true
	}
	return c.Region.IsProduct() && !slices.ContainsFunc(c.Args, func(x index.Expr) bool { return !isProduct(x) })
}

// Everywhere reports whether the result of a has a value everywhere, whatever is stored.
func Everywhere(a bind.Assignment) bool { return holds(a.Table, a.RHS, false) }

// elementwise is the format of the first sparse operand, if all operands have the result's variables; unless the expression is a
// product, no operand may be dense.
func elementwise(a bind.Assignment) (f format.Format, ok bool) {
	for _, acc := range index.Accesses(a.RHS) {
		switch {
		case !slices.Equal(acc.Vars, a.LHS.Vars):
			return f, false
		case a.Dense(acc):
			if !isProduct(a.RHS) {
				return f, false
			}
		case !ok:
			f, ok = a.Of(acc.Tensor).Format, true
		}
	}
	return f, ok
}

// Elem is the type of the result: the promoted type of numbers and of operands with values, or if there are neither, the declared
// type of the patterns.
func Elem(a *index.Assignment) dtype.T {
	t := index.Elem(a.RHS)
	if t != dtype.Invalid && a.Reduce == dtype.Mean {
		t = dtype.PromoteNumber(t, dtype.F32) // as in torch, whole numbers have a floating mean
	}
	if t != dtype.Invalid {
		return t
	}
	for _, acc := range index.Accesses(a.RHS) {
		return acc.Tensor.Elem
	}
	return dtype.F32
}
