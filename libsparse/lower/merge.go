package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// cursor walks the steps of one level from pos to end.
type cursor struct {
	it       lattice.Iterator
	pos, end *ir.Var
}

// match is the steps of an iterator that hold the visited coordinate: from first to before last, where held is true. A nil held
// is true everywhere.
type match struct {
	it                lattice.Iterator
	first, last, held ir.Expr
}

func (l *lowerer) cursors(lat lattice.Lattice, v index.Var, e env) (cs []cursor, decls []ir.Stmt) {
	for _, it := range lat.Iterators() {
		before, r := l.narrowed(it, v, e)
		c := cursor{it: it, pos: l.positionVar(it, ""), end: l.positionVar(it, "_end")}
		decls = append(append(decls, before...), ir.Declare(c.pos, r.Lo), ir.Let(c.end, r.Hi))
		decls = append(decls, l.skip(c, e)...)
		cs = append(cs, c)
	}
	return cs, decls
}

// skip moves a cursor to the next step that is in use.
func (l *lowerer) skip(c cursor, e env) []ir.Stmt {
	valid := l.valid(c.it, c.pos, e)
	if valid == nil {
		return nil
	}
	unused := ir.Is(&ir.Cast{X: valid, To: dtype.I64}, ir.Eq, ir.Const(0))
	return []ir.Stmt{ir.Repeat(ir.All(ir.Is(c.pos, ir.Lt, c.end), unused), ir.Increment(c.pos))}
}

// run finds the end of the steps that hold coordinate v: a coordinate that is stored several times is visited once.
func (l *lowerer) run(c cursor, v ir.Expr, e env) (end *ir.Var, stmts []ir.Stmt) {
	end = l.positionVar(c.it, "_run")
	conds := []ir.Expr{ir.Is(end, ir.Lt, c.end)}
	if valid := l.valid(c.it, end, e); valid != nil && !c.it.Props().Unique { // between two coordinates of a window there may be others
		conds = append(conds, valid)
	}
	here := ir.All(append(conds, ir.Is(l.coordinate(c.it, end, e), ir.Eq, v))...)
	if c.it.Props().Unique {
		return end, []ir.Stmt{ir.Declare(end, c.pos), ir.When(here, ir.Increment(end))}
	}
	return end, []ir.Stmt{ir.Declare(end, c.pos), ir.Repeat(here, ir.Increment(end))}
}

// merge walks several levels together, one loop for each point of the lattice.
func (l *lowerer) merge(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	cs, out := l.cursors(lat, f.Var, e)
	declared := len(out)
	for _, p := range lat.Points {
		here := slices.DeleteFunc(slices.Clone(cs), func(c cursor) bool { return !p.Has(c.it.Key) })
		if s := l.mergeAt(f, lat, p, here, e); s != nil {
			if ahead := l.foreseen(f, lat, p, here, e); ahead != nil {
				out = append(out, ahead)
			}
			out = append(out, s)
		}
	}
	if len(out) == declared {
		return l.nothing()
	}
	return out
}

// mergeAt is the loop that runs as long as every cursor of a point has steps left.
func (l *lowerer) mergeAt(f *cin.Forall, lat lattice.Lattice, p lattice.Point, cs []cursor, e env) ir.Stmt {
	v := l.Index(string(e.called(f.Var)))
	inner := e
	inner.partial = true
	inner.settle(f.Var, v)
	gallops := l.gallops(f, lat, cs, e)
	coords, body := l.visited(cs, v, string(e.called(f.Var)), gallops, e)
	var advance []ir.Stmt
	var moves [][]ir.Stmt
	var more []ir.Expr
	var matches []match
	for i, c := range cs {
		more = append(more, ir.Is(c.pos, ir.Lt, c.end))
		m := match{it: c.it, first: c.pos, last: ir.Next(c.pos)}
		next := m.last
		if len(cs) > 1 {
			m.held = ir.Is(coords[i], ir.Eq, v)
			next = ir.Add(c.pos, &ir.Cast{X: l.passed(cs, coords, i, m.held, e), To: dtype.I64})
		}
		if !c.it.Props().Unique {
			end, stmts := l.run(c, v, e)
			body = append(body, stmts...)
			m.last, next = end, end
		}
		skip := l.skip(c, e)
		advance = append(append(advance, ir.Set(c.pos, next)), skip...)
		moves = append(moves, append([]ir.Stmt{ir.Increment(c.pos)}, skip...))
		matches = append(matches, m)
	}
	if gallops {
		advance = l.gallop(cs, coords, v, e)
	}
	points := lat.Below(p)
	branches := l.branchesOf(f, points, matches, inner)
	cases := chain(branches)
	if cases == nil {
		return nil
	}
	if chosen, ok := l.choose(f, points, matches, cases); ok {
		body = append(body, chosen...)
	} else if written, ok := l.overwritten(f, points, matches, cases); ok && !gallops {
		body = append(body, written...)
	} else if walked := l.walkedBy(branches, points, matches, cs, coords, moves, e); walked != nil {
		body, advance = append(body, chain(walked)), nil
	} else {
		body = append(body, cases)
	}
	return ir.Repeat(ir.All(more...), append(body, advance...)...)
}

