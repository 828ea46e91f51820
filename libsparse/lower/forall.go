package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// forall lowers a loop over one variable: over tiles, over all coordinates, over the stored ones of a level, or over several
// levels together.
func (l *lowerer) forall(f *cin.Forall, e env) []ir.Stmt {
	if stmts, ok := l.result.divide(l, f, e); ok {
		return stmts
	}
	if f.Unit == cin.Threads {
		return l.parallel(f, e)
	}
	return l.loop(f, e, ir.Serial)
}

func (l *lowerer) loop(f *cin.Forall, e env, kind ir.LoopKind) []ir.Stmt {
	if r := l.program.Derivation(f.Var); r != nil {
		return l.derived(f, r, e, kind)
	}
	lat := l.lattices.Loop(f)
	l.needOrder(f, lat, e)
	if len(lat.Points) == 1 && len(lat.Iterators()) <= 1 {
		body := l.restrict(f, lat.Points[0], e)
		if body == nil {
			return l.nothing()
		}
		f = f.With(body)
	}
	switch {
	case e.coord.get(f.Var) != nil:
		return l.known(f, e)
	case e.phase == bounding && flat(l, f.Body):
		return l.boundLoop(f, lat, e)
	case lat.Full() && len(lat.Iterators()) == 0:
		return l.dense(f, lat.Points[0], e, kind)
	case lat.Full():
		if stmts, ok := l.overlaid(f, lat, e); ok {
			return stmts
		}
		return l.matchAll(f, lat, e)
	case len(lat.Points) == 1 && len(lat.Iterators()) == 1:
		return l.walk(f, lat, e, kind)
	default:
		return l.merge(f, lat, e)
	}
}

// needOrder has the kernel refused where a loop, as it is left, needs an order that a level doesn't have.
func (l *lowerer) needOrder(f *cin.Forall, lat lattice.Lattice, e env) {
	if e.coord.get(f.Var) != nil {
		return
	}
	if err := inOrder(l.program, f, lat); err != nil {
		l.slots.refused = err
	}
}

// nothing is the code of a loop over an expression that has no value anywhere: the result keeps its fill value.
func (l *lowerer) nothing() []ir.Stmt {
	l.partly = true
	return nil
}

// dense visits every coordinate: in the order in which a level stores them, if there is such a level, else by counting.
func (l *lowerer) dense(f *cin.Forall, at lattice.Point, e env, kind ir.LoopKind) []ir.Stmt {
	it, follows := l.inStoredOrder(f, e)
	group, e := l.group(f, it.Key, e)
	var stmts []ir.Stmt
	if follows {
		stmts = l.walkLevel(f, at, it, e, kind)
	} else {
		stmts = l.enumerate(f, at, e, kind)
	}
	if group == nil {
		return stmts
	}
	return l.inGroups(f, group, stmts)
}

// enumerate visits every coordinate by counting, or by an order of rows that f names.
func (l *lowerer) enumerate(f *cin.Forall, at lattice.Point, e env, kind ir.LoopKind) []ir.Stmt {
	r := l.window(f.Var, e)
	inner := e
	v := inner.enter(l, f.Var, r)
	body := l.visitAt(f, at, inner)
	order := l.order(f)
	if order == nil || len(body) == 0 {
		return l.counted(f, v, ir.Const(0), r.count, kind, body, nil)
	}
	place := l.Index(v.Name + "_place")
	before := append([]ir.Stmt{ir.Let(v, ir.IndexAt(order, place))}, l.nextRows(f.Order, place, r.count)...)
	return l.counted(f, place, ir.Const(0), r.count, kind, append(before, body...), nil)
}

// ahead is how many rows before they are visited the entries of rows are brought near: about those that are visited in an order of their own,
// which processors don't guess.
const ahead = 64

// nextRows brings entries near that rows have which are visited soon, in the order in which they are stored.
func (l *lowerer) nextRows(t *index.Tensor, place *ir.Var, rows ir.Expr) []ir.Stmt {
	entries := l.slots.storage(l.slots.Owner(t), 1, nil)
	from := ir.IndexAt(entries.Pos, ir.Min(rows, ir.Add(place, ir.Const(ahead))))
	out := []ir.Stmt{&ir.Prefetch{Array: entries.Crd, Index: from, Count: 1}}
	if vals := l.slots.vals(t); vals != nil {
		out = append(out, &ir.Prefetch{Array: vals, Index: from, Count: 1})
	}
	return out
}

