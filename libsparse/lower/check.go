package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// check refuses loops that need coordinates in order of a level that has none: those that walk it together with others, and
// those that append to out, which is nil where s doesn't write the result.
func check(lattices lattice.Table, s cin.Stmt, out *index.Access) error {
	switch s := s.(type) {
	case *cin.Where:
		if err := check(lattices, s.Producer, nil); err != nil {
			return err
		}
		return check(lattices, s.Consumer, out)
	case *cin.Forall:
		lat := lattices[s]
		for _, it := range lat.Iterators() {
			t := it.Access.Tensor
			if !t.Format.Levels[it.Level].Props().Ordered && (lat.Full() || len(lat.Iterators()) > 1 || out != nil && appendsBy(out, s.Var)) {
				return diag.Errorf(diag.Unsupported, "the loop over %s needs the coordinates of %s in order, and format %q has none; "+
					"convert it to another format", s.Var, it.Access, t.Format)
			}
		}
		return check(lattices, s.Body, out)
	default:
		return nil
	}
}

// appendsBy reports whether entries of a result have to come in the order of v.
func appendsBy(out *index.Access, v index.Var) bool {
	f, m := out.Tensor.Format, slices.Index(out.Vars, v)
	if m < 0 || !assembled(out.Tensor) {
		return false
	}
	groups, level := f.Groups(), f.LevelOf(m)
	if f.Rowwise() && level < groups[0].First {
		return false // rows are filled in any order
	}
	return level <= groups[len(groups)-1].Last
}
