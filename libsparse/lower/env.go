package lower

import (
	"maps"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// env is what is known at one place of the loop nest.
type env struct {
	// coord is the coordinate of each bound variable.
	coord map[index.Var]ir.Expr
	// pos holds the positions that iterators stand at, by lattice.Key.
	pos map[string]format.Range
	// space is the range of values of variables that is visited here, where that isn't all of them or has been computed.
	space map[index.Var]span
	// chain links the variable of the loop to be lowered next with what it is a strip of.
	chain []strip
	// width and base are the width of the current tile by inner variable, and the tile's first coordinate by parent.
	width map[index.Var]int64
	base  map[index.Var]ir.Expr
	// partial says that an enclosing loop skips coordinates.
	partial bool
}

func newEnv() env {
	return env{coord: map[index.Var]ir.Expr{}, pos: map[string]format.Range{}, space: map[index.Var]span{}, width: map[index.Var]int64{}, base: map[index.Var]ir.Expr{}}
}

// clone copies e before something is added to it.
func (e env) clone() env {
	e.coord, e.pos, e.space = maps.Clone(e.coord), maps.Clone(e.pos), maps.Clone(e.space)
	e.width, e.base = maps.Clone(e.width), maps.Clone(e.base)
	return e
}

// extent is the number of coordinates of a variable of the source, whatever its name.
func (l *lowerer) extent(v index.Var) ir.Expr {
	v = l.program.Original(v)
	if n, ok := l.program.Exact[v]; ok {
		return ir.Const(n)
	}
	return l.slots.extents[v]
}

// extentOfMode is the extent of the mode that a level of t stores.
func (l *lowerer) extentOfMode(t *index.Tensor, level int) ir.Expr {
	for _, a := range append(index.Accesses(l.program.Source.RHS), l.program.Source.LHS) {
		if a.Tensor == t {
			return l.modeExtent(a, level)
		}
	}
	panic("BUG: " + t.Name + " is not stored")
}

// modeExtent is the extent of the mode that a level of an access stores: that of its variable, unless it is accessed
// through a window.
func (l *lowerer) modeExtent(a *index.Access, level int) ir.Expr {
	mode := a.Tensor.Format.ModeOrder[level]
	if a.Window(mode) != nil {
		return l.slots.modes[modeKey{a.Tensor, mode}]
	}
	return l.extent(a.Vars[mode])
}

// storage is the level of an access. A tile has the width of the variable that it is accessed by.
func (l *lowerer) storage(a *index.Access, level int, e env) format.Storage {
	v := a.Vars[a.Tensor.Format.ModeOrder[level]]
	if w, ok := l.spaces[a.Tensor]; ok {
		return w.storageOf(l, v, level, e)
	}
	s := l.slots.storage(a.Tensor, level, l.modeExtent(a, level))
	props := a.Tensor.Format.Levels[level].Props()
	if props.ConversionOnly {
		s.Parents = l.positions(a.Tensor, level-1)
	}
	if props.RowRelative {
		s.Row, s.Rows, s.Above = coordOf(a, level-1, e), l.modeExtent(a, level-1), l.position(a, level-2, e).Lo
	}
	return s
}

// position is where an access stands at a level: known from the loop that walks it, or located.
func (l *lowerer) position(a *index.Access, level int, e env) format.Range {
	if level < 0 {
		if r, ok := e.pos[rootKey(a.Tensor)]; ok {
			return r
		}
		return format.Range{Lo: ir.Const(0), Hi: ir.Const(1)}
	}
	if r, ok := e.pos[lattice.Key(a, level)]; ok {
		return r
	}
	kind := a.Tensor.Format.Levels[level]
	if !kind.Props().Locate {
		panic("BUG: no loop walks level " + kind.String() + " of " + a.String())
	}
	at := kind.Locate(l.storage(a, level, e), l.position(a, level-1, e).Lo, coordOf(a, level, e))
	return format.Range{Lo: at, Hi: ir.Next(at)}
}

// rootKey names the positions above the first level of a workspace.
func rootKey(t *index.Tensor) string { return t.Name + "," }

// value reads an expression at the current coordinates, in type t.
func (l *lowerer) value(x index.Expr, t dtype.T, e env) ir.Expr {
	switch x := x.(type) {
	case *index.Literal:
		return literal(x, t)
	case *index.Missing:
		return zero(t)
	case *index.Position:
		return &ir.Cast{X: e.coord[x.Var], To: t}
	case *index.Access:
		return l.element(x, t, e)
	case *index.Call:
		if x.Function != nil {
			return l.inlined(x, t, e)
		}
		args, u := make([]ir.Expr, len(x.Args)), x.ArgType(t)
		for i, a := range x.Args {
			args[i] = l.value(a, u, e)
		}
		return ir.Convert(apply(x.Op, u, args), t)
	default:
		panic("BUG: unknown index expression")
	}
}

func (l *lowerer) element(a *index.Access, t dtype.T, e env) ir.Expr {
	var read ir.Expr
	switch w, ok := l.spaces[a.Tensor]; {
	case a.Tensor.PatternOnly:
		return ir.Number(1, t)
	case ok:
		read = w.read(l, a, e)
	default:
		at := l.position(a, a.Tensor.Order()-1, e).Lo
		if a.Tensor.Permuted {
			at = ir.IndexAt(l.slots.arrays[arrayKey{a.Tensor, "perm", 0}], at)
		}
		read = ir.At(l.slots.vals(a.Tensor), at)
	}
	return ir.Convert(read, t)
}
