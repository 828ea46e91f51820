package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// byRows appends to each row through a cursor of its own: the counting phase writes where rows begin, so that they may be filled
// in any order and by any thread.
type byRows struct{ pattern }

func (r byRows) frame(l *lowerer, e *env) (before, after []ir.Stmt) {
	if e.phase != counting {
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

// revalued reports whether the values of a result can be computed into the rows of an earlier call, without finding their entries anew:
// entries of the last level are in rows, and each workspace that lists entries has those of a row of the result. Without such a workspace
// there is little to gain, and a function to compile.
func revalued(p *cin.Program, lattices *lattice.Table) bool {
	result := p.Source.Result()
	last := result.Format.Order() - 1
	if !result.Discovered() || p.Insert || p.Source.LHS.Windowed() || !result.Format.Rowwise() || result.Format.Groups()[0].First != last {
		return false
	}
	l, listed := &lowerer{program: p, lattices: lattices}, false
	for s := range cin.Within(p.Body) {
		w, ok := s.(*cin.Where)
		if !ok {
			continue
		}
		if s := p.Workspaces[cin.Written(w.Producer).Tensor]; workspaces[s].dense || s == cin.Lookup {
			continue
		}
		if !l.fillsRow(w, p.Source.LHS.Vars[result.Format.ModeOrder[last]]) {
			return false
		}
		listed = true
	}
	return listed
}

// fillsRow reports whether the entries of the workspace of s are those of a row of the result over v.
func (l *lowerer) fillsRow(s *cin.Where, v index.Var) bool {
	w := cin.Written(s.Producer)
	return l.program.Workspaces[w.Tensor].Placed() && slices.Equal(w.Vars, []index.Var{v}) && l.isCopied(s)
}

// knownRow is the current row of the result, as an earlier call left its coordinates.
func (l *lowerer) knownRow(e env) ([]*ir.Array, format.Range) {
	p := newPattern(l)
	g := p.groups[0]
	row := l.position(p.access, g.First-1, e).Lo
	s := l.slots.storage(p.access.Tensor, g.First, nil)
	return []*ir.Array{s.Crd}, format.Range{Lo: ir.IndexAt(s.Pos, row), Hi: ir.IndexAt(s.Pos, ir.Next(row))}
}