// passed says whether the cursor i of several, of which the smallest coordinate is visited, moves on: where it holds that. The other of two cursors
// tells without waiting for the minimum.
func (l *lowerer) passed(cs []cursor, coords []ir.Expr, i int, held ir.Expr, e env) ir.Expr {
	if !l.comparable(cs, e) {
		return held
	}
	return ir.Is(coords[i], ir.NotAbove, coords[1-i])
}

// comparable reports whether the coordinates of two cursors say which is visited: those before a window are none.
func (l *lowerer) comparable(cs []cursor, e env) bool {
	return len(cs) == 2 && !slices.ContainsFunc(cs, func(c cursor) bool { return l.walked(c.it, e).window != nil })
}

// visited reads the coordinates under the cursors and sets v to the one that is visited: the smallest, or the largest where
// cursors gallop.
func (l *lowerer) visited(cs []cursor, v *ir.Var, name string, gallops bool, e env) (coords []ir.Expr, stmts []ir.Stmt) {
	if len(cs) == 1 {
		return []ir.Expr{v}, []ir.Stmt{ir.Let(v, l.coordinate(cs[0].it, cs[0].pos, e))}
	}
	op := dtype.Min
	if gallops {
		op = dtype.Max
	}
	var chosen ir.Expr
	for _, c := range cs {
		x := l.Index(name + l.program.Source.Owner(c.it.Access.Tensor).Name)
		stmts = append(stmts, ir.Let(x, l.coordinate(c.it, c.pos, e)))
		coords = append(coords, x)
		if chosen == nil {
			chosen = x
		} else {
			chosen = ir.Apply(op, chosen, x)
		}
	}
	return coords, append(stmts, ir.Let(v, chosen))
}

// gallops reports whether f visits an intersection of levels that can be searched by galloping: the coordinate that is visited is
// the largest under a cursor, and cursors that are behind it search for it in steps that double, so that a level with few
// coordinates passes long runs of another.
func (l *lowerer) gallops(f *cin.Forall, lat lattice.Lattice, cs []cursor, e env) bool {
	return f.Gallop && len(lat.Points) == 1 && len(cs) > 1 && !slices.ContainsFunc(cs, func(c cursor) bool {
		return !c.it.Props().Unique || l.valid(c.it, c.pos, e) != nil
	})
}

// gallop moves cursors on from coordinate v: where all stand there each to its next step, else those before v to the first step
// that isn't.
func (l *lowerer) gallop(cs []cursor, coords []ir.Expr, v *ir.Var, e env) []ir.Stmt {
	var met []ir.Expr
	var forward, search []ir.Stmt
	for i, c := range cs {
		met = append(met, ir.Is(coords[i], ir.Eq, v))
		forward = append(forward, ir.Increment(c.pos))
		search = append(search, ir.When(ir.Is(coords[i], ir.Lt, v), l.leap(c, v, e)...))
	}
	return []ir.Stmt{&ir.If{Cond: ir.All(met...), Then: ir.Do(forward...), Else: ir.Do(search...)}}
}

// leap moves a cursor that stands before v.
func (l *lowerer) leap(c cursor, v *ir.Var, e env) []ir.Stmt {
	before := l.before(c.it, v, e)
	step := l.positionVar(c.it, "_step")
	ahead := ir.Add(c.pos, step)
	further := ir.All(ir.Is(ahead, ir.Lt, c.end), before(ahead))
	stmts, found := l.search(l.positionName(c.it)+"_next", ir.Next(c.pos), ir.Min(ahead, c.end), before)
	return slices.Concat([]ir.Stmt{
		ir.Declare(step, ir.Const(1)),
		ir.Repeat(further, ir.Set(c.pos, ahead), ir.Set(step, ir.Mul(ir.Const(2), step))),
	}, stmts, []ir.Stmt{ir.Set(c.pos, found)})
}

