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
		ir.Repeat(ir.Is(found, ir.Lt, end),
			ir.Let(middle, ir.Add(found, half)),
			&ir.If{Cond: below(middle), Then: ir.Do(ir.Set(found, ir.Next(middle))), Else: ir.Do(ir.Set(end, middle))},
		),
	}, found
}

// narrowed is the range of steps that an iterator walks here: its children in the window of v.
func (l *lowerer) narrowed(it lattice.Iterator, v index.Var, e env) (pre []ir.Stmt, r format.Range) {
	w, ok := e.span.lookup(v)
	if !ok {
		return nil, l.children(it, e)
	}
	if kind := level(it); kind.Props().Locate {
		store, parent := l.storage(it.Access, it.Level, e), l.position(it.Access, it.Level-1, e).Lo
		return nil, format.Range{Lo: kind.Locate(store, parent, w.start), Hi: kind.Locate(store, parent, ir.Add(w.start, w.count))}
	}
	r = l.children(it, e)
	if first, ok := w.start.(*ir.Int); !ok || first.Value != 0 {
		pre, r.Lo = l.search(positionName(it)+"_begin", r.Lo, r.Hi, l.before(it, w.start, e))
	}
	stmts, end := l.search(positionName(it)+"_stop", r.Lo, r.Hi, l.before(it, ir.Add(w.start, w.count), e))
	return append(pre, stmts...), format.Range{Lo: r.Lo, Hi: end}
}

// before says whether the coordinate of an iterator at a step is smaller than x.
func (l *lowerer) before(it lattice.Iterator, x ir.Expr, e env) func(ir.Expr) ir.Expr {
	return func(at ir.Expr) ir.Expr { return ir.Is(l.coordinate(it, at, e), ir.Lt, x) }
}

// known lowers the loop over a variable whose value is known: each level that stores it is searched.
func (l *lowerer) known(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	inner := e
	out, matches := l.locateAll(f, lat, e)
	for _, it := range lat.Iterators() {
		if _, walked := e.pos.lookup(it.Key); walked {
			inner.partial = inner.partial || !l.coversResult(it)
			lat.Points = having(lat.Points, it.Key)
		}
	}
	if len(matches) > 0 {
		return withBody(out, l.matched(f, lat, matches, inner))
	}
	if rest := restrict(f.Body, f.Var, lat.Points[0], inner); rest != nil {
		return l.visit(f, rest, inner)
	}
	return nil
}

// find lowers the body of f at a coordinate, which is searched in the levels of lat that are not walked.
func (l *lowerer) find(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	out, matches := l.locateAll(f, lat, e)
	return withBody(out, l.matched(f, lat, matches, e))
}

func withBody(before []ir.Stmt, body ir.Stmt) []ir.Stmt {
	if body == nil {
		return nil
	}
	return append(before, body)
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

// locateAll finds the coordinate of f in the levels that are not walked.
func (l *lowerer) locateAll(f *cin.Forall, lat lattice.Lattice, e env) (stmts []ir.Stmt, matches []match) {
	for _, it := range lat.Iterators() {
		if _, walked := e.pos.lookup(it.Key); !walked {
			before, m := l.locate(it, e.coord.get(f.Var), e)
			stmts, matches = append(stmts, before...), append(matches, m)
		}
	}
	return stmts, matches
}

// locate finds what a level stores of coordinate x, perhaps nothing.
func (l *lowerer) locate(it lattice.Iterator, x ir.Expr, e env) ([]ir.Stmt, match) {
	switch kind := level(it); {
	case kind.Props().Locate:
		at := kind.Locate(l.storage(it.Access, it.Level, e), l.position(it.Access, it.Level-1, e).Lo, coordOf(it.Access, it.Level, e))
		pos, run := l.positionVar(it, ""), l.positionVar(it, "_run")
		one := &ir.Cast{X: l.valid(it, pos, e), To: dtype.I64}
		return []ir.Stmt{ir.Let(pos, at), ir.Let(run, ir.Add(pos, one))}, held(it, pos, run)
	case kind.Props().Probe:
		return l.probe(it, e)
	default:
		r := l.children(it, e)
		end := l.positionVar(it, "_end")
		stmts, pos := l.search(positionName(it), r.Lo, end, l.before(it, x, e))
		run, found := l.run(cursor{it: it, pos: pos, end: end}, x, e)
		return append(append([]ir.Stmt{ir.Let(end, r.Hi)}, stmts...), found...), held(it, pos, run)
	}
}

// probe looks for the current coordinate where the level says that it may be.
func (l *lowerer) probe(it lattice.Iterator, e env) ([]ir.Stmt, match) {
	kind, store, parent := level(it), l.storage(it.Access, it.Level, e), l.position(it.Access, it.Level-1, e)
	x := coordOf(it.Access, it.Level, e)
	places := kind.Children(store, parent)
	pos, end := l.positionVar(it, ""), l.positionVar(it, "_end")
	begin, run := l.positionVar(it, "_begin"), l.positionVar(it, "_run")
	first, next := kind.(format.Prober).Probes(format.Range{Lo: begin, Hi: end}, x)
	some := ir.Is(begin, ir.Lt, end)
	used, here := kind.Valid(store, parent, pos), kind.Coord(store, parent, pos)
	found := ir.All(some, ir.Is(here, ir.Eq, x))
	return []ir.Stmt{
		ir.Let(begin, places.Lo), ir.Let(end, places.Hi), ir.Declare(pos, first),
		ir.Repeat(ir.All(some, used, ir.Is(here, ir.Ne, x)), ir.Set(pos, next(pos))),
		ir.Let(run, ir.Add(pos, &ir.Cast{X: found, To: dtype.I64})),
	}, held(it, pos, run)
}
