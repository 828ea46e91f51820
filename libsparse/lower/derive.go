package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Loops over derived variables. Where the last part of a variable becomes known, so does the variable: a strip whose
// number is known is a window of its parent's values, and everything else is a coordinate, computed. Both are then the
// business of the loop over that variable, as if the program had been written with it.

// span is a run of values.
type span struct{ start, count ir.Expr }

// strip says that parent = base + child.
type strip struct {
	child, parent index.Var
	base          ir.Expr
}

// window is the range of values that the loop over v visits.
func (l *lowerer) window(v index.Var, e env) span {
	if r, ok := e.space[v]; ok {
		return r
	}
	return span{start: ir.Const(0), count: l.extent(v)}
}

// enter makes the variable of a loop that counts through r, values of v, and records what follows from it.
func (e *env) enter(l *lowerer, v index.Var, r span) *ir.Var {
	name := v
	if len(e.chain) > 0 {
		name = e.chain[0].child
	}
	q := l.Index(string(name))
	if len(e.chain) == 0 {
		e.coord[v] = plusZero(r.start, q)
		return q
	}
	x := ir.Expr(q)
	e.coord[name] = x
	for _, s := range e.chain {
		x = plusZero(s.base, x)
		e.coord[s.parent] = x
	}
	e.chain = nil
	return q
}

// called is the variable whose name a loop over v has: the latest of those that run over the same values.
func (e *env) called(v index.Var) index.Var {
	for _, s := range slices.Backward(e.chain) {
		if n, ok := s.base.(*ir.Int); !ok || n.Value != 0 {
			break
		}
		v = s.child
	}
	return v
}

// settle records the value of v and of the strips that it is in.
func (e *env) settle(v index.Var, x ir.Expr) {
	e.coord[v] = x
	for _, s := range slices.Backward(e.chain) {
		x = minusAny(x, s.base)
		e.coord[s.child] = x
	}
	e.chain = nil
}

// derived lowers the loop over a variable that derives from others.
func (l *lowerer) derived(f *cin.Forall, rel cin.Relation, e env, kind ir.LoopKind) []ir.Stmt {
	e = e.clone()
	e.chain = slices.Clone(e.chain)
	switch r := rel.(type) {
	case *cin.Split:
		switch {
		case r.Tail > 0 && f.Var == r.Outer:
			return l.tiles(f, r, e, kind)
		case r.Tail > 0:
			return l.inside(f, r, e, kind)
		case f.Var == r.Inner && e.coord[r.Outer] != nil:
			e.chain = append(e.chain, strip{child: f.Var, parent: r.Parent})
			pre := l.stripOf(r, &e)
			return append(pre, l.along(f, r.Parent, e, kind)...)
		}
	case *cin.Positions:
		return l.positionLoop(f, r, e, kind)
	case *cin.Rename:
		e.chain = append(e.chain, strip{child: f.Var, parent: r.Of, base: ir.Const(0)})
		if narrow, ok := e.space[f.Var]; ok {
			e.space[r.Of] = narrow
		}
		return l.along(f, r.Of, e, kind)
	}
	pre := l.spaceOf(f.Var, &e)
	r := l.window(f.Var, e)
	inner := e.clone()
	q := inner.enter(l, f.Var, r)
	var found resolved
	l.resolve(f.Var, &inner, &found)
	body := l.stmt(cin.Nest(found.vars, f.Body), inner)
	if len(body) == 0 {
		return nil
	}
	return append(pre, l.counted(f, q, ir.Const(0), r.count, kind, found.guard(body)))
}

// along lowers the loop f as one over v, of which its variable is a strip or another name.
func (l *lowerer) along(f *cin.Forall, v index.Var, e env, kind ir.LoopKind) []ir.Stmt {
	g := f.With(f.Body)
	g.Var = v
	return l.loop(g, e, kind)
}

// resolved is what a loop makes known: variables of the source, the statements that compute them, and conditions
// without which there is nothing to do.
type resolved struct {
	vars  []index.Var
	steps []func(body []ir.Stmt) []ir.Stmt
}

func (r *resolved) guard(body []ir.Stmt) []ir.Stmt {
	for _, step := range slices.Backward(r.steps) {
		body = step(body)
	}
	return body
}

func (r *resolved) compute(stmts ...ir.Stmt) {
	r.steps = append(r.steps, func(body []ir.Stmt) []ir.Stmt { return append(stmts, body...) })
}

func (r *resolved) require(cond ir.Expr) {
	r.steps = append(r.steps, func(body []ir.Stmt) []ir.Stmt { return []ir.Stmt{ir.When(cond, body...)} })
}

// define gives v a value that has a name.
func (l *lowerer) define(v index.Var, x ir.Expr, e *env, r *resolved) {
	named := l.Index(string(v))
	r.compute(ir.Let(named, x))
	e.coord[v] = named
}

// resolve finds the values of the variables that v was the last missing part of.
func (l *lowerer) resolve(v index.Var, e *env, out *resolved) {
	switch r := l.program.Derivation(v).(type) {
	case *cin.Split:
		outer, inner := e.coord[r.Outer], e.coord[r.Inner]
		if outer == nil || inner == nil {
			return
		}
		parent := l.window(r.Parent, *e)
		at := plusZero(ir.Mul(outer, l.widthOf(r, *e)), inner)
		l.define(r.Parent, plusZero(parent.start, at), e, out)
		out.require(ir.Is(e.coord[r.Parent], ir.Lt, plusZero(parent.start, parent.count)))
		l.resolve(r.Parent, e, out)
	case *cin.Fuse:
		n := l.window(r.Inner, *e).count
		l.define(r.Outer, ir.Div(e.coord[v], n), e, out)
		l.define(r.Inner, ir.Remainder(e.coord[v], e.coord[r.Outer], n), e, out)
		l.resolve(r.Outer, e, out)
		l.resolve(r.Inner, e, out)
	case *cin.Positions:
		l.recover(r, e.coord[v], e, out, nil)
	case *cin.Rename:
		e.coord[r.Of] = e.coord[v]
		l.resolve(r.Of, e, out)
	default:
		out.vars = append(out.vars, v)
	}
}
