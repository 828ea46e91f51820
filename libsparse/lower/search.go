package lower

import (
	"slices"

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
	end := ir.Add(w.start, w.count)
	if it.Props().Locate {
		return nil, l.walked(it, e).located(w.start, end)
	}
	r = l.children(it, e)
	if !isZero(w.start) {
		pre, r.Lo = l.search(l.positionName(it)+"_begin", r.Lo, r.Hi, l.before(it, w.start, e))
	}
	stmts, stop := l.search(l.positionName(it)+"_stop", r.Lo, r.Hi, l.before(it, end, e))
	return append(pre, stmts...), format.Range{Lo: r.Lo, Hi: stop}
}

// before says whether the coordinate of an iterator at a step is smaller than x.
func (l *lowerer) before(it lattice.Iterator, x ir.Expr, e env) func(ir.Expr) ir.Expr {
	return func(at ir.Expr) ir.Expr { return ir.Is(l.coordinate(it, at, e), ir.Lt, x) }
}

// known lowers the loop over a variable whose value is known: levels that are walked hold it, others are searched.
func (l *lowerer) known(f *cin.Forall, e env) []ir.Stmt {
	lat, searched := l.lattices.Known(f), false
	for _, it := range lat.Iterators() {
		if _, walked := e.pos.lookup(it.Key); walked {
			e.partial = e.partial || !l.coversResult(it)
			lat.Points = slices.DeleteFunc(slices.Clone(lat.Points), func(p lattice.Point) bool { return !p.Has(it.Key) })
		} else {
			searched = true
		}
	}
	if searched {
		return l.find(f, lat, e)
	}
	if rest := l.restrict(f, lat.Points[0], e); rest != nil {
		return l.visit(f, rest, e)
	}
	return nil
}

// find lowers the body of f at a coordinate, which is searched in the levels that are not walked.
func (l *lowerer) find(f *cin.Forall, lat lattice.Lattice, e env) (out []ir.Stmt) {
	var matches []match
	for _, it := range lat.Iterators() {
		if _, walked := e.pos.lookup(it.Key); !walked {
			before, m := l.locate(it, e.coord.get(f.Var), e)
			out, matches = append(out, before...), append(matches, m)
		}
	}
	if body := l.matched(f, lat, matches, e); body != nil {
		return append(out, body)
	}
	return nil
}

// locate finds the entry of coordinate x in a level, if there is one.
func (l *lowerer) locate(it lattice.Iterator, x ir.Expr, e env) ([]ir.Stmt, match) {
	switch p := it.Props(); {
	case p.Locate:
		at := l.position(it.Access, it.Level, e).Lo
		pos, run := l.positionVar(it, ""), l.positionVar(it, "_run")
		one := &ir.Cast{X: l.valid(it, pos, e), To: dtype.I64}
		return []ir.Stmt{ir.Let(pos, at), ir.Let(run, ir.Add(pos, one))}, held(it, pos, run)
	case p.Probe:
		return l.probe(it, e)
	default:
		r := l.children(it, e)
		end := l.positionVar(it, "_end")
		stmts, pos := l.search(l.positionName(it), r.Lo, end, l.before(it, x, e))
		run, found := l.run(cursor{it: it, pos: pos, end: end}, x, e)
		return append(append([]ir.Stmt{ir.Let(end, r.Hi)}, stmts...), found...), held(it, pos, run)
	}
}

// probe looks for the current coordinate where the level says that it may be.
func (l *lowerer) probe(it lattice.Iterator, e env) ([]ir.Stmt, match) {
	w, x := l.walked(it, e), l.coordOf(it.Access, it.Level, e)
	places := w.Children(w.store, w.parent)
	pos, end := l.positionVar(it, ""), l.positionVar(it, "_end")
	begin, run := l.positionVar(it, "_begin"), l.positionVar(it, "_run")
	first, next := w.Level.(format.Prober).Probes(format.Range{Lo: begin, Hi: end}, x)
	some, used, here := ir.Is(begin, ir.Lt, end), w.Valid(w.store, w.parent, pos), w.Coord(w.store, w.parent, pos)
	found := ir.All(some, ir.Is(here, ir.Eq, x))
	return []ir.Stmt{
		ir.Let(begin, places.Lo), ir.Let(end, places.Hi), ir.Declare(pos, first),
		ir.Repeat(ir.All(some, used, ir.Is(here, ir.Ne, x)), ir.Set(pos, next(pos))),
		ir.Let(run, ir.Add(pos, &ir.Cast{X: found, To: dtype.I64})),
	}, held(it, pos, run)
}
