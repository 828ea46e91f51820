package schedule

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Fuse makes one loop over Fused of the loop over Outer and the one over Inner directly in it. Followed by Pos it visits
// just what is stored.
type Fuse struct{ Outer, Inner, Fused index.Var }

func (c Fuse) String() string { return fmt.Sprintf("fuse(%s, %s, %s)", c.Outer, c.Inner, c.Fused) }

// Apply implements Command.
func (c Fuse) Apply(p *cin.Program) (*cin.Program, error) {
	for _, v := range []index.Var{c.Outer, c.Inner} {
		switch r := p.Derivation(p.Original(v)).(type) {
		case *cin.Positions:
			return nil, failf(c, "%s runs over positions; fuse first, and let pos follow", v)
		case *cin.Split:
			if _, ok := p.Derivation(r.Parent).(*cin.Positions); ok || r.Tail > 0 {
				return nil, failf(c, "%s is a strip of %s, which can't be fused", v, r.Parent)
			}
		}
	}
	var err error
	q := p.Clone()
	body, ok := rewrite(p.Body, c.Outer, func(f *cin.Forall) cin.Stmt {
		inner, nested := f.Body.(*cin.Forall)
		switch {
		case !nested || inner.Var != c.Inner:
			err = failf(c, "the loop over %s is not directly in the one over %s; reorder first", c.Inner, c.Outer)
			return f
		case f.Unit != cin.Serial || inner.Unit != cin.Serial:
			err = failf(c, "fuse loops before they are given to threads or lanes")
			return f
		}
		return &cin.Forall{Var: c.Fused, Body: inner.Body}
	})
	switch {
	case !ok:
		return nil, missing(c, p, c.Outer)
	case err != nil:
		return nil, err
	}
	for _, v := range allLoops(body) {
		if v == c.Inner {
			return nil, failf(c, "another loop over %s is left, which is in no loop over %s", c.Inner, c.Outer)
		}
	}
	if err := fresh(c, p, c.Fused); err != nil {
		return nil, err
	}
	q.Body = body
	q.Relations = append(q.Relations, &cin.Fuse{Outer: c.Outer, Inner: c.Inner, Fused: c.Fused})
	return q, nil
}
