package lower

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// scope is a chain of bindings, innermost first. A nil scope is empty; scopes never change, so places of the nest share them.
type scope[K comparable, V any] struct {
	key    K
	value  V
	parent *scope[K, V]
}

func (s *scope[K, V]) with(key K, value V) *scope[K, V] {
	return &scope[K, V]{key: key, value: value, parent: s}
}

func (s *scope[K, V]) lookup(key K) (value V, ok bool) {
	for ; s != nil; s = s.parent {
		if s.key == key {
			return s.value, true
		}
	}
	return value, false
}

// get is the value that key is bound to, zero where it isn't.
func (s *scope[K, V]) get(key K) V {
	value, _ := s.lookup(key)
	return value
}

// env is the bindings at one place of the loop nest. It is a value: inner places extend copies of it.
type env struct {
	phase phase
	// coord is the coordinate of each bound variable.
	coord *scope[index.Var, ir.Expr]
	// pos holds the positions that iterators stand at, by lattice.Key.
	pos *scope[string, format.Range]
	// groups has the number of the group that a position is in, by lattice.Key, where a loop visits groups.
	groups *scope[string, ir.Expr]
	// span is the range of values of variables that is visited here, where that isn't all of them or has been computed.
	span *scope[index.Var, span]
	// chain links the variable of the loop that is lowered next with the variables that it is a strip of.
	chain []strip
	// tile is the current tile of a split by its inner variable.
	tile *scope[index.Var, span]
	// held are the levels that have the coordinate of the innermost loop that merges some.
	held []lattice.Iterator
	// partial says that an enclosing loop skips coordinates.
	partial bool

	// region is the enclosing function or parallel region.
	region *region
	// writers are the workspaces that producers fill, views those that consumers read.
	writers *scope[*index.Tensor, writer]
	views   *scope[*index.Tensor, *view]
	// covered is the workspace whose range of places in use has the coordinates of an enclosing loop.
	covered *index.Tensor

	// out is where elements of the result go.
	out target
	// cursor is where the next entry of the result goes, by the first level of its group.
	cursor *scope[int, *ir.Var]
	// written is set by whatever writes to the entry at the cursor, where that decides whether it is appended.
	written *ir.Var
	// row is the first cursor of the part of an insertion, one for each row; nil where rows have one cursor.
	row ir.Expr
}

// region collects what lives as long as a function or a parallel region.
type region struct {
	allocs, frees []ir.Stmt
	workspaces    map[*index.Tensor]workspace
	// private says that each thread of a team has its own.
	private bool
}

// local adds an array that is allocated and freed with the region.
func (r *region) local(a *ir.Array, size ir.Expr, zero bool) {
	r.allocs = append(r.allocs, &ir.Alloc{Array: a, Size: size, Zero: zero, Heap: true})
	r.frees = append(r.frees, &ir.Free{Array: a})
}

// extent is the number of coordinates of a variable of the source, whatever its name.
func (l *lowerer) extent(v index.Var) ir.Expr {
	v = l.program.Original(v)
	if n, ok := l.program.Exact(v); ok {
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
	mode := l.format(a.Tensor).ModeOrder[level]
	if a.Window(mode) != nil {
		return l.slots.modes[modeKey{a.Tensor, mode}]
	}
	return l.extent(a.Vars[mode])
}

// stored is a level of a stored tensor, whatever the place of the nest.
func (l *lowerer) stored(t *index.Tensor, level int) format.Storage {
	s := l.slots.storage(t, level, l.extentOfMode(t, level))
	s.Rows = ir.Const(1)
	if level > 0 {
		s.Rows = l.extentOfMode(t, level-1)
	}
	return s
}

// storage is the level of an access.
func (l *lowerer) storage(a *index.Access, level int, e env) format.Storage {
	if w := e.views.get(a.Tensor); w != nil {
		return w.storage(l, a.Vars[l.format(a.Tensor).ModeOrder[level]], level, e)
	}
	s := l.slots.storage(a.Tensor, level, l.modeExtent(a, level))
	props := l.format(a.Tensor).Levels[level].Props()
	if props.ConversionOnly {
		s.Parents = l.positions(a.Tensor, level-1)
	}
	if props.RowRelative {
		s.Row, s.Rows, s.Above = l.coordOf(a, level-1, e), l.modeExtent(a, level-1), l.position(a, level-2, e).Lo
	}
	return s
}

// position is where an access stands at a level: known from the loop that walks it, or located.
func (l *lowerer) position(a *index.Access, level int, e env) format.Range {
	if level < 0 {
		if w := e.views.get(a.Tensor); w != nil && w.crd != nil {
			return w.entries
		}
		return format.Range{Lo: ir.Const(0), Hi: ir.Const(1)}
	}
	key := l.key(a, level)
	if r, ok := e.pos.lookup(key); ok {
		r.Group = e.groups.get(key)
		return r
	}
	kind := l.format(a.Tensor).Levels[level]
	if !kind.Props().Locate {
		panic("BUG: no loop walks level " + kind.String() + " of " + a.String())
	}
	at := kind.Locate(l.storage(a, level, e), l.position(a, level-1, e).Lo, l.coordOf(a, level, e))
	return format.Range{Lo: at, Hi: ir.Next(at), Group: e.groups.get(key)}
}

// elementAt is the position of an element: that of its last level.
func (l *lowerer) elementAt(a *index.Access, e env) ir.Expr {
	return l.position(a, l.format(a.Tensor).Order()-1, e).Lo
}

// value reads an expression at the current coordinates, in type t.
func (l *lowerer) value(x index.Expr, t dtype.T, e env) ir.Expr {
	switch x := x.(type) {
	case *index.Literal:
		return literal(x, t)
	case *index.Missing:
		return zero(t)
	case *index.Position:
		return &ir.Cast{X: e.coord.get(x.Var), To: t}
	case *index.Access:
		return ir.Convert(l.element(x, t, e), t)
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
	if a.Tensor.PatternOnly {
		return ir.Number(1, t)
	}
	if w := e.views.get(a.Tensor); w != nil {
		return w.element(l, a, e)
	}
	if l.scalars != nil && l.of(a.Tensor).Format.Order() == 0 {
		return l.scalar(a.Tensor)
	}
	at := l.elementAt(a, e)
	if l.of(a.Tensor).Permuted {
		at = ir.IndexAt(l.slots.arrays[arrayKey{a.Tensor, "perm", 0}], at)
	}
	return ir.At(l.slots.vals(a.Tensor), at)
}

// scalar is the variable that holds an operand without modes: C compilers load it in each iteration where a condition stands before, and
// then make no vectors of the loop.
func (l *lowerer) scalar(t *index.Tensor) *ir.Var {
	v := l.scalars[t]
	if v == nil {
		elem := t.Elem
		if elem.IsHalf() { // which no variable holds
			elem = dtype.F32
		}
		v = l.Scalar(t.Name, elem)
		l.scalars[t] = v
	}
	return v
}

// loads are the statements that load operands without modes.
func (l *lowerer) loads() (out []ir.Stmt) {
	for _, t := range l.program.Source.Tensors() {
		if v := l.scalars[t]; v != nil {
			out = append(out, ir.Let(v, ir.Convert(ir.At(l.slots.vals(t), ir.Const(0)), v.T.Elem)))
		}
	}
	return out
}
