package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// check refuses loops that need coordinates in order of a level that has none: those that walk it together with others, and
// those that append to the result.
func check(p *cin.Program, lattices lattice.Table) error {
	for _, f := range cin.Loops(p.Body) {
		lat, out := lattices[f], cin.Written(f.Body)
		ordered := lat.Full() || len(lat.Iterators()) > 1 || out.Tensor == p.Source.LHS.Tensor && appendsBy(out, f.Var)
		for _, it := range lat.Iterators() {
			if ordered && !level(it).Props().Ordered {
				return diag.Errorf(diag.Unsupported, "the loop over %s needs the coordinates of %s in order, and format %q has none; "+
					"convert it to another format", f.Var, it.Access, it.Access.Tensor.Format)
			}
		}
	}
	return nil
}

// appendsBy reports whether entries of a result have to come in the order of v.
func appendsBy(out *index.Access, v index.Var) bool {
	f, m := out.Tensor.Format, slices.Index(out.Vars, v)
	if m < 0 || !cin.Discovered(out.Tensor) {
		return false
	}
	groups, level := f.Groups(), f.LevelOf(m)
	if f.Rowwise() && level < groups[0].First {
		return false // rows are filled in any order
	}
	return level <= groups[len(groups)-1].Last
}
