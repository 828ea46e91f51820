package ir

// Together is m with loops in lanes rewritten that are unrolled around other loops, and that Across has left: as many iterations as they are unrolled
// by run at once, so that what they share is loaded once, and sums don't wait for each other. They need the same loops inside, as rows of a block in
// BSR have; the last iterations, where they are fewer, run one after the other, and so do loops that can't be rewritten. (This is unrolling an outer
// loop and jamming the copies of its body.)
func Together(m *Module) *Module {
	return rewriteLoops(m, grouped, func(s *For, names *Builder) Stmt {
		if !grouped(s) {
			return s
		}
		serial := *s
		serial.Kind, serial.Unroll = Serial, 0
		first, end := names.Index(s.Var.Name+"_first"), names.Index(s.Var.Name+"_end")
		c := &copier{names: names, values: make([]map[string]Expr, s.Unroll), arrays: make([]map[string]*Array, s.Unroll), ok: true}
		for q := range c.values {
			c.values[q] = map[string]Expr{s.Var.Name: Add(first, Const(int64(q)))}
			c.arrays[q] = map[string]*Array{}
		}
		jammed := c.stmts(s.Body.Stmts)
		if !c.ok || s.Step != 1 {
			return &serial
		}
		serial.Lo, serial.Hi = first, end
		whole := Is(Sub(end, first), Eq, Const(s.Unroll))
		return Do(Let(first, s.Lo), Let(end, s.Hi), &If{Cond: whole, Then: Do(jammed...), Else: Do(&serial)})
	})
}

// copier writes the statements of several iterations side by side. Variables and arrays that an iteration has of its own are values and arrays
// of the copy; loops are shared. ok is false once a statement can't be written so.
type copier struct {
	names  *Builder
	values []map[string]Expr
	arrays []map[string]*Array
	ok     bool
}

func (c *copier) stmts(list []Stmt) (out []Stmt) {
	for _, s := range list {
		out = append(out, c.stmt(s)...)
	}
	return out
}

func (c *copier) stmt(s Stmt) []Stmt {
	switch s := s.(type) {
	case *Comment:
		return []Stmt{s}
	case *Alloc:
		return c.alloc(s)
	case *Decl:
		return c.decl(s)
	case *Assign:
		return c.assign(s)
	case *Store:
		return c.store(s)
	case *Prefetch:
		return []Stmt{&Prefetch{Array: s.Array, Index: c.shared(s.Index), Count: s.Count}}
	case *For:
		return []Stmt{c.loop(s)}
	case *If:
		return []Stmt{c.branch(s)}
	default:
		c.ok = false
		return nil
	}
}

func (c *copier) alloc(s *Alloc) (out []Stmt) {
	c.ok = c.ok && s.OnStack()
	for q := range c.values {
		a := c.names.Array(s.Array.Name, s.Array.Elem)
		c.arrays[q][s.Array.Name] = a
		out = append(out, &Alloc{Array: a, Size: s.Size, Zero: s.Zero})
	}
	return out
}

func (c *copier) assign(s *Assign) (out []Stmt) {
	for q := range c.values {
		v, own := c.values[q][s.Var.Name].(*Var)
		c.ok = c.ok && own
		out = append(out, &Assign{Var: v, Reduce: s.Reduce, Value: c.copied(q, s.Value)})
	}
	return out
}

func (c *copier) store(s *Store) (out []Stmt) {
	c.ok = c.ok && !s.Atomic
	for q := range c.values {
		a := s.Array
		if own := c.arrays[q][a.Name]; own != nil {
			a = own
		}
		out = append(out, &Store{Array: a, Index: c.copied(q, s.Index), Reduce: s.Reduce, Value: c.copied(q, s.Value), Lanes: s.Lanes})
	}
	return out
}

func (c *copier) loop(s *For) Stmt {
	c.ok = c.ok && s.Kind != Shared
	loop := *s
	loop.Lo, loop.Hi, loop.Var = c.shared(s.Lo), c.shared(s.Hi), c.names.Index(s.Var.Name)
	c.rename(s.Var.Name, loop.Var)
	loop.Body = Do(c.stmts(s.Body.Stmts)...)
	return &loop
}

func (c *copier) branch(s *If) Stmt {
	branch := &If{Cond: c.shared(s.Cond), Then: Do(c.stmts(s.Then.Stmts)...)}
	if other, ok := s.Else.(*Block); ok {
		branch.Else = Do(c.stmts(other.Stmts)...)
	} else {
		c.ok = c.ok && s.Else == nil
	}
	return branch
}

// decl is the declarations of a variable: one where all iterations give it the same value.
func (c *copier) decl(s *Decl) (out []Stmt) {
	if s.Const && !c.depends(s.Init) {
		v := &Var{Name: c.names.Fresh(s.Var.Name), T: s.Var.T}
		init := c.copied(0, s.Init)
		c.rename(s.Var.Name, v)
		return []Stmt{&Decl{Var: v, Init: init, Const: true}}
	}
	for q := range c.values {
		v := &Var{Name: c.names.Fresh(s.Var.Name), T: s.Var.T}
		out = append(out, &Decl{Var: v, Init: c.copied(q, s.Init), Const: s.Const})
		c.values[q][s.Var.Name] = v
	}
	return out
}

// rename has all iterations share a variable.
func (c *copier) rename(name string, v *Var) {
	for q := range c.values {
		c.values[q][name] = v
	}
}

// depends reports whether iterations differ in the value of e.
func (c *copier) depends(e Expr) bool {
	found := false
	EachExpr(e, func(e Expr) {
		switch e := e.(type) {
		case *Var:
			found = found || c.values[0][e.Name] != nil && c.values[0][e.Name] != c.values[1][e.Name]
		case *Load:
			found = found || c.arrays[0][e.Array.Name] != nil
		}
	})
	return found
}

// shared is e in all iterations, which don't differ in its value.
func (c *copier) shared(e Expr) Expr {
	c.ok = c.ok && !c.depends(e)
	return c.copied(0, e)
}

// copied is e in iteration q.
func (c *copier) copied(q int, e Expr) Expr {
	return SimplifyExpr(MapExpr(e, func(e Expr) Expr {
		switch e := e.(type) {
		case *Var:
			if value := c.values[q][e.Name]; value != nil {
				return value
			}
		case *Load:
			if own := c.arrays[q][e.Array.Name]; own != nil {
				return &Load{Array: own, Index: e.Index, Lanes: e.Lanes}
			}
		}
		return e
	}))
}
