package cin

import (
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
)

// Legal refuses programs whose loops some format contradicts: a level that is not located in must be walked below
// the levels above it, and a result that is appended to is written in storage order.
func (p *Program) Legal() error { return checkStmt(p, p.Body, nil) }

func checkStmt(p *Program, s Stmt, bound []index.Var) error {
	switch s := s.(type) {
	case *Forall:
		return checkStmt(p, s.Body, append(slices.Clone(bound), s.Var))
	case *Where:
		if err := checkStmt(p, s.Producer, bound); err != nil {
			return err
		}
		return checkStmt(p, s.Consumer, bound)
	case *Assign:
		for _, a := range index.Accesses(s.RHS) {
			if err := checkOrder(p, a, bound); err != nil {
				return err
			}
		}
		if s.LHS.Tensor == p.Source.LHS.Tensor && p.Source.Result().Discovered() && !p.Insert {
			return checkResult(p, s, bound)
		}
		if p.Source.Of(s.LHS.Tensor).SamePattern != nil {
			return checkOrder(p, s.LHS, bound)
		}
		return nil
	default:
		return diag.Errorf(diag.Internal, "concrete index notation: unknown statement %T", s)
	}
}

// begun is when the first part of v is visited, known when v is complete: by loop, and by the order in which a loop that
// completes several variables does.
func begun(p *Program, v index.Var, bound []index.Var) int {
	return ranks * slices.IndexFunc(bound, func(b index.Var) bool { return slices.Contains(p.Roots(b), v) })
}

func known(p *Program, v index.Var, bound []index.Var) int {
	last := -1
	for i, b := range bound {
		if at := slices.Index(p.Roots(b), v); at >= 0 {
			last = ranks*i + at
		}
	}
	return last
}

const ranks = 16 // more than the variables that one loop completes

// checkOrder compares the loops with the levels of one access.
func checkOrder(p *Program, a *index.Access, bound []index.Var) error {
	deepest, f := -1, p.Source.Of(a.Tensor).Format
	for level, kind := range f.Levels {
		v := a.Vars[f.ModeOrder[level]]
		at := known(p, v, bound)
		if !kind.Props().Full && at < deepest {
			return diag.Errorf(diag.Unsupported, "the loops %v contradict the order in which %s in format %q is stored; "+
				"convert it to another format", bound, a, f)
		}
		deepest = max(deepest, at)
		divided := !slices.ContainsFunc(bound, func(b index.Var) bool { return p.Original(b) == v })
		if divided && a.Window(f.ModeOrder[level]) != nil && !kind.Props().Full {
			return diag.Errorf(diag.Unsupported, "%s is a window of stored coordinates, but the loops %v divide %s; take the window first", a, bound, v)
		}
		if p := kind.Props(); p.ConversionOnly && !p.Locate && divided {
			return diag.Errorf(diag.Unsupported, "%s in format %q is walked whole or not at all, but the loops %v divide %s; "+
				"convert it to another format", a, f, bound, v)
		}
	}
	return checkPositions(p, a, bound)
}

// checkPositions refuses loops over parts of positions before the levels above these are known.
func checkPositions(p *Program, a *index.Access, bound []index.Var) error {
	for _, r := range p.Relations {
		pos, ok := r.(*Positions)
		if !ok || pos.Access != a {
			continue
		}
		first := begun(p, p.Roots(pos.Pos)[0], bound)
		for level, m := range p.Source.Of(a.Tensor).Format.ModeOrder[:pos.First] {
			if v := a.Vars[m]; known(p, v, bound) >= first {
				return diag.Errorf(diag.Unsupported, "the loops %v visit positions of %s before %s is known, which level %d stores; "+
					"put the loops over %s first", bound, a, v, level+1, v)
			}
		}
	}
	return nil
}

// checkResult refuses loops that don't append to the result in storage order, or reduce into it.
func checkResult(p *Program, s *Assign, bound []index.Var) error {
	f := p.Source.Result().Format
	loops, want := appended(p, bound), p.Source.Stored(s.LHS)
	if n := p.Source.Result().AppendedLevels(); n < f.Order() {
		// Blocks of a dense tail may be reduced into, and in any order.
		loops, want = loops[:min(len(loops), n)], want[:n]
	}
	if !slices.Equal(loops, want) {
		return diag.Errorf(diag.Unsupported, "the loops %v can't append to %s in format %q; a workspace is needed", bound, s.LHS, f)
	}
	return nil
}

// appended lists the variables that the loops visit in ascending order, each below the ones before it. A variable in parts
// counts where its parts are neighbours, outermost first; a fused one does not.
func appended(p *Program, loops []index.Var) []index.Var {
	var out []index.Var
	bound := loops
	for len(bound) > 0 {
		roots := p.Roots(bound[0])
		leaves := p.Leaves(roots[0], loops)
		shared := slices.ContainsFunc(leaves, func(v index.Var) bool { return len(p.Roots(v)) > 1 })
		if shared || len(roots) > 1 || leaves == nil || len(leaves) > len(bound) || !slices.Equal(leaves, bound[:len(leaves)]) {
			return append(out, bound...)
		}
		out, bound = append(out, roots[0]), bound[len(leaves):]
	}
	return out
}
