package cin

import "libsparse/libsparse/index"

// Queries about what loops of a program may do. The scheduler asks them of programs that it considers, scheduling commands of
// programs that they have changed, and lowering of the one that it gets; lattice/queries.go has those about what a loop walks.

// OwnsMasks reports whether each byte of the masks of a result is set by one value of v only.
func (p *Program) OwnsMasks(a *index.Access, v index.Var) bool {
	var above []index.Var
	s := p.Source.Of(a.Tensor)
	for level, m := range s.Format.ModeOrder {
		above = append(above, a.Vars[m])
		if s.Masked(level) && !p.Covers(above, v) {
			return false
		}
	}
	return true
}

// Owns reports whether the iterations of an outermost loop over v write elements, rows and masks of the result that no other
// iteration does. Blocks of a loop over the first level append to places of their own.
func (p *Program) Owns(v index.Var) bool {
	a, s := p.Source.LHS, p.Source.Result()
	if s.Discovered() && !s.Format.Rowwise() {
		return p.Covers([]index.Var{a.Vars[s.Format.ModeOrder[0]]}, v)
	}
	return p.Covers(a.Vars, v) && p.OwnsMasks(a, v)
}
