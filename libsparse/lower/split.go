package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/ir"
)

// tiles lowers the loop over the outer half of a split: full tiles first, then the remainder in tiles of the tail's
// width, the last of them shifted inwards so that no tile has a variable width.
func (l *lowerer) tiles(f *cin.Forall, s *cin.Split, e env, kind ir.LoopKind) []ir.Stmt {
	n := l.extent(s.Parent)
	base := l.Index(string(f.Var))
	full := l.tile(f, s, e, base, s.Factor)
	if len(full) == 0 {
		return nil
	}
	out := []ir.Stmt{&ir.For{
		Var: base, Lo: ir.Const(0), Hi: ir.Sub(n, ir.Const(s.Factor-1)), Step: s.Factor,
		Kind: kind, Chunk: l.chunk(kind, n), Body: ir.Do(full...),
	}}
	if known, ok := n.(*ir.Int); ok && known.Value%s.Factor == 0 {
		return out
	}
	at := l.Index(string(f.Var))
	shifted := l.Index(string(f.Var) + "_shifted")
	rest := []ir.Stmt{ir.Let(shifted, ir.Min(at, ir.Sub(n, ir.Const(s.Tail))))}
	rest = append(rest, l.tile(f, s, e, shifted, s.Tail)...)
	done := ir.Mul(ir.Div(n, ir.Const(s.Factor)), ir.Const(s.Factor))
	return append(out, &ir.For{Var: at, Lo: done, Hi: n, Step: s.Tail, Kind: kind, Chunk: l.chunk(kind, n), Body: ir.Do(rest...)})
}

func (l *lowerer) tile(f *cin.Forall, s *cin.Split, e env, base ir.Expr, width int64) []ir.Stmt {
	inner := e.clone()
	inner.base[s.Parent] = base
	inner.width[s.Inner] = width
	return l.stmt(f.Body, inner)
}

// inside lowers the loop within a tile: a window of the parent's values, of constant width.
func (l *lowerer) inside(f *cin.Forall, s *cin.Split, e env, kind ir.LoopKind) []ir.Stmt {
	base := e.base[s.Parent]
	e.chain = append(e.chain, strip{child: f.Var, parent: s.Parent, base: base})
	e.space[s.Parent] = span{start: base, count: ir.Const(e.width[s.Inner])}
	return l.along(f, s.Parent, e, kind)
}
