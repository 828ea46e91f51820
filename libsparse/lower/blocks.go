package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// blocks visits what a level stores by blocks: a loop over those of a row around one over the coordinates of a block, of which only the last ones
// may stand out of the shape. ok is false where a level has none, or where the loop has to count steps: to run in lanes, or through a window.
func (l *lowerer) blocks(f *cin.Forall, at lattice.Point, it lattice.Iterator, e env, kind ir.LoopKind) (stmts []ir.Stmt, ok bool) {
	w := l.walked(it, e)
	level, ok := w.Level.(format.Blocks)
	_, restricted := e.span.lookup(f.Var)
	if !ok || w.window != nil || restricted || kind != ir.Serial || f.Unit != cin.Serial {
		return nil, false
	}
	_, width := level.Block()
	if f.Unroll > 1 && width%f.Unroll != 0 {
		return nil, false
	}
	block, first := l.positionVar(it, "_block"), l.Index(string(e.called(f.Var))+"_first")
	// inside is the loop over so many coordinates of a block; nil where there is nothing to do.
	inside := func(count ir.Expr, kind ir.LoopKind, unroll int64) []ir.Stmt {
		from, v := l.Index(string(e.called(f.Var))+"_from"), l.Index(string(e.called(f.Var)))
		inner := e
		inner.settle(f.Var, v)
		place := level.Element(w.store, w.parent, block, from)
		inner.pos = inner.pos.with(it.Key, format.Range{Lo: place, Hi: ir.Next(place)})
		body := l.visitAt(f, at, inner)
		if len(body) == 0 {
			return nil
		}
		loop := ir.Loop(from, ir.Const(0), count, append([]ir.Stmt{ir.Let(v, ir.Add(first, from))}, body...)...)
		loop.Kind, loop.Unroll = kind, unroll
		return []ir.Stmt{loop}
	}
	whole := ir.Unrolled
	if f.Unroll > 1 { // the passes that take several iterations together do so
		whole = ir.Serial
	}
	body := inside(ir.Const(width), whole, f.Unroll)
	if len(body) == 0 {
		return nil, true
	}
	if width > 1 {
		fits := ir.When(ir.Is(ir.Add(first, ir.Const(width)), ir.Le, w.store.Extent), body...)
		fits.Else = ir.Do(inside(ir.Sub(w.store.Extent, first), ir.Serial, 0)...)
		body = []ir.Stmt{fits}
	}
	r := level.Within(w.store, w.parent)
	return []ir.Stmt{ir.Loop(block, r.Lo, r.Hi, append([]ir.Stmt{ir.Let(first, level.First(w.store, block))}, body...)...)}, true
}
