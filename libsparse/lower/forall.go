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
	if in := l.result.insert; in != nil && in.rows != nil && !in.begun {
		in.begun = true
		return l.insertCompressed(f, e)
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
	lat := lattice.Loop(cin.Value(f.Body), f.Var)
	if len(lat.Points) == 1 && len(lat.Iterators()) <= 1 {
		body := restrict(f.Body, f.Var, lat.Points[0], e)
		if body == nil {
			return l.nothing()
		}
		f = f.With(body)
	}
	switch {
	case e.coord[f.Var] != nil:
		return l.located(f, lattice.Build(cin.Value(f.Body), f.Var), e)
	case lat.Full() && len(lat.Iterators()) == 0:
		return l.dense(f, lat.Points[0], e, kind)
	case lat.Full():
		return l.matchAll(f, lat, e)
	case len(lat.Points) == 1 && len(lat.Iterators()) == 1:
		return l.walk(f, lat.Points[0], e, kind)
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
func (l *lowerer) dense(f *cin.Forall, at lattice.Point, e env, kind ir.LoopKind) []ir.Stmt {
	if it, ok := l.inStoredOrder(f, e); ok {
		return l.follow(f, at, it, e, kind)
	}
	r := l.window(f.Var, e)
	inner := e.clone()
	v := inner.enter(l, f.Var, r)
	body := l.visitAt(f, at, inner)
	if len(body) == 0 {
		return nil
	}
	return []ir.Stmt{l.counted(f, v, ir.Const(0), r.count, kind, body)}
}

// counted is the loop of f over v, serial unless kind or the unit of f says otherwise.
func (l *lowerer) counted(f *cin.Forall, v *ir.Var, lo, hi ir.Expr, kind ir.LoopKind, body []ir.Stmt) *ir.For {
	if f.Unit == cin.Lanes {
		kind = ir.Simd
	}
	return &ir.For{Var: v, Lo: lo, Hi: hi, Step: 1, Kind: kind, Chunk: l.chunk(kind, hi), Unroll: f.Unroll, Body: ir.Do(body...)}
}

// place is the positions that the steps from first to last stand for: several only where they are positions themselves.
func (l *lowerer) place(it lattice.Iterator, first, last ir.Expr, e env) format.Range {
	parent := l.position(it.Access, it.Level-1, e)
	lo := it.Access.Tensor.Format.Levels[it.Level].Place(l.storage(it.Access, it.Level, e), parent, first)
	if lo == first {
		return format.Range{Lo: first, Hi: last}
	}
	return format.Range{Lo: lo, Hi: ir.Next(lo)}
}

func unique(it lattice.Iterator) bool {
	return it.Access.Tensor.Format.Levels[it.Level].Props().Unique
}

// positionVar names the position of an iterator: pA2 for the second level of A.
func (l *lowerer) positionVar(it lattice.Iterator, suffix string) *ir.Var {
	return l.Index(l.positionName(it) + suffix)
}

func (l *lowerer) positionName(it lattice.Iterator) string {
	return fmt.Sprintf("p%s%d", it.Access.Tensor.Owner().Name, it.Level+1)
}

// walk visits the coordinates that one level stores.
func (l *lowerer) walk(f *cin.Forall, at lattice.Point, e env, kind ir.LoopKind) []ir.Stmt {
	it := at.Iterators[0]
	if !unique(it) {
		return l.merge(f, lattice.Lattice{Points: []lattice.Point{at}}, e)
	}
	before, r := l.narrowed(it, f.Var, e)
	p := l.positionVar(it, "")
	v := l.Index(string(e.called(f.Var)))
	inner := e.clone()
	inner.partial = e.partial || !l.coversResult(it)
	inner.settle(f.Var, v)
	inner.pos[it.Key] = l.place(it, p, ir.Next(p), e)
	body := l.visitAt(f, at, inner)
	if len(body) == 0 {
		return nil
	}
	body = append([]ir.Stmt{ir.Let(v, l.coordinate(it, p, e))}, body...)
	if valid := l.valid(it, p, e); valid != nil {
		body = []ir.Stmt{ir.When(valid, body...)}
	}
	return append(before, l.counted(f, p, r.Lo, r.Hi, kind, body))
}

// coversResult reports whether an iterator visits every position of a result that has an operand's pattern.
func (l *lowerer) coversResult(it lattice.Iterator) bool {
	lhs := l.program.Source.LHS
	padded := it.Access.Tensor.Format.Levels[it.Level].Props().Padded
	return !padded && lhs.Tensor.SamePattern != nil && !lhs.Windowed() && it.Level < lhs.Tensor.Order() && it.Key == lattice.Key(lhs, it.Level)
}

// visit is the body of the loop f at one coordinate, with what appending to the result needs around it.
func (l *lowerer) visit(f *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	if cin.Written(body).Tensor == l.program.Source.LHS.Tensor && l.result.appends() {
		return l.result.visit(l, f, body, e)
	}
	return l.stmt(body, e)
}