// order is the order in which f visits all rows of an operand, nil where it visits them as they come.
func (l *lowerer) order(f *cin.Forall) *ir.Array {
	if f.Order == nil || f.Unit == cin.Lanes || l.program.Derivation(f.Var) != nil || l.result.ordered(l, f) {
		return nil
	}
	return l.slots.order(f.Order)
}

// inStoredOrder finds a level with all coordinates in an order of its own, which the loop of f over all coordinates then follows,
// so that what is below is read as it is stored. Where several levels have an order, the others are located in.
func (l *lowerer) inStoredOrder(f *cin.Forall, e env) (it lattice.Iterator, ok bool) {
	_, windowed := e.span.lookup(f.Var)
	if windowed || l.program.Derivation(f.Var) != nil || f.Unit == cin.Lanes || l.result.ordered(l, f) {
		return it, false
	}
	for _, a := range index.Accesses(cin.Value(f.Body)) {
		for level, m := range l.format(a.Tensor).ModeOrder {
			p := l.format(a.Tensor).Levels[level].Props()
			if a.Vars[m] == f.Var && p.Full && !p.Ordered && a.Window(m) == nil && l.reached(a, level-1, e) {
				return lattice.NewIterator(l.program.Source.Table, a, level), true
			}
		}
	}
	return it, false
}

// reached reports whether the position of an access at a level follows from the variables that are bound.
func (l *lowerer) reached(a *index.Access, level int, e env) bool {
	for ; level >= 0; level-- {
		if _, ok := e.pos.lookup(l.key(a, level)); ok {
			return true
		}
		if !l.format(a.Tensor).Levels[level].Props().Locate || e.coord.get(a.Vars[l.format(a.Tensor).ModeOrder[level]]) == nil {
			return false
		}
	}
	return true
}

// counted is the loop of f over v from lo to before hi, serial unless kind or the unit of f says otherwise, with what precedes it. It
// is nil where the body does nothing.
func (l *lowerer) counted(f *cin.Forall, v *ir.Var, lo, hi ir.Expr, kind ir.LoopKind, body, before []ir.Stmt) []ir.Stmt {
	if len(body) == 0 {
		return nil
	}
	if f.Unit == cin.Lanes {
		kind = ir.Simd
	}
	loop := ir.Loop(v, lo, hi, body...)
	loop.Kind, loop.Chunk, loop.Unroll = kind, l.chunk(kind, hi), f.Unroll
	return append(before, loop)
}

// positionVar names the position of an iterator: A_p2 for the second level of A.
func (l *lowerer) positionVar(it lattice.Iterator, suffix string) *ir.Var {
	return l.Index(l.positionName(it) + suffix)
}

func (l *lowerer) positionName(it lattice.Iterator) string {
	return levelName(l.program.Source.Owner(it.Access.Tensor).Name, "p", it.Level)
}

// walk visits the coordinates that one level stores.
func (l *lowerer) walk(f *cin.Forall, lat lattice.Lattice, e env, kind ir.LoopKind) []ir.Stmt {
	at, it := lat.Points[0], lat.Iterators()[0]
	if !it.Props().Unique && !l.visitsAgain(f, it) {
		return l.merge(f, lat, e)
	}
	e.partial = e.partial || !l.coversResult(it)
	return l.walkLevel(f, at, it, e, kind)
}

// visitsAgain reports whether a coordinate that a level stores several times may be visited as often: nothing but the place in that level follows
// from it, and each term of the body is added to what is outside of the loop.
func (l *lowerer) visitsAgain(f *cin.Forall, it lattice.Iterator) bool {
	source := l.program.Source
	if slices.Contains(source.LHS.Vars, f.Var) || it.Access.Windowed() || !slices.Contains(it.Access.Vars, f.Var) {
		return false
	}
	for _, other := range index.Accesses(source.RHS) {
		if other != it.Access && slices.Contains(other.Vars, f.Var) {
			return false
		}
	}
	for body := f.Body; ; {
		switch s := body.(type) {
		case *cin.Forall:
			body = s.Body
		case *cin.Assign:
			return s.Reduce != "" && !slices.Contains(s.LHS.Vars, f.Var)
		default:
			return false
		}
	}
}

