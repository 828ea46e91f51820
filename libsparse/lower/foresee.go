package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// A step of a merge without branches waits for the last: a comparison moves a cursor, and the coordinate there is read before the next comparison.
// Where the coordinate behind each cursor is read ahead of time, the comparison only chooses between two that are there, and what is read
// is not needed before the step after next (measured: sums and products of four matrices with others on Zen 4, 1.2 to 1.5 times as fast).

// foreseen is the loop over two cursors with the coordinates behind them read ahead, to stand before the one that reads them when they are needed:
// that takes the last rows, behind which nothing may be read. It is nil where a branch tells which cursor moves.
func (l *lowerer) foreseen(f *cin.Forall, lat lattice.Lattice, p lattice.Point, cs []cursor, e env) ir.Stmt {
	points := lat.Below(p)
	readable := func(c cursor) ir.Expr { return l.within(c.it, f.Var, e) }
	if _, assigns := f.Body.(*cin.Assign); !assigns || !l.comparable(cs, e) || l.gallops(f, lat, cs, e) || len(points) > 1 && !f.Choose ||
		slices.ContainsFunc(cs, func(c cursor) bool { return !c.it.Props().Unique || readable(c) == nil }) {
		return nil
	}
	name := string(e.called(f.Var))
	v := l.Index(name)
	inner := e
	inner.partial = true
	inner.settle(f.Var, v)
	var matches []match
	var more, within, coords []ir.Expr
	var begin, moved, advance []ir.Stmt
	for _, c := range cs {
		here := l.Index(name + l.program.Source.Owner(c.it.Access.Tensor).Name)
		next := l.Index(here.Name + "_next")
		begin = append(begin, ir.Declare(here, l.coordinate(c.it, c.pos, e)), ir.Declare(next, l.coordinate(c.it, ir.Next(c.pos), e)))
		within = append(within, ir.Is(ir.Next(c.end), ir.Lt, readable(c)))
		more = append(more, ir.Is(c.pos, ir.Lt, c.end))
		coords = append(coords, here)
		matches = append(matches, match{it: c.it, first: c.pos, last: ir.Next(c.pos), held: ir.Is(here, ir.Eq, v)})
		passed := l.Index(l.positionName(c.it) + "_passed") // in a whole register: one byte of it would wait for what was in the others before
		moved = append(moved, ir.Let(passed, nil))
		advance = append(advance, ir.Set(c.pos, ir.Add(c.pos, passed)),
			ir.Set(here, &ir.Select{Cond: ir.Is(passed, ir.Ne, ir.Const(0)), Then: next, Else: here}), ir.Set(next, l.coordinate(c.it, ir.Next(c.pos), e)))
	}
	for i, s := range moved {
		s.(*ir.Decl).Init = &ir.Cast{X: ir.Is(coords[i], ir.NotAbove, coords[1-i]), To: dtype.I64}
	}
	cases := chain(l.branchesOf(f, points, matches, inner))
	if cases == nil {
		return nil
	}
	body, ok := l.choose(f, points, matches, cases)
	if !ok && len(points) > 1 {
		return nil
	} else if !ok {
		body, ok = l.overwritten(f, points, matches, cases)
	}
	if !ok {
		body = []ir.Stmt{cases}
	}
	body = slices.Concat([]ir.Stmt{ir.Let(v, ir.Min(coords[0], coords[1]))}, body, moved, advance)
	return ir.When(ir.All(within...), append(begin, ir.Repeat(ir.All(more...), body...))...)
}
