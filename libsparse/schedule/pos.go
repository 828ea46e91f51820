package schedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// Pos makes the loop over Var visit what Of stores of it, by position: Var is the variable of a sparse level, a strip of
// it, or the fused variables of adjacent levels of which the last is sparse. So strips of Pos hold the same number of
// entries each, whatever the coordinates.
type Pos struct {
	Var, Pos index.Var
	// Of is the name of an operand.
	Of string
}

func (c Pos) String() string { return fmt.Sprintf("pos(%s, %s, %s)", c.Var, c.Pos, c.Of) }

// Apply implements Command.
func (c Pos) Apply(p *cin.Program) (*cin.Program, error) {
	access, err := c.access(p)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(allLoops(p.Body), c.Var) {
		return nil, missing(c, p, c.Var)
	}
	if err := c.source(p); err != nil {
		return nil, err
	}
	r, err := c.levels(p, access)
	if err != nil {
		return nil, err
	}
	if err := fresh(c, p, c.Pos); err != nil {
		return nil, err
	}
	q := p.Clone()
	q.Relations = append(q.Relations, r)
	q.Body, _ = rewrite(p.Body, c.Var, func(f *cin.Forall) cin.Stmt {
		g := f.With(f.Body)
		g.Var = c.Pos
		return g
	})
	return q, nil
}

// access is that of the operand.
func (c Pos) access(p *cin.Program) (*index.Access, error) {
	var names []string
	for _, a := range index.Accesses(p.Source.RHS) {
		if a.Tensor.Name == c.Of && a.Windowed() {
			return nil, failf(c, "%s is accessed through a window, which passes positions over; take the window first", a)
		}
		if a.Tensor.Name == c.Of {
			return a, nil
		}
		names = append(names, a.Tensor.Name)
	}
	return nil, failf(c, "%s is no operand; the operands are %v", c.Of, names)
}

// source refuses variables that positions can't be found for.
func (c Pos) source(p *cin.Program) error {
	v := p.Original(c.Var)
	switch r := p.Derivation(v).(type) {
	case *cin.Positions:
		return failf(c, "%s runs over positions of %s already", c.Var, r.Access)
	case *cin.Split:
		if v != r.Inner || p.Derivation(p.Original(r.Parent)) != nil || r.Tail > 0 {
			return failf(c, "%s is a strip of %s of which no positions can be found; take the inner half of a variable of the expression, without a tail",
				c.Var, r.Parent)
		}
	case *cin.Fuse:
		for _, v := range r.From() {
			if _, split := p.Derivation(p.Original(v)).(*cin.Split); split {
				return failf(c, "%s is fused from the strip %s; fuse whole variables", c.Var, v)
			}
		}
	}
	return nil
}

// levels finds the levels of an access that store Var.
func (c Pos) levels(p *cin.Program, a *index.Access) (*cin.Positions, error) {
	roots := p.Roots(c.Var)
	f := p.Source.Of(a.Tensor).Format
	var at []int
	for _, v := range roots {
		mode := slices.Index(a.Vars, v)
		if mode < 0 {
			return nil, failf(c, "%s has no index %s", a, v)
		}
		at = append(at, f.LevelOf(mode))
	}
	for i, level := range at {
		if level != at[0]+i {
			return nil, failf(c, "%s in format %q does not store %v in adjacent levels in this order", a, f, roots)
		}
		if !positional(f.Levels[level]) {
			return nil, failf(c, "level %d of %s in format %q, which stores %s, has no positions to visit", level+1, a, f, roots[i])
		}
	}
	last := f.Levels[at[len(at)-1]]
	switch {
	case last.Props().Full:
		return nil, failf(c, "%s is dense in %s in format %q: its positions are its coordinates", roots[len(roots)-1], a, f)
	case !last.Props().Unique:
		return nil, failf(c, "%s in format %q stores %s more than once; fuse it with the levels below", a, f, roots[len(roots)-1])
	}
	return &cin.Positions{Parent: c.Var, Pos: c.Pos, Access: a, First: at[0], Last: at[len(at)-1]}, nil
}

// positional reports whether the coordinates of a level, and what is above it, follow from positions.
func positional(l format.Level) bool {
	switch l.(type) {
	case format.Dense, format.Compressed, format.Singleton:
		return true
	default:
		return false
	}
}

// check refuses loops that have something to do where the operand stores nothing, and strips that aren't known where they are searched.
func (c Pos) check(p *cin.Program) (err error) {
	access, err := c.access(p)
	if err != nil {
		return err
	}
	roots, stored := p.Roots(c.Pos), p.Source.Of(access.Tensor).Format
	first := func(f *cin.Forall) bool { return leads(p, f.Var, c.Pos) }
	eachLoop(p.Body, first, func(f *cin.Forall, outside []*cin.Forall) {
		value := cin.Value(f)
		for _, v := range roots {
			level := stored.LevelOf(slices.Index(access.Vars, v))
			if !stored.Levels[level].Props().Full && !only(lattice.Build(p.Source.Table, value, v), lattice.Key(p.Source.Table, access, level)) {
				err = failf(c, "%s has values where %s stores nothing, which a loop over its positions would leave out", index.String(value), access)
			}
		}
		if s, ok := p.Derivation(p.Original(c.Var)).(*cin.Split); ok && p.Leaves(s.Outer, vars(outside)) == nil {
			err = failf(c, "the loop over %s has to stand outside the one over %s", s.Outer, f.Var)
		}
	})
	return err
}

// leads reports whether v is what, or the outermost of the loops that it was divided into.
func leads(p *cin.Program, v, what index.Var) bool {
	if v == what {
		return true
	}
	r := p.Derivation(v)
	return r != nil && r.To()[0] == v && slices.ContainsFunc(r.From(), func(u index.Var) bool { return leads(p, u, what) })
}

// only reports whether every point of a lattice has the iterator called key and visits nothing else.
func only(l lattice.Lattice, key string) bool {
	return !slices.ContainsFunc(l.Points, func(p lattice.Point) bool { return p.Full || !p.Has(key) })
}
