package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// walks says with the coordinates of operands which arrays loops walk whose entries are to be brought near before.
func (s *slots) walks(p *cin.Program) {
	for _, f := range cin.Loops(p.Body) {
		if f.Ahead == nil {
			continue
		}
		arrays := s.perEntry(f.Ahead)
		at := slices.IndexFunc(s.slots, func(slot ir.Slot) bool { return slot.Array == arrays[0] })
		s.slots[at].Walk = &ir.Walk{Arrays: arrays, Distance: f.Distance}
	}
}

// perEntry are the arrays of t that have an element for each entry, first the coordinates of its last level.
func (s *slots) perEntry(t *index.Tensor) []*ir.Array {
	arrays := []*ir.Array{s.storage(t, s.Of(t).Format.Order()-1, nil).Crd}
	for _, kind := range []string{"perm", "vals"} {
		if a := s.arrays[arrayKey{t, kind, 0}]; a != nil {
			arrays = append(arrays, a)
		}
	}
	return arrays
}
