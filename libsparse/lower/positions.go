package lower

import (
	"cmp"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Loops over positions. The coordinates of a position follow from it, level by level from the inside out: a compressed
// level's parent is found in its pos array, a dense one's by division.

// rangeOf is the range of positions in the last level of r below what is known, in the strip that r is of.
func (l *lowerer) rangeOf(r *cin.Positions, e *env) (pre []ir.Stmt, out format.Range) {
	if s, ok := l.program.Derivation(l.program.Original(r.Parent)).(*cin.Split); ok {
		narrowed := *e
		narrowed.chain = nil
		pre = l.stripOf(s, &narrowed)
		it := lattice.NewIterator(l.program.Source.Table, r.Access, r.Last)
		stmts, out := l.narrowed(it, s.Parent, narrowed)
		return append(pre, stmts...), out
	}
	out = l.position(r.Access, r.First-1, *e)
	for level := r.First; level <= r.Last; level++ {
		kind, store := l.format(r.Access.Tensor).Levels[level], l.storage(r.Access, level, *e)
		if kind.Props().Full {
			out = format.Range{Lo: ir.Mul(out.Lo, store.Extent), Hi: ir.Mul(out.Hi, store.Extent)}
			continue
		}
		out = kind.Children(store, out)
	}
	return pre, out
}

// positionLoop lowers the loop over the positions of r: along them, so that parents are tracked and not searched for.
func (l *lowerer) positionLoop(f *cin.Forall, r *cin.Positions, e env, kind ir.LoopKind) []ir.Stmt {
	pre := l.spanOf(r.Pos, &e)
	w := l.window(r.Pos, e)
	p := l.Index(string(r.Pos))
	inner := e
	inner.settle(r.Pos, p)
	found := resolved{}
	var tracked []ir.Stmt
	if kind == ir.Serial && f.Unit == cin.Serial {
		tracked = l.recover(r, p, &inner, &found, w.start)
	} else {
		l.recover(r, p, &inner, &found, nil)
	}
	body := found.guard(l.stmt(cin.Nest(found.vars, f.Body), inner))
	return l.counted(f, p, w.start, ir.Add(w.start, w.count), kind, body, append(pre, tracked...))
}

// recover finds the coordinates and positions above position p of r, and where it stands in the strip that r is of. Where the
// loop runs along the positions from first on, parents are variables that the caller declares by the statements returned and
// that follow p.
func (l *lowerer) recover(r *cin.Positions, p ir.Expr, e *env, out *resolved, first ir.Expr) (tracked []ir.Stmt) {
	t := r.Access.Tensor
	var vars []index.Var
	for level := r.Last; level >= r.First; level-- {
		kind, store := l.format(t).Levels[level], l.storage(r.Access, level, *e)
		v := r.Access.Vars[l.format(t).ModeOrder[level]]
		vars = append(vars, v)
		e.pos = e.pos.with(l.key(r.Access, level), format.Range{Lo: p, Hi: ir.Next(p)})
		if !kind.Props().Full {
			l.define(v, kind.Coord(store, format.Range{}, p), e, out)
		}
		switch {
		case kind.Props().Full && level == 0:
			l.define(v, p, e, out)
		case kind.Props().Full:
			parent := l.Index(levelName(t.Name, "p", level-1))
			out.compute(ir.Let(parent, ir.Div(p, store.Extent)))
			l.define(v, ir.Remainder(p, parent, store.Extent), e, out)
			p = parent
			if first != nil {
				first = ir.Div(first, store.Extent)
			}
		case kind.Props().HasPos && level > r.First:
			above := *r
			above.Last = level - 1
			_, parents := l.rangeOf(&above, e)
			from := cmp.Or(first, p)
			stmts, parent := l.search(levelName(t.Name, "p", level-1), parents.Lo, parents.Hi, func(at ir.Expr) ir.Expr {
				return ir.Is(ir.IndexAt(store.Pos, ir.Next(at)), ir.Le, from)
			})
			if first == nil {
				out.compute(stmts...)
			} else {
				tracked = append(tracked, stmts...)
				follow := ir.Is(ir.IndexAt(store.Pos, ir.Next(parent)), ir.Le, p)
				out.compute(ir.Repeat(follow, ir.Increment(parent)))
				first = parent
			}
			p = parent
		}
	}
	if s, ok := l.program.Derivation(l.program.Original(r.Parent)).(*cin.Split); ok {
		begin := ir.Mul(e.coord.get(s.Outer), l.widthOf(s, *e))
		e.bind(s.Inner, ir.Sub(e.coord.get(l.program.Original(s.Parent)), begin))
	}
	slices.Reverse(vars)
	out.vars = append(out.vars, vars...)
	return tracked
}
