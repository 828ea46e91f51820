package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Loops over derived variables. Once all parts of a variable are bound, the variable is known: a strip whose number is known is
// a window of its parent's values, and any other combination computes the coordinate. The loop over that variable is then
// lowered as if the program had been written with it.

// span is a run of values.
type span struct{ start, count ir.Expr }

// strip says that parent = base + child.
type strip struct {
	child, parent index.Var
	base          ir.Expr
}

// window is the range of values that the loop over v visits.
func (l *lowerer) window(v index.Var, e env) span {
	if r, ok := e.span.lookup(v); ok {
		return r
	}
	return span{start: ir.Const(0), count: l.extent(v)}
}

// bind records the coordinate of a variable.
func (e *env) bind(v index.Var, x ir.Expr) { e.coord = e.coord.with(v, x) }

// narrow records the values of a variable that are visited.
func (e *env) narrow(v index.Var, s span) { e.span = e.span.with(v, s) }

// enter makes the variable of a loop that counts through r, values of v, and records what follows from it.
func (e *env) enter(l *lowerer, v index.Var, r span) *ir.Var {
	chain := e.chain
	if len(chain) == 0 {
		chain = []strip{{child: v, parent: v, base: r.start}}
	}
	q := l.Index(string(chain[0].child))
	e.bind(chain[0].child, q)
	x := ir.Expr(q)
	for _, s := range chain {
		x = shift(x, s.base)
		e.bind(s.parent, x)
	}
	e.chain = nil
	return q
}

// called is the variable whose name a loop over v has: the latest of those that run over the same values.
func (e *env) called(v index.Var) index.Var {
	for _, s := range slices.Backward(e.chain) {
		if !isZero(s.base) {
			break
		}
		v = s.child
	}
	return v
}

// settle records the value of v and of the strips that it is in.
func (e *env) settle(v index.Var, x ir.Expr) {
	e.bind(v, x)
	for _, s := range slices.Backward(e.chain) {
		if !isZero(s.base) {
			x = ir.Sub(x, s.base)
		}
		e.bind(s.child, x)
	}
	e.chain = nil
}

// derived lowers the loop over a variable that derives from others.
func (l *lowerer) derived(f *cin.Forall, rel cin.Relation, e env, kind ir.LoopKind) []ir.Stmt {
	e.chain = slices.Clone(e.chain)
	switch r := rel.(type) {
	case *cin.Split:
		switch {
		case r.Tail > 0 && f.Var == r.Outer:
			return l.tiles(f, r, e, kind)
		case r.Tail > 0:
			return l.inside(f, r, e, kind)
		case f.Var == r.Inner && e.coord.get(r.Outer) != nil:
			e.chain = append(e.chain, strip{child: f.Var, parent: r.Parent})
			pre := l.stripOf(r, &e)
			return append(pre, l.along(f, r.Parent, e, kind)...)
		}
	case *cin.Positions:
		return l.positionLoop(f, r, e, kind)
	case *cin.Rename:
		e.chain = append(e.chain, strip{child: f.Var, parent: r.Of, base: ir.Const(0)})
		if s, ok := e.span.lookup(f.Var); ok {
			e.narrow(r.Of, s)
		}
		return l.along(f, r.Of, e, kind)
	}
	pre := l.spanOf(f.Var, &e)
	r := l.window(f.Var, e)
	inner := e
	q := inner.enter(l, f.Var, r)
	var found resolved
	l.resolve(f.Var, &inner, &found)
	body := found.guard(l.stmt(cin.Nest(found.vars, f.Body), inner))
	return l.counted(f, q, ir.Const(0), r.count, kind, body, pre)
}

// along lowers the loop f as one over v, of which its variable is a strip or another name.
func (l *lowerer) along(f *cin.Forall, v index.Var, e env, kind ir.LoopKind) []ir.Stmt {
	g := *f
	g.Var = v
	return l.loop(&g, e, kind)
}

// resolved is the variables of the source that a loop determines, the statements that compute them, and conditions
// without which there is nothing to do.
type resolved struct {
	vars  []index.Var
	steps []func(body []ir.Stmt) []ir.Stmt
}

// guard puts the steps around body, unless that does nothing.
func (r *resolved) guard(body []ir.Stmt) []ir.Stmt {
	if len(body) == 0 {
		return nil
	}
	for _, step := range slices.Backward(r.steps) {
		body = step(body)
	}
	return body
}

func (r *resolved) compute(stmts ...ir.Stmt) {
	r.steps = append(r.steps, func(body []ir.Stmt) []ir.Stmt { return append(stmts, body...) })
}

// define gives v a value that has a name.
func (l *lowerer) define(v index.Var, x ir.Expr, e *env, r *resolved) {
	named := l.Index(string(v))
	r.compute(ir.Let(named, x))
	e.bind(v, named)
}

