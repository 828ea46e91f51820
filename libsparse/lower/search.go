package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Searches: where a window begins and ends in a level that stores its coordinates in order, and where one coordinate is.

// search finds the first of the positions from lo to hi for which below doesn't hold.
func (l *lowerer) search(name string, lo, hi ir.Expr, below func(at ir.Expr) ir.Expr) (stmts []ir.Stmt, found *ir.Var) {
	found = l.Index(name)
	end := l.Index(found.Name + "_above")
	middle := l.Index(found.Name + "_middle")
	half := ir.Div(ir.Sub(end, found), ir.Const(2))
	return []ir.Stmt{
		ir.Declare(found, lo), ir.Declare(end, hi),
		&ir.While{Cond: ir.Is(found, ir.Lt, end), Body: ir.Do(
			ir.Let(middle, ir.Add(found, half)),
			&ir.If{Cond: below(middle), Then: ir.Do(ir.Set(found, ir.Next(middle))), Else: ir.Do(ir.Set(end, middle))},
		)},
	}, found
}

// narrowed is the range of positions that an iterator walks here: its children in the window of v.
func (l *lowerer) narrowed(it lattice.Iterator, v index.Var, e env) (pre []ir.Stmt, r format.Range) {
	w, ok := e.space[v]
	if !ok {
		return nil, l.children(it, e)
	}
	if kind := it.Access.Tensor.Format.Levels[it.Level]; kind.Props().Locate {
		store, parent := l.storage(it.Access, it.Level, e), l.position(it.Access, it.Level-1, e).Lo
		at := func(x ir.Expr) ir.Expr { return kind.Locate(store, parent, x) }
		return nil, format.Range{Lo: at(w.start), Hi: at(ir.Add(w.start, w.count))}
	}
	r = l.children(it, e)
	if first, ok := w.start.(*ir.Int); !ok || first.Value != 0 {
		stmts, begin := l.search(l.positionName(it)+"_begin", r.Lo, r.Hi, l.before(it, w.start, e))
		pre, r.Lo = append(pre, stmts...), begin
	}
	stmts, end := l.search(l.positionName(it)+"_stop", r.Lo, r.Hi, l.before(it, ir.Add(w.start, w.count), e))
	return append(pre, stmts...), format.Range{Lo: r.Lo, Hi: end}
}

// before says whether the coordinate of an iterator at a position is smaller than x.
func (l *lowerer) before(it lattice.Iterator, x ir.Expr, e env) func(ir.Expr) ir.Expr {
	return func(at ir.Expr) ir.Expr { return ir.Is(l.coordinate(it, at, e), ir.Lt, x) }
}

// located lowers the loop over a variable whose value is known: each level that stores it is searched.
func (l *lowerer) located(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	inner := e.clone()
	var out []ir.Stmt
	var cs []*cursor
	for _, it := range lat.Iterators() {
		if _, ok := e.pos[it.Key]; !ok {
			stmts, c := l.locate(it, e.coord[f.Var], e)
			out, cs = append(out, stmts...), append(cs, c)
			continue
		}
		inner.partial = inner.partial || !l.coversResult(it)
		lat.Points = having(lat.Points, it.Key)
	}
	var body ir.Stmt
	if len(cs) == 0 {
		rest := restrict(f.Body, f.Var, lat.Points[0], inner)
		if rest == nil {
			return nil
		}
		return l.visit(f, rest, inner)
	}
	if body = l.matched(f, lat, cs, inner); body == nil {
		return nil
	}
	return append(out, body)
}

// find lowers the body of f at a coordinate: the levels of lat that are not walked are asked for it.
func (l *lowerer) find(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	var out []ir.Stmt
	var cs []*cursor
	for _, it := range lat.Iterators() {
		if _, walked := e.pos[it.Key]; !walked {
			stmts, c := l.locate(it, e.coord[f.Var], e)
			out, cs = append(out, stmts...), append(cs, c)
		}
	}
	body := l.matched(f, lat, cs, e)
	if body == nil {
		return nil
	}
	return append(out, body)
}

// having are the points that have the iterator called key.
func having(points []lattice.Point, key string) []lattice.Point {
	var out []lattice.Point
	for _, p := range points {
		if p.Has(key) {
			out = append(out, p)
		}
	}
	return out
}

// locate sets a cursor to what is stored of coordinate x, perhaps nothing.
func (l *lowerer) locate(it lattice.Iterator, x ir.Expr, e env) ([]ir.Stmt, *cursor) {
	c := &cursor{it: it, coord: x}
	if kind := it.Access.Tensor.Format.Levels[it.Level]; kind.Props().Locate {
		c.pos = l.positionVar(it, "")
		at := kind.Locate(l.storage(it.Access, it.Level, e), l.position(it.Access, it.Level-1, e).Lo, coordOf(it.Access, it.Level, e))
		run := l.positionVar(it, "_run")
		c.run = run
		return []ir.Stmt{ir.Let(c.pos, at), ir.Let(run, ir.Add(c.pos, &ir.Cast{X: l.valid(it, c.pos, e), To: dtype.I64}))}, c
	}
	if l.probes(it) {
		return l.probe(c, e)
	}
	r := l.children(it, e)
	c.end = l.positionVar(it, "_end")
	pre := []ir.Stmt{ir.Let(c.end, r.Hi)}
	stmts, pos := l.search(l.positionName(it), r.Lo, c.end, l.before(it, x, e))
	c.pos = pos
	pre = append(pre, stmts...)
	return append(pre, l.match(c, x, e)...), c
}

func (l *lowerer) probes(it lattice.Iterator) bool {
	return it.Access.Tensor.Format.Levels[it.Level].Props().Probe
}

// probe sets a cursor to the place of the current coordinate, where it has one, by looking where the level says.
func (l *lowerer) probe(c *cursor, e env) ([]ir.Stmt, *cursor) {
	it := c.it
	kind, store, parent := it.Access.Tensor.Format.Levels[it.Level], l.storage(it.Access, it.Level, e), l.position(it.Access, it.Level-1, e)
	x := coordOf(it.Access, it.Level, e)
	places := kind.Children(store, parent)
	c.pos, c.end = l.positionVar(it, ""), l.positionVar(it, "_end")
	begin, run := l.positionVar(it, "_begin"), l.positionVar(it, "_run")
	c.run = run
	first, next := kind.(format.Prober).Probes(format.Range{Lo: begin, Hi: c.end}, x)
	some := ir.Is(begin, ir.Lt, c.end)
	used := kind.Valid(store, parent, c.pos)
	here := kind.Coord(store, parent, c.pos)
	found := ir.Is(some, ir.LogAnd, ir.Is(here, ir.Eq, x))
	return []ir.Stmt{
		ir.Let(begin, places.Lo), ir.Let(c.end, places.Hi), ir.Declare(c.pos, first),
		&ir.While{
			Cond: ir.All(some, used, ir.Is(here, ir.Ne, x)),
			Body: ir.Do(ir.Set(c.pos, next(c.pos))),
		},
		ir.Let(run, ir.Add(c.pos, &ir.Cast{X: found, To: dtype.I64})),
	}, c
}
