package ir

import "slices"

// Segments is m with loops over segments of positions that follow each other made one loop, where nothing depends on the segment: counting the
// entries of each column, or adding them up, doesn't wait for the ends of short rows then, which no processor foresees. Iterations and their
// order stay.
func Segments(m *Module) *Module {
	wanted := func(s *For) bool { return joined(s) != Stmt(s) }
	return rewriteLoops(m, wanted, func(s *For, _ *Builder) Stmt { return joined(s) })
}

// joined is one loop over all positions in the segments that s visits, if it visits any: where it doesn't, its bounds may be anywhere. Else it is s.
func joined(s *For) Stmt {
	if len(s.Body.Stmts) != 1 || !plain(s) {
		return s
	}
	inner, ok := s.Body.Stmts[0].(*For)
	if !ok || !plain(inner) || !followEach(s, inner) || !independent(s, inner) {
		return s
	}
	one := *inner
	one.Lo = replaceVars(inner.Lo, map[string]Expr{s.Var.Name: s.Lo})
	one.Hi = replaceVars(inner.Lo, map[string]Expr{s.Var.Name: s.Hi})
	if isLiteralZero(s.Lo) {
		return &one
	}
	return &If{Cond: &Compare{Op: Lt, X: s.Lo, Y: s.Hi}, Then: &Block{Stmts: []Stmt{&one}}}
}

// plain reports whether iterations of a loop run one after the other, as they are.
func plain(s *For) bool { return s.Kind == Serial && s.Step == 1 && s.Unroll < 2 && !s.Ends }

// followEach reports whether the segment of an iteration of s begins where that of the iteration before ends: at positions, which ascend.
func followEach(s, inner *For) bool {
	looked := false
	for e := inner.Lo; ; {
		switch x := e.(type) {
		case *Cast:
			e = x.X
		case *Load:
			looked, e = true, x.Index
		default:
			v, ok := e.(*Var)
			next := replaceVars(inner.Lo, map[string]Expr{s.Var.Name: Next(s.Var)})
			return looked && ok && v.Name == s.Var.Name && ExprText(next) == ExprText(inner.Hi)
		}
	}
}

// independent reports whether the body of inner reads nothing that tells segments apart, and changes nothing that the bounds of both loops are
// made of.
func independent(s, inner *For) bool {
	free, changed := true, []string{}
	EachStmt(inner.Body, func(t Stmt) {
		free = free && !slices.ContainsFunc(Exprs(t), func(e Expr) bool { return uses(e, s.Var) })
		changed = append(changed, written(t)...)
	})
	for _, bound := range []Expr{s.Lo, s.Hi, inner.Lo} {
		EachExpr(bound, func(e Expr) {
			switch e := e.(type) {
			case *Var:
				free = free && !slices.Contains(changed, e.Name)
			case *Load:
				free = free && !slices.Contains(changed, e.Array.Name)
			}
		})
	}
	return free
}
