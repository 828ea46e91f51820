package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// check refuses programs whose loops some format contradicts: a level that is not located in has to be walked below
// the levels above it, and a result that is appended to is written in storage order.
func check(p *cin.Program) error {
	return checkStmt(p, p.Body, nil)
}

// checkOrdered refuses loops that need coordinates in order of a level that has none.
func checkOrdered(p *cin.Program, f *cin.Forall) error {
	if p.SplitOf(f.Var) != nil {
		return nil
	}
	lat := lattice.Build(cin.Value(f.Body), f.Var)
	for _, it := range lat.Iterators() {
		t := it.Access.Tensor
		if !t.Format.Levels[it.Level].Props().Ordered && (lat.Full() || len(lat.Iterators()) > 1) {
			return diag.Errorf(diag.Unsupported, "the loop over %s needs the coordinates of %s in order, and format %q has none; "+
				"convert it to another format", f.Var, it.Access, t.Format)
		}
	}
	return nil
}

func checkStmt(p *cin.Program, s cin.Stmt, bound []index.Var) error {
	switch s := s.(type) {
	case *cin.Forall:
		if err := checkOrdered(p, s); err != nil {
			return err
		}
		return checkStmt(p, s.Body, append(slices.Clone(bound), p.Root(s.Var)))
	case *cin.Where:
		if err := checkStmt(p, s.Producer, bound); err != nil {
			return err
		}
		return checkStmt(p, s.Consumer, bound)
	case *cin.Assign:
		for _, a := range index.Accesses(s.RHS) {
			if err := checkOrder(p, a, bound); err != nil {
				return err
			}
		}
		if s.LHS.Tensor == p.Source.LHS.Tensor && assembled(s.LHS.Tensor) && !p.Insert {
			return checkResult(s, bound)
		}
		if s.LHS.Tensor.SamePattern != nil {
			return checkOrder(p, s.LHS, bound)
		}
		return nil
	default:
		return diag.Errorf(diag.Internal, "lower: unknown statement %T", s)
	}
}

// checkOrder compares the loops with the levels of one access.
func checkOrder(p *cin.Program, a *index.Access, bound []index.Var) error {
	if _, ok := p.Workspaces[a.Tensor]; ok {
		return nil
	}
	deepest := -1
	for level, kind := range a.Tensor.Format.Levels {
		at := slices.Index(bound, a.Vars[a.Tensor.Format.ModeOrder[level]])
		if !kind.Props().Full && at < deepest {
			return diag.Errorf(diag.Unsupported, "the loops %v contradict the order in which %s in format %q is stored; "+
				"convert it to another format", bound, a, a.Tensor.Format)
		}
		deepest = max(deepest, at)
	}
	return nil
}

// checkResult wants the result's variables as loops in storage order, with no reduction around the assignment.
func checkResult(s *cin.Assign, bound []index.Var) error {
	f := s.LHS.Tensor.Format
	var want []index.Var
	for _, m := range f.ModeOrder {
		want = append(want, s.LHS.Vars[m])
	}
	var loops []index.Var
	for _, v := range bound {
		if !slices.Contains(loops, v) {
			loops = append(loops, v)
		}
	}
	groups := f.Groups()
	if tail := groups[len(groups)-1].Last; tail < f.Order()-1 {
		// Blocks of a dense tail may be reduced into, and in any order.
		loops, want = loops[:min(len(loops), tail+1)], want[:tail+1]
	}
	if !slices.Equal(loops, want) {
		return diag.Errorf(diag.Unsupported, "the loops %v can't append to %s in format %q; a workspace is needed", bound, s.LHS, f)
	}
	return nil
}
