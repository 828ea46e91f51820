package ir

import "slices"

// Hoist is m with stores of a constant to a place that doesn't depend on the loop around them moved before it: a loop that
// says of each of its elements that their row is there says so once. Loops over other statements can be vectorized then, and
// loops over nothing else disappear.
func Hoist(m *Module) *Module {
	marked := func(s *For) bool {
		return s.Kind != Shared && slices.ContainsFunc(s.Body.Stmts, func(t Stmt) bool { return isMark(t, s) })
	}
	return rewriteLoops(m, marked, func(s *For, _ *Builder) Stmt {
		if s.Kind == Shared {
			return s
		}
		return hoistLoop(s)
	})
}

// hoistLoop moves marks before a loop, for the case that it runs at all.
func hoistLoop(s *For) Stmt {
	var marks, rest []Stmt
	for _, t := range s.Body.Stmts {
		if isMark(t, s) {
			marks = append(marks, t)
		} else {
			rest = append(rest, t)
		}
	}
	if len(marks) == 0 {
		return s
	}
	loop := *s
	loop.Body = &Block{Stmts: rest}
	runs := &If{Cond: &Compare{Op: Lt, X: s.Lo, Y: s.Hi}, Then: &Block{Stmts: marks}}
	return simplifyBlock(&Block{Stmts: []Stmt{runs, &loop}})
}

// isMark reports whether t does the same in every iteration of s, and nothing else there has to do with it.
func isMark(t Stmt, s *For) bool {
	switch t := t.(type) {
	case *Assign:
		_, constant := t.Value.(*Int)
		return constant && t.Reduce == "" && !mentions(s, t, t.Var.Name)
	case *Store:
		_, constant := t.Value.(*Int)
		return constant && t.Reduce == "" && !t.Atomic && !mentions(s, t, t.Array.Name) && invariant(s, t.Index)
	case *If: // marks of an inner loop
		return t.Else == nil && invariant(s, t.Cond) && !slices.ContainsFunc(t.Then.Stmts, func(u Stmt) bool { return !isMark(u, s) })
	default:
		return false
	}
}

// mentions reports whether a statement of s other than t reads or writes a variable or array.
func mentions(s *For, t Stmt, name string) bool {
	found := false
	EachStmt(s.Body, func(other Stmt) {
		if other == t {
			return
		}
		found = found || slices.Contains(written(other), name)
		for _, e := range Exprs(other) {
			EachExpr(e, func(e Expr) {
				switch e := e.(type) {
				case *Var:
					found = found || e.Name == name
				case *Load:
					found = found || e.Array.Name == name
				}
			})
		}
	})
	return found
}

// invariant reports whether e is made of variables that s doesn't change.
func invariant(s *For, e Expr) bool {
	changed := written(s)
	EachStmt(s.Body, func(t Stmt) { changed = append(changed, written(t)...) })
	same := true
	EachExpr(e, func(e Expr) {
		switch e := e.(type) {
		case *Var:
			same = same && !slices.Contains(changed, e.Name)
		case *Load:
			same = false
		}
	})
	return same
}

// written are the variables and arrays that s itself changes.
func written(s Stmt) []string {
	var out []string
	for _, a := range Arrays(s) {
		out = append(out, a.Name)
	}
	switch s := s.(type) {
	case *Decl:
		return append(out, s.Var.Name)
	case *For:
		return append(out, s.Var.Name)
	}
	if v := SetBy(s); v != nil {
		out = append(out, v.Name)
	}
	return out
}
