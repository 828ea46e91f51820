package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// An entry of a result is a place of the last level that says what is stored: an element, or a block of the dense levels below.
// It exists where one of its elements has a term.

// visitBlock is an entry that is a block: it is appended if something was written to it.
func (r *result) visitBlock(l *lowerer, g format.Group, body cin.Stmt, inner, e env) []ir.Stmt {
	entry := r.appendEntry(l, g, e)
	// Positions of a group below have been written already, and threads inside of an entry don't tell each other.
	if l.certain(body) || divided(body) || g != r.groups[len(r.groups)-1] {
		return append(l.stmt(body, inner), entry...)
	}
	if w, ok := body.(*cin.Where); ok && l.registers(w) && l.entry(w) {
		return l.where(w, inner, entry...)
	}
	r.written = l.Scalar(r.access.Tensor.Name+"_set", dtype.Bool)
	out := append([]ir.Stmt{ir.Declare(r.written, ir.Bool(false))}, l.stmt(body, inner)...)
	out = append(out, ir.When(ir.Is(r.written, ir.Ne, ir.Bool(false)), entry...))
	r.written = nil
	return out
}

// divided reports whether threads share a loop in s.
func divided(s cin.Stmt) bool {
	switch s := s.(type) {
	case *cin.Forall:
		return s.Unit == cin.Threads || divided(s.Body)
	case *cin.Where:
		return divided(s.Producer) || divided(s.Consumer)
	default:
		return false
	}
}

// registers reports whether the workspace of s is read as a whole.
func (l *lowerer) registers(s *cin.Where) bool {
	storage := l.program.Workspaces[cin.Written(s.Producer).Tensor]
	return storage == cin.Tile || storage == cin.Array
}

// inTail reports whether variables are those of dense levels below the last one that says what is stored.
func (l *lowerer) inTail(vars []index.Var) bool {
	lhs := l.program.Source.LHS
	levels := lhs.Tensor.Format.Levels
	last := len(levels) - 1
	for last >= 0 && levels[last].Props().Full {
		last--
	}
	for _, v := range vars {
		for _, root := range l.program.Roots(v) {
			m := slices.Index(lhs.Vars, root)
			if m < 0 || lhs.Tensor.Format.LevelOf(m) <= last {
				return false
			}
		}
	}
	return true
}

// certain reports whether s writes all that it could: its loops are over variables of the result, and nothing in it is sparse in
// them. A window may be empty where the block that it is in isn't.
func (l *lowerer) certain(s cin.Stmt) bool {
	switch s := s.(type) {
	case *cin.Forall:
		lhs := l.program.Source.LHS
		for _, root := range l.program.Roots(s.Var) {
			m := slices.Index(lhs.Vars, root)
			if m < 0 || lhs.Window(m) != nil || l.sparseIn(s.Body, root) {
				return false
			}
		}
		return l.certain(s.Body)
	case *cin.Where:
		return l.certain(s.Producer) && l.certain(s.Consumer)
	default:
		return true
	}
}

// whole reports whether s writes all elements over some variables or none: nothing that it reads is sparse in them.
func (l *lowerer) whole(s cin.Stmt, vars []index.Var) bool {
	return !slices.ContainsFunc(vars, func(v index.Var) bool {
		return slices.ContainsFunc(l.program.Roots(v), func(root index.Var) bool { return l.sparseIn(s, root) })
	})
}

// sparseIn reports whether an operand that s reads stores some coordinates of v only.
func (l *lowerer) sparseIn(s cin.Stmt, v index.Var) bool {
	return slices.ContainsFunc(index.Accesses(cin.Value(s)), func(a *index.Access) bool {
		m := slices.Index(a.Vars, v)
		return m >= 0 && !a.Tensor.Format.Levels[a.Tensor.Format.LevelOf(m)].Props().Full
	})
}
