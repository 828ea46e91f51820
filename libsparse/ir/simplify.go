package ir

import "libsparse/libsparse/dtype"

// Simplify is m with constants folded and with statements dropped that have no effect. It never changes the order or
// the number of floating operations on values, and drops loads whatever their index.
func Simplify(m *Module) *Module {
	out := make(map[string]bool)
	for _, s := range m.Slots {
		if s.Out {
			out[s.Var.Name] = true
		}
	}
	return mapFuncs(m, func(f *Func) *Block {
		body := simplifyBlock(f.Body)
		for {
			next := dropUnused(body, out)
			if next == nil {
				return body
			}
			body = simplifyBlock(next)
		}
	})
}

func simplifyBlock(b *Block) *Block {
	return MapStmt(b, simplifyNode, simplifyStmt).(*Block)
}

// simplifyStmt simplifies one statement whose parts are simple already. A statement without effect becomes an empty
// block.
func simplifyStmt(s Stmt) Stmt {
	switch s := s.(type) {
	case *Block:
		return flatten(s)
	case *If:
		return simplifyIf(s)
	case *For:
		return simplifyFor(s)
	case *While:
		if c, ok := s.Cond.(*Int); ok && c.Value == 0 {
			return &Block{}
		}
	case *Parallel:
		if empty(s.Body) {
			return &Block{}
		}
	}
	return s
}

// empty reports whether s does nothing.
func empty(s Stmt) bool {
	switch s := s.(type) {
	case *Comment:
		return true
	case *Block:
		for _, t := range s.Stmts {
			if !empty(t) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// flatten inlines the blocks in b that declare nothing b itself declares, and drops comments that introduce nothing.
func flatten(b *Block) *Block {
	taken := map[string]int{}
	for _, s := range b.Stmts {
		for _, n := range declared(s) {
			taken[n]++
		}
	}
	var out []Stmt
	for _, s := range b.Stmts {
		inner, ok := s.(*Block)
		switch {
		case !ok:
			out = append(out, s)
		case empty(inner):
		case clashes(inner, taken):
			out = append(out, s)
		default:
			for _, t := range inner.Stmts {
				for _, n := range declared(t) {
					taken[n]++
				}
			}
			out = append(out, inner.Stmts...)
		}
	}
	for len(out) > 0 && empty(out[len(out)-1]) {
		out = out[:len(out)-1]
	}
	return &Block{Stmts: out}
}

// declared are the names that s brings into the block it stands in.
func declared(s Stmt) []string {
	switch s := s.(type) {
	case *Decl:
		return []string{s.Var.Name}
	case *Alloc:
		return []string{s.Array.Name}
	default:
		return nil
	}
}

func clashes(b *Block, taken map[string]int) bool {
	for _, s := range b.Stmts {
		for _, n := range declared(s) {
			if taken[n] > 0 {
				return true
			}
		}
	}
	return false
}

func simplifyIf(s *If) Stmt {
	if c, ok := s.Cond.(*Int); ok {
		switch {
		case c.Value != 0:
			return s.Then
		case s.Else != nil:
			return s.Else
		default:
			return &Block{}
		}
	}
	rest := s.Else
	if rest != nil && empty(rest) {
		rest = nil
	}
	if !empty(s.Then) {
		return &If{Cond: s.Cond, Then: s.Then, Else: rest}
	}
	if rest == nil {
		return &Block{}
	}
	if opposite := negated(s.Cond); opposite != nil {
		if b, ok := rest.(*Block); ok {
			return &If{Cond: opposite, Then: b}
		}
	}
	return &If{Cond: s.Cond, Then: s.Then, Else: rest}
}

func simplifyFor(s *For) Stmt {
	if empty(s.Body) {
		return &Block{}
	}
	if p, ok := s.Lo.(*Var); ok && s.Kind != Shared && s.Step == 1 && follows(s.Hi, p) && !sets(s.Body, p) {
		return simplifyBlock(substitute(s.Body, s.Var, p)) // the one entry of a position
	}
	lo, ok := s.Lo.(*Int)
	hi, okHi := s.Hi.(*Int)
	if !ok || !okHi {
		return s
	}
	switch {
	case lo.Value >= hi.Value:
		return &Block{}
	case s.Kind != Shared && hi.Value-lo.Value <= s.Step:
		return simplifyBlock(substitute(s.Body, s.Var, &Int{Value: lo.Value, T: s.Var.T.Elem}))
	default:
		return s
	}
}

// follows reports whether e is the integer variable v and one.
func follows(e Expr, v *Var) bool {
	sum, ok := e.(*Binary)
	if !ok || sum.Op != dtype.Add || !sameInteger(v, sum.X) {
		return false
	}
	one, ok := sum.Y.(*Int)
	return ok && one.Value == 1
}

// sets reports whether a statement of b changes v.
func sets(b *Block, v *Var) (found bool) {
	EachStmt(b, func(s Stmt) {
		w := SetBy(s)
		found = found || w != nil && w.Name == v.Name
	})
	return found
}

// substitute is b with every use of v replaced by x.
func substitute(b *Block, v *Var, x Expr) *Block {
	onExpr := func(e Expr) Expr {
		if w, ok := e.(*Var); ok && w.Name == v.Name {
			return x
		}
		return e
	}
	return MapStmt(b, onExpr, func(s Stmt) Stmt { return s }).(*Block)
}

// dropUnused is b without the variables that nothing reads, or nil if there are none. keep are names that are read
// after the function.
func dropUnused(b *Block, keep map[string]bool) *Block {
	read := map[string]bool{}
	EachStmt(b, func(s Stmt) {
		for _, e := range Exprs(s) {
			EachExpr(e, func(e Expr) {
				if v, ok := e.(*Var); ok {
					read[v.Name] = true
				}
			})
		}
		switch s.(type) {
		case *Assign, *ListPlaces:
			return
		}
		if v := SetBy(s); v != nil { // the statement does more than to set it
			read[v.Name] = true
		}
	})
	dropped := false
	drop := func(s Stmt) Stmt {
		var v *Var
		switch s := s.(type) {
		case *Decl:
			v = s.Var
		case *Assign:
			v = s.Var
		case *ListPlaces:
			if s.Count != nil && !read[s.Count.Name] && !keep[s.Count.Name] {
				list := *s
				list.Count, dropped = nil, true
				return &list
			}
		}
		if v == nil || read[v.Name] || keep[v.Name] {
			return s
		}
		dropped = true
		return &Block{}
	}
	out := MapStmt(b, func(e Expr) Expr { return e }, drop).(*Block)
	if !dropped {
		return nil
	}
	return out
}
