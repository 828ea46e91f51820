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

// tileOf is a tile of a split: its first coordinate, and its width.
type tileOf struct {
	base  ir.Expr
	width int64
}

func (l *lowerer) tile(f *cin.Forall, s *cin.Split, e env, base ir.Expr, width int64) []ir.Stmt {
	e.tile = e.tile.with(s.Inner, tileOf{base, width})
	return l.stmt(f.Body, e)
}

// inside lowers the loop within a tile: a window of the parent's values, of constant width.
func (l *lowerer) inside(f *cin.Forall, s *cin.Split, e env, kind ir.LoopKind) []ir.Stmt {
	tile := e.tile.get(s.Inner)
	e.chain = append(e.chain, strip{child: f.Var, parent: s.Parent, base: tile.base})
	e.narrow(s.Parent, span{start: tile.base, count: ir.Const(tile.width)})
	return l.along(f, s.Parent, e, kind)
}
