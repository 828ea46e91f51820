package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// An entry of a result is a place of the last level that is not dense: an element, or a block of the dense levels below.
// It exists where one of its elements has a term.

// decides reports whether s fills one entry of the result, which exists only if a term does: its workspace has a place for each
// element, and no record of which are in use.
func (l *lowerer) decides(s *cin.Where, e env) bool {
	t, w := l.program.Source.LHS.Tensor, cin.Written(s.Producer)
	if !workspaces[l.program.Workspaces[w.Tensor]].dense || !l.of(t).Discovered() && (len(l.masks()) == 0 || e.phase == counting) {
		return false
	}
	if l.format(w.Tensor).Order() == 0 && !denseBlocks(l.of(t)) {
		return true
	}
	alike := !l.of(t).Discovered() && !l.anyRoot(w.Vars, func(root index.Var) bool { return l.program.Source.Varies(cin.Value(s.Producer), root) })
	sparse := l.anyRoot(w.Vars, func(root index.Var) bool { return l.sparseIn(s.Producer, root) })
	return (alike || l.inBlock(w.Vars)) && !sparse && !l.certain(s.Producer) && !onThreads(s.Producer)
}

// onThreads reports whether threads share a loop in s.
func onThreads(s cin.Stmt) bool {
	return slices.ContainsFunc(cin.Loops(s), func(f *cin.Forall) bool { return f.Unit == cin.Threads })
}

// anyRoot reports whether a variable of the source that vars derive from has a property.
func (l *lowerer) anyRoot(vars []index.Var, has func(root index.Var) bool) bool {
	return slices.ContainsFunc(vars, func(v index.Var) bool { return slices.ContainsFunc(l.program.Roots(v), has) })
}

// inBlock reports whether variables belong to dense levels below the last one that is not dense.
func (l *lowerer) inBlock(vars []index.Var) bool {
	lhs := l.program.Source.LHS
	sparse := func(level format.Level) bool { return !level.Props().Full }
	return !l.anyRoot(vars, func(root index.Var) bool {
		m := slices.Index(lhs.Vars, root)
		return m < 0 || slices.ContainsFunc(l.format(lhs.Tensor).Levels[l.format(lhs.Tensor).LevelOf(m):], sparse)
	})
}

// certain reports whether s writes all that it could: its loops are over variables of the result, and nothing in it is sparse in
// them. A window may be empty where the block that it is in isn't.
func (l *lowerer) certain(s cin.Stmt) bool {
	lhs := l.program.Source.LHS
	return !slices.ContainsFunc(cin.Loops(s), func(f *cin.Forall) bool {
		return l.anyRoot([]index.Var{f.Var}, func(root index.Var) bool {
			m := slices.Index(lhs.Vars, root)
			return m < 0 || lhs.Window(m) != nil || l.sparseIn(f.Body, root)
		})
	})
}

// sparseIn reports whether an operand that s reads stores some coordinates of v only.
func (l *lowerer) sparseIn(s cin.Stmt, v index.Var) bool {
	return slices.ContainsFunc(index.Accesses(cin.Value(s)), func(a *index.Access) bool {
		m := slices.Index(a.Vars, v)
		return m >= 0 && !l.format(a.Tensor).Levels[l.format(a.Tensor).LevelOf(m)].Props().Full
	})
}