// walkLevel loops over the steps of one level.
func (l *lowerer) walkLevel(f *cin.Forall, at lattice.Point, it lattice.Iterator, e env, kind ir.LoopKind) []ir.Stmt {
	if stmts, ok := l.blocks(f, at, it, e, kind); ok {
		return stmts
	}
	before, r := l.narrowed(it, f.Var, e)
	p := l.positionVar(it, "")
	v := l.Index(string(e.called(f.Var)))
	inner := e
	inner.settle(f.Var, v)
	inner.pos = inner.pos.with(it.Key, l.place(it, p, ir.Next(p), e))
	if t, stmts := l.covers(f, it, r, e); t != nil {
		inner.covered, before = t, append(before, stmts...)
	}
	body := l.visitAt(f, at, inner)
	if len(body) == 0 {
		return nil
	}
	body = append([]ir.Stmt{ir.Let(v, l.coordinate(it, p, e))}, body...)
	valid := l.valid(it, p, e)
	if valid != nil {
		body = []ir.Stmt{ir.When(valid, body...)}
	}
	distance, ahead := l.prefetch(f, it, p, v, r.Hi, body, e)
	out := l.counted(f, p, r.Lo, r.Hi, kind, append(ahead, body...), append(before, distance...))
	if len(out) > 0 {
		loop := out[len(out)-1].(*ir.For)
		loop.Gathering = ir.Gathering{Adjacent: f.Adjacent, AtOnce: f.Gather}
		loop.Within, loop.Ends = l.within(it, f.Var, e), valid != nil && len(ahead) == 0 && l.emptyLast(it)
	}
	return out
}

// emptyLast reports whether the places of a level that hold nothing come behind the others of the same parent.
func (l *lowerer) emptyLast(it lattice.Iterator) bool {
	_, grouped := l.format(it.Access.Tensor).Levels[it.Level].(format.Grouped)
	return grouped && !it.Props().Filling
}

// within is the end of the positions whose coordinates are any that v may have, where all positions behind those that the loop over v visits are such;
// nil where they aren't.
func (l *lowerer) within(it lattice.Iterator, v index.Var, e env) ir.Expr {
	t := it.Access.Tensor
	_, part := e.span.lookup(v)
	if part || !gapless(it) || it.Access.Window(l.format(t).ModeOrder[it.Level]) != nil || l.program.Source.Owner(t) == l.program.Source.LHS.Tensor {
		return nil
	}
	return l.positions(t, it.Level)
}

// gapless reports whether every position of a level, from zero on, has a coordinate that is stored: segments follow each other.
func gapless(it lattice.Iterator) bool {
	props := it.Props()
	return props.Segmented && !props.Padded && !props.RowRelative
}

// coversResult reports whether an iterator visits every position of a result that has an operand's pattern.
func (l *lowerer) coversResult(it lattice.Iterator) bool {
	lhs := l.program.Source.LHS
	return !it.Props().Padded && l.of(lhs.Tensor).SamePattern != nil && !lhs.Windowed() && it.Level < l.format(lhs.Tensor).Order() && it.Key == l.key(lhs, it.Level)
}

// visitAt is the body of the loop f at a point of its lattice.
func (l *lowerer) visitAt(f *cin.Forall, p lattice.Point, e env) []ir.Stmt {
	body := l.restrict(f, p, e)
	switch {
	case body == nil:
		return nil
	case len(p.Located) > 0:
		found := f.With(body)
		return l.find(found, l.lattices.Known(found), e)
	default:
		return l.visit(f, body, e)
	}
}

// visit is the body of the loop f at one coordinate, between the statements that the assembly of the result adds.
func (l *lowerer) visit(f *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	lhs := l.program.Source.LHS
	if cin.Written(body).Tensor == lhs.Tensor && slices.Contains(lhs.Vars, f.Var) {
		return l.result.visit(l, f, body, e)
	}
	return l.stmt(body, e)
}
