package schedule

import (
	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// addsZeros reports whether f stores elements beside the entries that a tensor is made from: whole blocks, diagonals, or a dense level below a sparse one.
func addsZeros(f format.Format) bool {
	last := f.Levels[len(f.Levels)-1].Props()
	return !f.Dense() && (last.Full || last.Filling)
}

// noticed reports whether a computes something else where zeros are stored beside the entries of t.
func noticed(a bind.Assignment, t *index.Tensor) bool {
	reads, harmless := ofZeros(a.RHS, t)
	return !harmless || reads && a.Reduce != "" && a.Reduce != dtype.Add
}

// ofZeros reports whether e reads t, and whether it is with a stored zero of t what it is without: no value counts as 0.
func ofZeros(e index.Expr, t *index.Tensor) (reads, harmless bool) {
	switch e := e.(type) {
	case *index.Access:
		return e.Tensor == t, e.Tensor != t || !t.PatternOnly
	case *index.Call:
		harmless = true
		for k, arg := range e.Args {
			read, same := ofZeros(arg, t)
			reads, harmless = reads || read, harmless && same && (!read || ignores(e, k))
		}
		return reads, harmless
	default:
		return false, true
	}
}

// ignores reports whether a call is the same where its argument k is 0 and where that has no value.
func ignores(c *index.Call, k int) bool {
	if c.Function != nil {
		library := c.Function == index.Library()[c.Function.Name] && c.Function.Name != "stored" // the others make zero of zeros
		return library || len(c.Function.Cases) == 1 && c.Region == index.Everywhere(len(c.Args))
	}
	for set := range uint(1) << len(c.Args) {
		with := set | 1<<k
		alone := with == 1<<k && c.Op.KeepsZeros()
		vanishes := c.Op == dtype.Mul || k == 0 && (c.Op == dtype.First || c.Op == "where")
		if c.Region.Has(with) && !c.Region.Has(with&^(1<<k)) && !alone && !vanishes {
			return false
		}
	}
	return true
}
