package lattice

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Table answers which levels the loops of a program visit: its own loops, and those that Restrict leaves of them. A lattice
// is built once, since the function that counts and the one that computes have the same loops.
type Table struct {
	// Body is the program's without terms that have no value anywhere, whatever the sparse operands store. It is nil where
	// nothing is left.
	Body    cin.Stmt
	program *cin.Program
	built   map[visit]Lattice
}

// visit is a loop over a variable, or its body at a coordinate that is known.
type visit struct {
	body  cin.Stmt
	over  index.Var
	known bool
}

// Of builds the lattices of the loops of p.
func Of(p *cin.Program) *Table {
	t := &Table{program: p, built: map[visit]Lattice{}}
	t.Body = without(p.Body, func(e index.Expr) index.Expr { return Without(e, nil, p.Source.Dense) })
	for _, f := range cin.Loops(p.Body) {
		t.Loop(f)
	}
	return t
}

// Loop is the lattice of f as the loop visits it; see the function Loop.
func (t *Table) Loop(f *cin.Forall) Lattice { return t.of(f, false) }

// Known is the lattice of the body of f where its coordinate is known: no level is walked, and each is searched.
func (t *Table) Known(f *cin.Forall) Lattice { return t.of(f, true) }

func (t *Table) of(f *cin.Forall, known bool) Lattice {
	key := visit{f.Body, t.program.Original(f.Var), known}
	l, ok := t.built[key]
	if !ok {
		build := Loop
		if known {
			build = Build
		}
		l = build(t.program.Source.Table, cin.Value(key.body), key.over)
		t.built[key] = l
	}
	return l
}
