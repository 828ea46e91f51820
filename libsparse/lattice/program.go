package lattice

import "libsparse/libsparse/cin"

// Table holds the lattice of each loop of a program.
type Table map[*cin.Forall]Lattice

// Of builds the lattices of the loops of p.
func Of(p *cin.Program) Table {
	t := Table{}
	for _, f := range cin.Loops(p.Body) {
		t[f] = Loop(cin.Value(f.Body), p.Original(f.Var))
	}
	return t
}
