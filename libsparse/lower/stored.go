package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// A loop over all coordinates that may visit them in any order follows a level which has them in an order of its own, so that
// what is below is read as it is stored. Where several have one, the others are located in.

// inStoredOrder is the level that the loop of f over all coordinates follows, if there is one.
func (l *lowerer) inStoredOrder(f *cin.Forall, e env) (it lattice.Iterator, ok bool) {
	if _, windowed := e.space[f.Var]; windowed || l.program.Derivation(f.Var) != nil || f.Unit == cin.Lanes || !l.anyOrder(f) {
		return it, false
	}
	for _, a := range index.Accesses(cin.Value(f.Body)) {
		if _, temporary := l.spaces[a.Tensor]; temporary {
			continue
		}
		for level, m := range a.Tensor.Format.ModeOrder {
			p := a.Tensor.Format.Levels[level].Props()
			if a.Vars[m] == f.Var && p.Full && !p.Ordered && a.Window(m) == nil && l.known(a, level-1, e) {
				return lattice.Iterator{Access: a, Level: level, Key: lattice.Key(a, level)}, true
			}
		}
	}
	return it, false
}

// anyOrder reports whether nothing that f writes has to be written in the order of its coordinates.
func (l *lowerer) anyOrder(f *cin.Forall) bool {
	out := cin.Written(f.Body)
	switch {
	case out.Tensor != l.program.Source.LHS.Tensor || !l.result.appends():
		return true
	case l.result.insert != nil: // what is inserted into a row has to ascend
		return l.program.Covers(rowVars(l.program), f.Var)
	default:
		return !appendsBy(out, f.Var)
	}
}

// known reports whether the position of an access at a level follows from what is bound.
func (l *lowerer) known(a *index.Access, level int, e env) bool {
	for ; level >= 0; level-- {
		if _, ok := e.pos[lattice.Key(a, level)]; ok {
			return true
		}
		if !a.Tensor.Format.Levels[level].Props().Locate || e.coord[a.Vars[a.Tensor.Format.ModeOrder[level]]] == nil {
			return false
		}
	}
	return true
}

// follow is the loop of f over the positions of a level with every coordinate.
func (l *lowerer) follow(f *cin.Forall, at lattice.Point, it lattice.Iterator, e env, kind ir.LoopKind) []ir.Stmt {
	r := l.children(it, e)
	p := l.positionVar(it, "")
	v := l.Index(string(e.called(f.Var)))
	inner := e.clone()
	inner.settle(f.Var, v)
	inner.pos[it.Key] = format.Range{Lo: p, Hi: ir.Next(p)}
	body := l.visitAt(f, at, inner)
	if len(body) == 0 {
		return nil
	}
	body = append([]ir.Stmt{ir.Let(v, l.coordinate(it, p, e))}, body...)
	return []ir.Stmt{l.counted(f, p, r.Lo, r.Hi, kind, body)}
}