// resolve finds the values of the variables that v was the last missing part of.
func (l *lowerer) resolve(v index.Var, e *env, out *resolved) {
	switch r := l.program.Derivation(v).(type) {
	case *cin.Split:
		outer, inner := e.coord.get(r.Outer), e.coord.get(r.Inner)
		if outer == nil || inner == nil {
			return
		}
		parent := l.window(r.Parent, *e)
		at := ir.Add(ir.Mul(outer, l.widthOf(r, *e)), inner)
		l.define(r.Parent, shift(at, parent.start), e, out)
		inside := ir.Is(e.coord.get(r.Parent), ir.Lt, shift(parent.count, parent.start))
		out.steps = append(out.steps, func(body []ir.Stmt) []ir.Stmt { return []ir.Stmt{ir.When(inside, body...)} })
		l.resolve(r.Parent, e, out)
	case *cin.Fuse:
		n := l.window(r.Inner, *e).count
		x := e.coord.get(v)
		l.define(r.Outer, ir.Div(x, n), e, out)
		l.define(r.Inner, ir.Remainder(x, e.coord.get(r.Outer), n), e, out)
		l.resolve(r.Outer, e, out)
		l.resolve(r.Inner, e, out)
	case *cin.Positions:
		l.recover(r, e.coord.get(v), e, out, nil)
	case *cin.Rename:
		e.bind(r.Of, e.coord.get(v))
		l.resolve(r.Of, e, out)
	default:
		out.vars = append(out.vars, v)
	}
}

// tiles lowers the loop over the outer half of a split: full tiles first, then the remainder in tiles of the tail's
// width, the last of them shifted inwards so that no tile has a variable width.
func (l *lowerer) tiles(f *cin.Forall, s *cin.Split, e env, kind ir.LoopKind) []ir.Stmt {
	if s.Joined {
		return l.joined(f, s, e)
	}
	n := l.extent(s.Parent)
	base := l.Index(string(f.Var))
	full := l.tile(f, s, e, base, s.Factor)
	if len(full) == 0 {
		return nil
	}
	loop := func(v *ir.Var, lo, hi ir.Expr, step int64, body []ir.Stmt) ir.Stmt {
		return &ir.For{Var: v, Lo: lo, Hi: hi, Step: step, Kind: kind, Chunk: l.chunk(kind, ir.Div(ir.Sub(hi, lo), ir.Const(step))), Body: ir.Do(body...)}
	}
	out := []ir.Stmt{loop(base, ir.Const(0), ir.Sub(n, ir.Const(s.Factor-1)), s.Factor, full)}
	if known, ok := n.(*ir.Int); ok && known.Value%s.Factor == 0 {
		return out
	}
	at, shifted := l.Index(string(f.Var)), l.Index(string(f.Var)+"_shifted")
	rest := []ir.Stmt{ir.Let(shifted, ir.Min(at, ir.Sub(n, ir.Const(s.Tail))))}
	rest = append(rest, l.tile(f, s, e, shifted, s.Tail)...)
	done := ir.Mul(ir.Div(n, ir.Const(s.Factor)), ir.Const(s.Factor))
	return append(out, loop(at, done, n, s.Tail, rest))
}

// joined lowers one full tile and one of the tail's width, which ends where the values do, with one loop between them and what is inside.
func (l *lowerer) joined(f *cin.Forall, s *cin.Split, e env) []ir.Stmt {
	shifted := l.Index(string(f.Var) + "_shifted")
	full := l.tile(f, s, e, ir.Const(0), s.Factor)
	shared := e.region.workspaces
	e.region.workspaces = nil // both are in use at once, so that each has its own
	tail := l.tile(f, s, e, shifted, s.Tail)
	e.region.workspaces = shared
	if len(full) == 0 {
		return nil
	}
	both, ok := ir.Fuse(full, tail)
	if !ok {
		both = slices.Concat(full, tail)
	}
	return append([]ir.Stmt{ir.Let(shifted, ir.Sub(l.extent(s.Parent), ir.Const(s.Tail)))}, both...)
}

// tile lowers the body of the loop over tiles for the one that starts at base.
func (l *lowerer) tile(f *cin.Forall, s *cin.Split, e env, base ir.Expr, width int64) []ir.Stmt {
	e.tile = e.tile.with(s.Inner, span{start: base, count: ir.Const(width)})
	return l.stmt(f.Body, e)
}

// inside lowers the loop within a tile: a window of the parent's values, of constant width.
func (l *lowerer) inside(f *cin.Forall, s *cin.Split, e env, kind ir.LoopKind) []ir.Stmt {
	tile := e.tile.get(s.Inner)
	e.chain = append(e.chain, strip{child: f.Var, parent: s.Parent, base: tile.start})
	e.narrow(s.Parent, tile)
	return l.along(f, s.Parent, e, kind)
}
