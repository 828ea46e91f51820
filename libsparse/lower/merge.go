package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// cursor is an iterator on its way through a merge.
type cursor struct {
	it       lattice.Iterator
	pos, end *ir.Var
	// coord is the coordinate under the cursor, run the end of the positions that hold it.
	coord, run ir.Expr
}

func (l *lowerer) cursors(lat lattice.Lattice, v index.Var, e env) (cs []*cursor, decls []ir.Stmt) {
	for _, it := range lat.Iterators() {
		before, r := l.narrowed(it, v, e)
		decls = append(decls, before...)
		c := &cursor{it: it, pos: l.positionVar(it, ""), end: l.positionVar(it, "_end")}
		decls = append(decls, ir.Declare(c.pos, r.Lo), ir.Let(c.end, r.Hi))
		decls = append(decls, l.skip(c, e)...)
		cs = append(cs, c)
	}
	return cs, decls
}

func (c *cursor) valid() ir.Expr { return ir.Is(c.pos, ir.Lt, c.end) }

// skip moves a cursor to the next position that is in use.
func (l *lowerer) skip(c *cursor, e env) []ir.Stmt {
	valid := l.valid(c.it, c.pos, e)
	if valid == nil {
		return nil
	}
	unused := &ir.Compare{Op: ir.Eq, X: &ir.Cast{X: valid, To: dtype.I64}, Y: ir.Const(0)}
	return []ir.Stmt{ir.Repeat(ir.All(c.valid(), unused), ir.Increment(c.pos))}
}

// at picks the cursors of a point.
func at(cs []*cursor, p lattice.Point) []*cursor {
	var out []*cursor
	for _, c := range cs {
		if p.Has(c.it.Key) {
			out = append(out, c)
		}
	}
	return out
}

// merge walks several levels together, one loop for each point of the lattice.
func (l *lowerer) merge(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	cs, out := l.cursors(lat, f.Var, e)
	loops := 0
	for _, p := range lat.Points {
		if s := l.mergeAt(f, lat, p, at(cs, p), e); s != nil {
			out = append(out, s)
			loops++
		}
	}
	if loops == 0 {
		return l.nothing()
	}
	return out
}

func (l *lowerer) mergeAt(f *cin.Forall, lat lattice.Lattice, p lattice.Point, cs []*cursor, e env) ir.Stmt {
	name := e.called(f.Var)
	v := l.Index(string(name))
	inner := e.clone()
	inner.partial = true
	inner.settle(f.Var, v)
	var body, advance []ir.Stmt
	var valid []ir.Expr
	for _, c := range cs {
		valid = append(valid, c.valid())
	}
	gallops, first := l.gallops(f, lat, cs, e), dtype.Min
	if gallops {
		first = dtype.Max
	}
	if len(cs) == 1 {
		body = append(body, ir.Let(v, l.coordinate(cs[0].it, cs[0].pos, e)))
		cs[0].coord = v
	} else {
		visited := ir.Expr(nil)
		for _, c := range cs {
			x := l.Index(string(name) + c.it.Access.Tensor.Owner().Name)
			body = append(body, ir.Let(x, l.coordinate(c.it, c.pos, e)))
			c.coord = x
			if visited == nil {
				visited = x
			} else {
				visited = ir.Apply(first, visited, x)
			}
		}
		body = append(body, ir.Let(v, visited))
	}
	for _, c := range cs {
		if gallops {
			c.run = ir.Next(c.pos)
			continue
		}
		stmts, next := l.run(c, v, len(cs) == 1, e)
		body = append(body, stmts...)
		advance = append(append(advance, ir.Set(c.pos, next)), l.skip(c, e)...)
	}
	if gallops {
		advance = l.gallop(cs, v, e)
	}
	cases := l.cases(f, lat.Below(p), cs, v, inner)
	if cases == nil {
		return nil
	}
	body = append(append(body, cases), advance...)
	return ir.Repeat(ir.All(valid...), body...)
}

// run finds the end of the positions that hold coordinate v, so that a repeated coordinate is visited once; the second
// result is where the cursor goes from here.
func (l *lowerer) run(c *cursor, v *ir.Var, alone bool, e env) ([]ir.Stmt, ir.Expr) {
	if unique(c.it) {
		c.run = ir.Next(c.pos)
		if alone {
			return nil, c.run
		}
		step := &ir.Cast{X: ir.Is(c.coord, ir.Eq, v), To: dtype.I64}
		return nil, ir.Add(c.pos, step)
	}
	end := l.positionVar(c.it, "_run")
	c.run = end
	return []ir.Stmt{
		ir.Declare(end, c.pos),
		&ir.While{
			Cond: ir.All(l.same(c, end, v, e)...),
			Body: ir.Do(ir.Increment(end)),
		},
	}, end
}

