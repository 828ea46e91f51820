package schedule

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// The renaming of a workspace's variables. Both sides of a workspace go on to access it, and everything else, through the
// variables that they had: only the loops of the producer change, and the relation says what follows from them.

// checkRenaming refuses new names that can't be given, whatever the nest.
func (c Precompute) checkRenaming(p *cin.Program) error {
	var names []index.Var
	for i, r := range c.Rename {
		switch {
		case !p.Named(r.Of):
			return failf(c, "there is no variable %s to rename; the loops are %v", r.Of, allLoops(p.Body))
		case slices.ContainsFunc(c.Rename[:i], func(q cin.Rename) bool { return q.Of == r.Of }):
			return failf(c, "%s is renamed twice", r.Of)
		}
		names = append(names, r.As)
	}
	return fresh(c, p, names...)
}

// checkLoops refuses to rename variables that are no loops of the producer.
func (c Precompute) checkLoops(produce []*cin.Forall) error {
	for _, r := range c.Rename {
		if !slices.Contains(vars(produce), r.Of) {
			return failf(c, "%s is not computed by a loop over %s below at=%d, but by loops over %v", c.Name, r.Of, c.At, vars(produce))
		}
	}
	return nil
}

func (c Precompute) renames(v index.Var) bool {
	return slices.ContainsFunc(c.Rename, func(r cin.Rename) bool { return r.Of == v })
}

// renamed are the producer's loops by their new names.
func (c Precompute) renamed(loops []*cin.Forall) []*cin.Forall {
	out := slices.Clone(loops)
	for i, f := range out {
		if at := slices.IndexFunc(c.Rename, func(r cin.Rename) bool { return r.Of == f.Var }); at >= 0 {
			g := *f
			g.Var = c.Rename[at].As
			out[i] = &g
		}
	}
	return out
}
