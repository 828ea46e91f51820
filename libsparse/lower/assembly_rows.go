package lower

import (
	"slices"

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
	return r.countRows(l, r.groups[0])
}

func (byRows) divide(*lowerer, *cin.Forall, env) ([]ir.Stmt, bool) { return nil, false }

// visit gives a row its cursor: from zero to count it, from where it begins to fill it.
func (r byRows) visit(l *lowerer, f *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	return r.visitLevel(l, f, body, e, func(g format.Group) []ir.Stmt {
		row, pos, cursor := l.position(r.access, g.First-1, e).Lo, r.pos(l, g), r.newCursor(l, g)
		e.cursor = e.cursor.with(g.First, cursor)
		before, after := appending(cursor, pos, row, e.phase == counting)
		if stmts := l.stmt(body, e); len(stmts) > 0 {
			return slices.Concat(before, stmts, after)
		}
		return nil
	})
}
