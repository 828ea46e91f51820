package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/lattice"
)

// check refuses loops that need coordinates in order of a level that has none.
func check(s cin.Stmt) error {
	switch s := s.(type) {
	case *cin.Where:
		if err := check(s.Producer); err != nil {
			return err
		}
		return check(s.Consumer)
	case *cin.Forall:
		lat := lattice.Loop(cin.Value(s.Body), s.Var)
		for _, it := range lat.Iterators() {
			t := it.Access.Tensor
			if !t.Format.Levels[it.Level].Props().Ordered && (lat.Full() || len(lat.Iterators()) > 1) {
				return diag.Errorf(diag.Unsupported, "the loop over %s needs the coordinates of %s in order, and format %q has none; "+
					"convert it to another format", s.Var, it.Access, t.Format)
			}
		}
		return check(s.Body)
	default:
		return nil
	}
}