// matchAll visits every coordinate and matches the stored ones against it.
func (l *lowerer) matchAll(f *cin.Forall, lat lattice.Lattice, e env) []ir.Stmt {
	cs, out := l.cursors(lat, f.Var, e)
	r := l.window(f.Var, e)
	inner := e
	v := inner.enter(l, f.Var, r)
	var body, advance []ir.Stmt
	var matches []match
	for _, c := range cs {
		end, stmts := l.run(c, inner.coord.get(f.Var), e)
		body = append(body, stmts...)
		matches = append(matches, held(c.it, c.pos, end))
		advance = append(append(advance, ir.Set(c.pos, end)), l.skip(c, e)...)
	}
	cases := l.matched(f, lat, matches, inner)
	if cases == nil {
		return l.nothing()
	}
	return append(out, ir.Count(v, r.count, append(append(body, cases), advance...)...))
}

// held is a match by steps from first to last, where there are any.
func held(it lattice.Iterator, first, last ir.Expr) match {
	return match{it: it, first: first, last: last, held: ir.Is(last, ir.Gt, first)}
}

// matched chooses among the points of a lattice at a coordinate that some of them may not visit.
func (l *lowerer) matched(f *cin.Forall, lat lattice.Lattice, matches []match, e env) ir.Stmt {
	dropped := func(p lattice.Point) bool { return l.restrict(f, p, e) == nil }
	none := func(p lattice.Point) bool { return len(p.Iterators) == 0 }
	e.partial = e.partial || slices.ContainsFunc(lat.Points, dropped) || !slices.ContainsFunc(lat.Points, none)
	return l.branches(f, lat.Points, matches, e)
}

// branch is what one point of a lattice does where its iterators hold the visited coordinate; without conditions it does so everywhere.
type branch struct {
	conds []ir.Expr
	stmts []ir.Stmt
}

// branches chooses among points by which iterators hold the visited coordinate. The statement is nil if no branch does anything.
func (l *lowerer) branches(f *cin.Forall, points []lattice.Point, matches []match, e env) ir.Stmt {
	return chain(l.branchesOf(f, points, matches, e))
}

// branchesOf are the branches of points, the first of which that holds is taken.
func (l *lowerer) branchesOf(f *cin.Forall, points []lattice.Point, matches []match, e env) (branches []branch) {
	for _, p := range points {
		inner := e
		inner.held = p.Iterators
		var b branch
		for _, m := range matches {
			if !p.Has(m.it.Key) {
				continue
			}
			inner.pos = inner.pos.with(m.it.Key, l.place(m.it, m.first, m.last, e))
			if m.held != nil {
				b.conds = append(b.conds, m.held)
			}
		}
		b.stmts = l.visitAt(f, p, inner)
		branches = append(branches, b)
		if len(b.conds) == 0 {
			break
		}
	}
	return branches
}

// chain takes the first of some branches that holds. A branch that does nothing stays where one that does something follows: it keeps that
// from running.
func chain(branches []branch) (chain ir.Stmt) {
	for _, b := range slices.Backward(branches) {
		switch {
		case len(b.stmts) == 0 && chain == nil:
		case len(b.conds) == 0:
			chain = ir.Do(b.stmts...)
		case len(b.stmts) == 0:
			chain = &ir.If{Cond: ir.All(b.conds...), Then: ir.Do(&ir.Comment{Text: "no value where all of these are stored"}), Else: chain}
		default:
			chain = &ir.If{Cond: ir.All(b.conds...), Then: ir.Do(b.stmts...), Else: chain}
		}
	}
	return chain
}

// walkedBy are the branches of a union, each of which moves the cursors on that hold the coordinate, so that the next coordinates are read
// before it is known whether the processor predicted the branch. It is nil where a coordinate may be held by others than those of a branch.
func (l *lowerer) walkedBy(branches []branch, points []lattice.Point, matches []match, cs []cursor, coords []ir.Expr, moves [][]ir.Stmt, e env) []branch {
	if len(matches) < 2 || len(branches) != 1<<len(matches)-1 || slices.ContainsFunc(matches, func(m match) bool { return !m.it.Props().Unique }) {
		return nil
	}
	out := slices.Clone(branches)
	for n, p := range points {
		b := &out[n]
		b.stmts = slices.Clone(b.stmts)
		for i, m := range matches {
			if p.Has(m.it.Key) {
				b.stmts = append(b.stmts, moves[i]...)
			}
		}
		if l.comparable(cs, e) { // one comparison serves both branches, where the smallest of the two would be compared with each
			b.conds = []ir.Expr{ir.Is(coords[0], ir.Eq, coords[1])}
			if len(p.Iterators) == 1 {
				i := slices.IndexFunc(matches, func(m match) bool { return p.Has(m.it.Key) })
				b.conds = []ir.Expr{ir.Is(coords[i], ir.Lt, coords[1-i])}
			}
		}
	}
	out[len(out)-1].conds = nil // some cursor holds the smallest coordinate
	return out
}
