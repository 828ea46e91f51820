package cin

import "libsparse/libsparse/index"

// Queries about what loops of a program may do. The scheduler asks them of programs that it considers, scheduling commands of
// programs that they have changed, and lowering of the one that it gets; lattice/queries.go has those about what a loop walks.

// Discovered reports whether kernels find the pattern of t: it is no operand's, and some level of it is appended to.
func Discovered(t *index.Tensor) bool { return t.SamePattern == nil && len(t.Format.Groups()) > 0 }

// Masked reports whether kernels set a mask on a level of t.
func Masked(t *index.Tensor, level int) bool {
	l := t.Format.Levels[level].Props()
	return t.SamePattern == nil && l.Locate && l.HasCrd
}

// OwnsMasks reports whether each byte of the masks of a result is set by one value of v only.
func (p *Program) OwnsMasks(a *index.Access, v index.Var) bool {
	var above []index.Var
	for level, m := range a.Tensor.Format.ModeOrder {
		above = append(above, a.Vars[m])
		if Masked(a.Tensor, level) && !p.Covers(above, v) {
			return false
		}
	}
	return true
}

// Rows are the variables of the rows of a rowwise result, whose entries are counted row by row.
func Rows(a *index.Access) []index.Var {
	f := a.Tensor.Format
	var rows []index.Var
	for _, m := range f.ModeOrder[:f.Groups()[0].First] {
		rows = append(rows, a.Vars[m])
	}
	return rows
}

// Owns reports whether the iterations of an outermost loop over v write elements, rows and masks of the result that no other
// iteration does. Blocks of a loop over the first level append to places of their own.
func (p *Program) Owns(v index.Var) bool {
	a := p.Source.LHS
	if Discovered(a.Tensor) && !a.Tensor.Format.Rowwise() {
		return p.Covers([]index.Var{a.Vars[a.Tensor.Format.ModeOrder[0]]}, v)
	}
	return p.Covers(a.Vars, v) && p.OwnsMasks(a, v)
}

// AppendedLevels is how many leading levels of a discovered result are appended to; what follows are dense blocks.
func AppendedLevels(t *index.Tensor) int {
	groups := t.Format.Groups()
	return groups[len(groups)-1].Last + 1
}

// Stored is the variables of an access, outermost level first.
func Stored(a *index.Access) []index.Var {
	out := make([]index.Var, len(a.Vars))
	for l, m := range a.Tensor.Format.ModeOrder {
		out[l] = a.Vars[m]
	}
	return out
}
