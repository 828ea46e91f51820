package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
)

// Assemble puts the entries of a rowwise result into their rows as the loops produce them: the counting phase finds how
// long each row is, so that the order of the rows doesn't matter. Each element has to be produced once, so nothing may
// be reduced. It is TACO's assemble with the Insert strategy.
type Assemble struct{}

func (c Assemble) String() string { return "assemble(insert)" }

// Apply implements Command.
func (c Assemble) Apply(p *cin.Program) (*cin.Program, error) {
	lhs := p.Source.LHS
	if !lhs.Tensor.Format.Rowwise() || lhs.Tensor.SamePattern != nil {
		return nil, failf(c, "%s in format %q has no rows to insert into", lhs, lhs.Tensor.Format)
	}
	if reduced := p.Source.Reduced(); len(reduced) > 0 {
		return nil, failf(c, "%s sums over %s, so an element may be produced twice", lhs, fmt.Sprint(reduced))
	}
	q := p.Clone()
	q.Insert = true
	return q, nil
}
