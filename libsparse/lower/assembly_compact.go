package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/ir"
)

// compact appends entries one after the other, on one thread. The levels of one group share a cursor, the number of entries
// appended so far.
type compact struct{ pattern }

func (c compact) frame(l *lowerer, e *env) (before, after []ir.Stmt) {
	c.withCursors(l, e)
	for _, g := range c.groups {
		cursor, pos := e.cursor.get(g.First), c.pos(l, g)
		start := ir.Declare(cursor, ir.Const(0))
		switch {
		case e.phase == counting:
			before, after = append(before, start), append(after, c.countOut(l, g, cursor)...)
		case c.belowRows(g):
			clear, sum := summed(pos, c.parents(l, g))
			before, after = append(before, clear, start), append(after, sum)
		default:
			before = append(before, start, ir.Put(pos, ir.Const(0), ir.Const(0)))
			if g.First == 0 {
				after = append(after, ir.Put(pos, ir.Const(1), cursor))
			}
		}
	}
	return before, after
}

// belowRows reports whether a group is below a level whose positions are computed, not all of which a loop need visit.
func (p pattern) belowRows(g format.Group) bool {
	return g.First > 0 && p.storage.Format.Levels[g.First-1].Props().Locate
}

// divide runs the loop on one thread.
func (pattern) divide(l *lowerer, f *cin.Forall, e env) ([]ir.Stmt, bool) {
	if f.Unit != cin.Threads {
		return nil, false
	}
	return l.loop(f, e, ir.Serial), true
}

func (p pattern) visit(l *lowerer, f *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	return p.visitLevel(l, f, body, e, func(child format.Group) []ir.Stmt {
		if e.phase == counting {
			return l.stmt(body, e)
		}
		cursor, begin := e.cursor.get(child.First), l.Index("begin")
		out := append([]ir.Stmt{ir.Let(begin, cursor)}, l.stmt(body, e)...)
		return append(out, ir.Put(p.pos(l, child), ir.Next(l.position(p.access, child.First-1, e).Lo), ir.Sub(cursor, begin)))
	})
}

// visitLevel lowers the body of the loop f at one coordinate; row does so where f is over the level above a group.
func (p pattern) visitLevel(l *lowerer, f *cin.Forall, body cin.Stmt, e env, row func(child format.Group) []ir.Stmt) []ir.Stmt {
	level := p.storage.Format.LevelOf(slices.Index(p.access.Vars, f.Var))
	for i, g := range p.groups {
		switch level {
		case g.Last:
			return p.visitEntry(l, i, body, e)
		case g.First - 1:
			return row(g)
		}
	}
	return l.stmt(body, e)
}

// visitEntry is the last level of a group: below it are the levels of one entry, which is appended if they hold something. At the
// last level of the tensor the assignment itself appends.
func (p pattern) visitEntry(l *lowerer, i int, body cin.Stmt, e env) []ir.Stmt {
	g, last := p.groups[i], i == len(p.groups)-1
	if g.Last == l.format(p.access.Tensor).Order()-1 {
		return l.stmt(body, e)
	}
	cursor, inner := e.cursor.get(g.First), e
	inner.pos = e.pos.with(l.key(p.access, g.Last), format.Range{Lo: cursor, Hi: ir.Next(cursor)})
	if last || p.groups[i+1].First > g.Last+1 {
		return p.visitBlock(l, g, body, inner, e)
	}
	child := p.groups[i+1]
	below, begin := e.cursor.get(child.First), l.Index("begin")
	stmts := l.stmt(body, inner)
	if len(stmts) == 0 {
		return nil
	}
	var entry []ir.Stmt
	if e.phase == computing {
		entry = append(entry, ir.Put(p.pos(l, child), ir.Next(cursor), below))
	}
	entry = append(entry, p.appendEntry(l, g, e)...)
	out := append([]ir.Stmt{ir.Let(begin, below)}, stmts...)
	return append(out, ir.When(ir.Is(below, ir.Gt, begin), entry...))
}

// visitBlock is an entry that is a block of dense levels: it is appended if something was written to it.
func (p pattern) visitBlock(l *lowerer, g format.Group, body cin.Stmt, inner, e env) []ir.Stmt {
	entry := p.appendEntry(l, g, e)
	// Positions of a group below have been written already, and threads inside of an entry don't tell each other.
	if l.certain(body) || onThreads(body) || g != p.groups[len(p.groups)-1] {
		return append(l.stmt(body, inner), entry...)
	}
	// A workspace that was written decides only if its consumer writes all of the entry.
	if w, ok := body.(*cin.Where); ok && l.decides(w, e) && l.certain(w.Consumer) {
		return l.where(w, inner, entry...)
	}
	inner.written = l.Scalar(p.access.Tensor.Name+"_set", dtype.Bool)
	out := append([]ir.Stmt{ir.Declare(inner.written, ir.Bool(false))}, l.stmt(body, inner)...)
	return append(out, ir.When(ir.Is(inner.written, ir.Ne, ir.Bool(false)), entry...))
}

// appendEntry writes the coordinates of a group and moves its cursor on.
func (p pattern) appendEntry(l *lowerer, g format.Group, e env) []ir.Stmt {
	cursor := e.cursor.get(g.First)
	var out []ir.Stmt
	if e.phase == computing {
		out = p.coordinates(l, g, cursor, e)
	}
	return append(out, ir.Increment(cursor))
}

// coordinates writes those of the entry of a group at a position.
func (p pattern) coordinates(l *lowerer, g format.Group, at ir.Expr, e env) (out []ir.Stmt) {
	for level := g.First; level <= g.Last; level++ {
		if p.crd[level] != nil {
			out = append(out, ir.Put(p.crd[level], at, l.coordOf(p.access, level, e)))
		}
	}
	return out
}

func (p pattern) assign(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	var out []ir.Stmt
	if e.phase == computing {
		out = l.mark(a.LHS, e)
	}
	if e.written != nil {
		out = append(out, ir.Set(e.written, ir.Bool(true)))
	}
	g, inBlock := p.groups[len(p.groups)-1], denseBlocks(p.storage)
	if e.phase != counting {
		at := ir.Expr(e.cursor.get(g.First))
		if inBlock {
			at = l.elementAt(a.LHS, e)
		}
		out = append(out, l.put(a, at, e))
	}
	if inBlock {
		l.partly = true
		return out
	}
	return append(out, p.appendEntry(l, g, e)...)
}
