package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Segments is m with loops over segments of positions that follow each other made one loop, where nothing depends on the segment: counting the
// entries of each column, or adding them up, doesn't wait for the ends of short rows then, which no processor foresees. Iterations and their
// order stay. A loop that adds up the lengths of such segments is the difference of the ends of all.
func Segments(m *Module) *Module {
	wanted := func(s *For) bool { return joined(s) != Stmt(s) }
	return rewriteLoops(m, wanted, func(s *For, _ *Builder) Stmt { return joined(s) })
}

// joined is one loop over all positions in the segments that s visits, if it visits any: where it doesn't, its bounds may be anywhere. Else it is s.
func joined(s *For) Stmt {
	if len(s.Body.Stmts) != 1 || !plain(s) {
		return s
	}
	if sum, ok := s.Body.Stmts[0].(*Assign); ok {
		return summedLengths(s, sum)
	}
	inner, ok := s.Body.Stmts[0].(*For)
	if !ok || !plain(inner) || !followEach(s, inner.Lo, inner.Hi) || !independent(s, inner) {
		return s
	}
	one := *inner
	one.Lo = replaceVars(inner.Lo, map[string]Expr{s.Var.Name: s.Lo})
	one.Hi = replaceVars(inner.Lo, map[string]Expr{s.Var.Name: s.Hi})
	return ifAny(s, &one)
}

// ifAny is what stands for all iterations of s, where there are some.
func ifAny(s *For, all Stmt) Stmt {
	if isLiteralZero(s.Lo) {
		return all
	}
	return &If{Cond: &Compare{Op: Lt, X: s.Lo, Y: s.Hi}, Then: &Block{Stmts: []Stmt{all}}}
}

// summedLengths is the sum that s makes of the lengths of segments without a loop, if s makes such a sum; else it is s.
func summedLengths(s *For, sum *Assign) Stmt {
	total, ok := lengthOfAll(s, sum.Value)
	if !ok || sum.Reduce != dtype.Add || uses(sum.Value, sum.Var) || uses(s.Lo, sum.Var) || uses(s.Hi, sum.Var) {
		return s
	}
	return ifAny(s, Increase(sum.Var, total))
}

// lengthOfAll is the sum of an expression over the iterations of s, if it adds up lengths of segments.
func lengthOfAll(s *For, e Expr) (total Expr, ok bool) {
	b, ok := e.(*Binary)
	if !ok {
		return nil, false
	}
	switch b.Op {
	case dtype.Add:
		x, ok := lengthOfAll(s, b.X)
		if !ok {
			return nil, false
		}
		y, ok := lengthOfAll(s, b.Y)
		if !ok {
			return nil, false
		}
		return Add(x, y), true
	case dtype.Sub:
		at := func(bound Expr) Expr { return replaceVars(b.Y, map[string]Expr{s.Var.Name: bound}) }
		return Sub(at(s.Hi), at(s.Lo)), followEach(s, b.Y, b.X)
	default:
		return nil, false
	}
}

// plain reports whether iterations of a loop run one after the other, as they are.
func plain(s *For) bool { return s.Kind == Serial && s.Step == 1 && s.Unroll < 2 && !s.Ends }

// followEach reports whether the segment from lo to hi of an iteration of s begins where that of the iteration before ends: at positions, which ascend.
func followEach(s *For, lo, hi Expr) bool {
	looked := false
	for e := lo; ; {
		switch x := e.(type) {
		case *Cast:
			e = x.X
		case *Load:
			looked, e = true, x.Index
		default:
			v, ok := e.(*Var)
			next := replaceVars(lo, map[string]Expr{s.Var.Name: Next(s.Var)})
			return looked && ok && v.Name == s.Var.Name && ExprText(next) == ExprText(hi)
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
