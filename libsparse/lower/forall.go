package lower

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// forall lowers a loop over one variable: over tiles, over all coordinates, over what one level stores, or over several
// levels together.
func (l *lowerer) forall(f *cin.Forall, e env) []ir.Stmt {
	if f.Unit == cin.Threads {
		return l.parallel(f, e)
	}
	return l.loop(f, e, ir.Serial)
}

func (l *lowerer) loop(f *cin.Forall, e env, kind ir.LoopKind) []ir.Stmt {
	if s := l.program.SplitOf(f.Var); s != nil {
		if f.Var == s.Outer {
			return l.tiles(f, s, e, kind)
		}
		return l.inside(f, s, e)
	}
	lat := lattice.Build(cin.Value(f.Body), f.Var)
	if len(lat.Points) == 1 && len(lat.Iterators()) <= 1 {
		body := restrict(f.Body, f.Var, lat.Points[0], e)
		if body == nil {
			return l.nothing()
		}
		f = &cin.Forall{Var: f.Var, Unit: f.Unit, Body: body}
	}
	switch {
	case lat.Full() && len(lat.Iterators()) == 0:
		return l.dense(f, e, kind)
	case lat.Full():
		return l.matchAll(f, lat, e)
	case len(lat.Points) == 1 && len(lat.Iterators()) == 1:
		return l.walk(f, lat.Iterators()[0], e, kind)
	default:
		return l.merge(f, lat, e)
	}
}

// nothing is what is left of a loop over an expression that has a value nowhere: the result keeps what it is filled with.
func (l *lowerer) nothing() []ir.Stmt {
	l.partly = true
	return nil
}

// dense visits every coordinate.
func (l *lowerer) dense(f *cin.Forall, e env, kind ir.LoopKind) []ir.Stmt {
	v := &ir.Var{Name: l.names.forVar(f.Var), T: ir.Index}
	inner := e.clone()
	inner.coord[f.Var] = v
	body := l.visit(f, f.Body, inner)
	if len(body) == 0 {
		return nil
	}
	if f.Unit == cin.Lanes {
		kind = ir.Simd
	}
	return []ir.Stmt{&ir.For{Var: v, Lo: integer(0), Hi: l.extent(f.Var), Step: 1, Kind: kind, Chunk: l.chunk(kind, l.extent(f.Var)), Body: block(body...)}}
}

func unique(it lattice.Iterator) bool {
	return it.Access.Tensor.Format.Levels[it.Level].Props().Unique
}

// positionVar names the position of an iterator: pA2 for the second level of A.
func (l *lowerer) positionVar(it lattice.Iterator, suffix string) *ir.Var {
	name := fmt.Sprintf("p%s%d%s", it.Access.Tensor.Owner().Name, it.Level+1, suffix)
	return &ir.Var{Name: l.names.fresh(name), T: ir.Index}
}

// walk visits the coordinates that one level stores.
func (l *lowerer) walk(f *cin.Forall, it lattice.Iterator, e env, kind ir.LoopKind) []ir.Stmt {
	if !unique(it) {
		return l.merge(f, lattice.Lattice{Points: []lattice.Point{{Iterators: []lattice.Iterator{it}}}}, e)
	}
	r := l.children(it, e)
	p := l.positionVar(it, "")
	v := &ir.Var{Name: l.names.forVar(f.Var), T: ir.Index}
	inner := e.clone()
	inner.partial = e.partial || !l.coversResult(it)
	inner.coord[f.Var] = v
	inner.pos[it.Key] = format.Range{Lo: p, Hi: next(p)}
	body := l.visit(f, f.Body, inner)
	if len(body) == 0 {
		return nil
	}
	if f.Unit == cin.Lanes {
		kind = ir.Simd
	}
	body = append([]ir.Stmt{constant(v, l.coordinate(it, p, e))}, body...)
	if valid := l.valid(it, p, e); valid != nil {
		body = []ir.Stmt{&ir.If{Cond: valid, Then: block(body...)}}
	}
	return []ir.Stmt{&ir.For{Var: p, Lo: r.Lo, Hi: r.Hi, Step: 1, Kind: kind, Chunk: l.chunk(kind, r.Hi), Body: block(body...)}}
}

// coversResult reports whether an iterator visits every position of a result that has an operand's pattern.
func (l *lowerer) coversResult(it lattice.Iterator) bool {
	lhs := l.program.Source.LHS
	return lhs.Tensor.SamePattern != nil && !lhs.Windowed() && it.Level < lhs.Tensor.Order() && it.Key == lattice.Key(lhs, it.Level)
}

// visit is the body of the loop f at one coordinate, with what appending to the result needs around it.
func (l *lowerer) visit(f *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	if cin.Written(body).Tensor == l.program.Source.LHS.Tensor && l.result.appends() {
		return l.result.visit(l, f, body, e)
	}
	return l.stmt(body, e)
}
