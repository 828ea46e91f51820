package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/ir"
)

// byRows appends to each row through a cursor of its own: the counting phase writes where rows begin, so that they may be filled
// in any order and by any thread.
type byRows struct{ pattern }

func (r byRows) frame(l *lowerer, e *env) (before, after []ir.Stmt) {
	if e.phase == computing {
		return nil, nil
	}
	return []ir.Stmt{r.clearPos(l, r.groups[0])}, r.sumRows(l, r.groups[0])
}

func (byRows) divide(*lowerer, *cin.Forall, env) ([]ir.Stmt, bool) { return nil, false }

// visit gives a row its cursor: from zero to count it, from where it begins to fill it.
func (r byRows) visit(l *lowerer, f *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	return r.visitLevel(l, f, body, e, func(level int, g format.Group) []ir.Stmt {
		row, pos, cursor := l.position(r.access, level, e).Lo, r.pos(l, g), r.newCursor(l, g)
		e.cursor = e.cursor.with(g.First, cursor)
		stmts := l.stmt(body, e)
		switch {
		case len(stmts) == 0:
			return nil
		case e.phase == computing:
			return append([]ir.Stmt{ir.Declare(cursor, ir.IndexAt(pos, row))}, stmts...)
		default:
			out := append([]ir.Stmt{ir.Declare(cursor, ir.Const(0))}, stmts...)
			return append(out, ir.Put(pos, ir.Next(row), cursor))
		}
	})
}
