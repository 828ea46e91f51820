package lower

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Through a window a variable's value v stands for coordinate lo + step*v of its mode. What is stored outside of the
// window is passed over like the positions of a bitmap that are not in use.

// windowOf is the window of a level of an access, nil if all of it is accessed.
func windowOf(a *index.Access, level int) *index.Window {
	return a.Window(a.Tensor.Format.ModeOrder[level])
}

// coordOf is the coordinate of a level of an access at the current values of the variables.
func coordOf(a *index.Access, level int, e env) ir.Expr {
	v := e.coord.get(a.Vars[a.Tensor.Format.ModeOrder[level]])
	w := windowOf(a, level)
	if w == nil {
		return v
	}
	if w.Step != 1 {
		v = ir.Mul(v, ir.Const(w.Step))
	}
	if w.Lo == 0 {
		return v
	}
	return ir.Add(v, ir.Const(w.Lo))
}

// children is the range of positions that an iterator walks here: of a level with a position for every coordinate, those
// of the window.
func (l *lowerer) children(it lattice.Iterator, e env) format.Range {
	level, parent := it.Access.Tensor.Format.Levels[it.Level], l.position(it.Access, it.Level-1, e)
	store := l.storage(it.Access, it.Level, e)
	w := windowOf(it.Access, it.Level)
	if w == nil || !level.Props().Locate {
		return level.Children(store, parent)
	}
	return format.Range{Lo: level.Locate(store, parent.Lo, ir.Const(w.Lo)), Hi: level.Locate(store, parent.Lo, ir.Const(w.Hi))}
}

// stored is the coordinate that an iterator's level stores at a position.
func (l *lowerer) stored(it lattice.Iterator, at ir.Expr, e env) ir.Expr {
	parent := l.position(it.Access, it.Level-1, e)
	return it.Access.Tensor.Format.Levels[it.Level].Coord(l.storage(it.Access, it.Level, e), parent, at)
}

// coordinate is the value of the variable at a position of an iterator where something is stored.
func (l *lowerer) coordinate(it lattice.Iterator, at ir.Expr, e env) ir.Expr {
	c, w := l.stored(it, at, e), windowOf(it.Access, it.Level)
	if w == nil {
		return c
	}
	if w.Lo != 0 {
		c = ir.Sub(ir.Convert(c, dtype.I64), ir.Const(w.Lo))
	}
	if w.Step != 1 {
		c = ir.Div(ir.Convert(c, dtype.I64), ir.Const(w.Step))
	}
	return c
}

// valid says whether an iterator's level stores something within its window at a position; nil where it always does.
func (l *lowerer) valid(it lattice.Iterator, at ir.Expr, e env) ir.Expr {
	level := it.Access.Tensor.Format.Levels[it.Level]
	used := level.Valid(l.storage(it.Access, it.Level, e), l.position(it.Access, it.Level-1, e), at)
	w := windowOf(it.Access, it.Level)
	if w == nil {
		return used
	}
	c := ir.Convert(l.stored(it, at, e), dtype.I64)
	var conds []ir.Expr
	if !level.Props().Locate {
		conds = append(conds, ir.Is(c, ir.Ge, ir.Const(w.Lo)), ir.Is(c, ir.Lt, ir.Const(w.Hi)))
	}
	if w.Step != 1 {
		first := ir.Sub(c, ir.Const(w.Lo))
		quotient := ir.Mul(ir.Div(first, ir.Const(w.Step)), ir.Const(w.Step))
		conds = append(conds, ir.Is(quotient, ir.Eq, first))
	}
	if used != nil {
		conds = append(conds, used)
	}
	if len(conds) == 0 {
		return nil
	}
	return ir.All(conds...)
}

// guardWindows makes a kernel refuse tensors that a window goes beyond.
func (l *lowerer) guardWindows(refuse func(cond ir.Expr)) {
	seen := map[modeKey]int64{}
	for _, a := range append(index.Accesses(l.program.Source.RHS), l.program.Source.LHS) {
		for m, w := range a.Windows {
			if k := (modeKey{a.Tensor, m}); w != nil && w.Hi > seen[k] {
				seen[k] = w.Hi
				refuse(ir.Is(l.slots.modes[k], ir.Lt, ir.Const(w.Hi)))
			}
			if w != nil {
				refuse(ir.Is(l.extent(a.Vars[m]), ir.Ne, ir.Const(w.Extent())))
			}
		}
	}
}