// same says that a cursor has coordinate v at a position too. Between two coordinates of a window there may be others.
func (l *lowerer) same(c *cursor, at, v ir.Expr, e env) []ir.Expr {
	conds := []ir.Expr{ir.Is(at, ir.Lt, c.end)}
	if valid := l.valid(c.it, at, e); valid != nil && !unique(c.it) {
		conds = append(conds, valid)
	}
	return append(conds, ir.Is(l.coordinate(c.it, at, e), ir.Eq, v))
}

// cases chooses among the points by which cursors stand at v.
func (l *lowerer) cases(f *cin.Forall, points []lattice.Point, cs []*cursor, v *ir.Var, e env) ir.Stmt {
	var out choice
	for _, p := range points {
		inner := e.clone()
		var conds []ir.Expr
		for _, c := range at(cs, p) {
			inner.pos[c.it.Key] = l.place(c.it, c.pos, c.run, e)
			if len(cs) > 1 {
				conds = append(conds, ir.Is(c.coord, ir.Eq, v))
			}
		}
		out.add(conds, l.visitAt(f, p, inner))
	}
	return out.stmt()
}

// visitAt is the body of the loop f at a point of its lattice.
func (l *lowerer) visitAt(f *cin.Forall, p lattice.Point, e env) []ir.Stmt {
	body := restrict(f.Body, f.Var, p, e)
	switch {
	case body == nil:
		return nil
	case len(p.Located) > 0:
		return l.find(f.With(body), lattice.Build(cin.Value(body), f.Var), e)
	default:
		return l.visit(f, body, e)
	}
}

// choice is a chain of branches. Those that do nothing stay where one that does something follows: they keep it from
// running.
type choice struct {
	branches []*ir.If
	last     *ir.Block // without a condition
}

func (c *choice) add(conds []ir.Expr, stmts []ir.Stmt) {
	switch {
	case c.last != nil:
	case len(conds) == 0:
		c.last = ir.Do(stmts...)
	default:
		c.branches = append(c.branches, ir.When(ir.All(conds...), stmts...))
	}
}

// stmt is the chain, nil if it does nothing.
func (c *choice) stmt() ir.Stmt {
	var chain ir.Stmt
	if c.last != nil && len(c.last.Stmts) > 0 {
		chain = c.last
	}
	for _, b := range slices.Backward(c.branches) {
		if chain == nil && len(b.Then.Stmts) == 0 {
			continue
		}
		if len(b.Then.Stmts) == 0 {
			b.Then = ir.Do(&ir.Comment{Text: "no value where all of these are stored"})
		}
		b.Else = chain
		chain = b
	}
	return chain
}

// matchAll visits every coordinate and matches what is stored against it.
func (l *lowerer) matchAll(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	cs, out := l.cursors(lat, f.Var, e)
	r := l.window(f.Var, e)
	inner := e.clone()
	v := inner.enter(l, f.Var, r)
	var before, advance []ir.Stmt
	for _, c := range cs {
		before = append(before, l.match(c, inner.coord[f.Var], e)...)
		advance = append(append(advance, ir.Set(c.pos, c.run)), l.skip(c, e)...)
	}
	cases := l.matched(f, lat, cs, inner)
	if cases == nil {
		return l.nothing()
	}
	body := append(append(before, cases), advance...)
	return append(out, ir.Count(v, r.count, body...))
}

// match sets the run of a cursor to what it holds of coordinate v, perhaps nothing.
func (l *lowerer) match(c *cursor, v ir.Expr, e env) []ir.Stmt {
	end := l.positionVar(c.it, "_run")
	c.run = end
	here := ir.All(l.same(c, end, v, e)...)
	if unique(c.it) {
		return []ir.Stmt{ir.Declare(end, c.pos), ir.When(here, ir.Increment(end))}
	}
	return []ir.Stmt{ir.Declare(end, c.pos), ir.Repeat(here, ir.Increment(end))}
}

func (l *lowerer) matched(f *cin.Forall, lat lattice.Lattice, cs []*cursor, e env) ir.Stmt {
	var out choice
	e.partial = e.partial || droppedSomewhere(f, lat, e)
	for _, p := range lat.Points {
		inner := e.clone()
		var conds []ir.Expr
		for _, c := range at(cs, p) {
			inner.pos[c.it.Key] = l.place(c.it, c.pos, c.run, e)
			conds = append(conds, ir.Is(c.run, ir.Gt, c.pos))
		}
		out.add(conds, l.visitAt(f, p, inner))
	}
	return out.stmt()
}

// droppedSomewhere reports whether some coordinate of a full loop does nothing.
func droppedSomewhere(f *cin.Forall, lat lattice.Lattice, e env) bool {
	return slices.ContainsFunc(lat.Points, func(p lattice.Point) bool { return restrict(f.Body, f.Var, p, e) == nil }) ||
		!slices.ContainsFunc(lat.Points, func(p lattice.Point) bool { return len(p.Iterators) == 0 })
}
