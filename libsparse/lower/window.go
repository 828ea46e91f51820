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

// walked is the level of an iterator at a place of the nest. Its window is nil if all of it is accessed.
type walked struct {
	format.Level
	store  format.Storage
	parent format.Range
	window *index.Window
}

func (l *lowerer) walked(it lattice.Iterator, e env) walked {
	return walked{l.format(it.Access.Tensor).Levels[it.Level], l.storage(it.Access, it.Level, e), l.position(it.Access, it.Level-1, e), it.Access.Window(l.format(it.Access.Tensor).ModeOrder[it.Level])}
}

// coordOf is the coordinate of a level of an access at the current values of the variables.
func (l *lowerer) coordOf(a *index.Access, level int, e env) ir.Expr {
	m := l.format(a.Tensor).ModeOrder[level]
	v := e.coord.get(a.Vars[m])
	if w := a.Window(m); w != nil {
		return ir.Add(ir.Mul(v, ir.Const(w.Step)), ir.Const(w.Lo))
	}
	return v
}

// located is the positions of the coordinates from lo to hi of a level that computes them.
func (w walked) located(lo, hi ir.Expr) format.Range {
	return format.Range{Lo: w.Locate(w.store, w.parent.Lo, lo), Hi: w.Locate(w.store, w.parent.Lo, hi)}
}

// children is the range of steps of an iterator: of a level with a position for every coordinate, those of the window.
func (l *lowerer) children(it lattice.Iterator, e env) format.Range {
	w := l.walked(it, e)
	if w.window == nil || !w.Props().Locate {
		return w.Children(w.store, w.parent)
	}
	return w.located(ir.Const(w.window.Lo), ir.Const(w.window.Hi))
}

// coordinate is the value of the variable at a step of an iterator where something is stored.
func (l *lowerer) coordinate(it lattice.Iterator, at ir.Expr, e env) ir.Expr {
	w := l.walked(it, e)
	c := w.Coord(w.store, w.parent, at)
	if w.window != nil {
		c = ir.Div(ir.Sub(ir.Convert(c, dtype.I64), ir.Const(w.window.Lo)), ir.Const(w.window.Step))
	}
	return c
}

// valid says whether an iterator's level stores something within its window at a step; nil where it always does.
func (l *lowerer) valid(it lattice.Iterator, at ir.Expr, e env) ir.Expr {
	w := l.walked(it, e)
	var conds []ir.Expr
	if w.window != nil {
		c := ir.Convert(w.Coord(w.store, w.parent, at), dtype.I64)
		if !w.Props().Locate {
			conds = append(conds, ir.Is(c, ir.Ge, ir.Const(w.window.Lo)), ir.Is(c, ir.Lt, ir.Const(w.window.Hi)))
		}
		if step := ir.Const(w.window.Step); step.Value != 1 {
			first := ir.Sub(c, ir.Const(w.window.Lo))
			conds = append(conds, ir.Is(ir.Mul(ir.Div(first, step), step), ir.Eq, first))
		}
	}
	if used := w.Valid(w.store, w.parent, at); used != nil {
		conds = append(conds, used)
	}
	if conds == nil {
		return nil
	}
	return ir.All(conds...)
}

// place is the positions that the steps from first to last stand for: several only where they are positions themselves.
func (l *lowerer) place(it lattice.Iterator, first, last ir.Expr, e env) format.Range {
	w := l.walked(it, e)
	lo := w.Place(w.store, w.parent, first)
	if lo == first {
		return format.Range{Lo: first, Hi: last}
	}
	return format.Range{Lo: lo, Hi: ir.Next(lo)}
}

// guardWindows makes a kernel refuse tensors that a window goes beyond.
func (l *lowerer) guardWindows(refuse func(cond ir.Expr)) {
	seen := map[modeKey]int64{}
	for _, a := range append(index.Accesses(l.program.Source.RHS), l.program.Source.LHS) {
		for m, w := range a.Windows {
			if w == nil {
				continue
			}
			if k := (modeKey{a.Tensor, m}); w.Hi > seen[k] {
				seen[k] = w.Hi
				refuse(ir.Is(l.slots.modes[k], ir.Lt, ir.Const(w.Hi)))
			}
			refuse(ir.Is(l.extent(a.Vars[m]), ir.Ne, ir.Const(w.Extent())))
		}
	}
}
