package lower

import (
	"cmp"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// workspace is a temporary as one function keeps it. Each kind is a type in a file of its own and a line in workspaces.
type workspace interface {
	// fill runs the producer of s. The consumer reads the view between before and done.
	fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt)
}

// writer is a workspace as its producer sees it.
type writer interface {
	// write reduces one value into the workspace.
	write(l *lowerer, a *cin.Assign, e env) []ir.Stmt
}

// view is a workspace as its consumer reads it.
type view struct {
	// element reads the value at the current coordinates.
	element func(l *lowerer, a *index.Access, e env) ir.Expr
	// crd is the arrays of coordinates, nil where there is a place for each element, and entries the part of them that is in use.
	crd     []*ir.Array
	entries format.Range
	// mark has a byte for each element that says whether it is there, where elements are looked up.
	mark *ir.Array
	// leave clears an element after its only use; nil where that is done when the consumer has ended, or not needed.
	leave func(l *lowerer, a *index.Access, e env) []ir.Stmt
	// set records that the workspace was written, where that decides whether its consumer runs.
	set *ir.Var
}

// kind is one way to keep a workspace.
type kind struct {
	// new makes a workspace with arrays that live as long as the region of e.
	new func(l *lowerer, t *index.Tensor, e env) workspace
	// dense kinds have a place for each element, and no record of which are in use.
	dense bool
	// sized reports whether the extents of a workspace of that order are multiplied when the kernel runs, so that the product has to be guarded; it may be nil.
	sized func(order int) bool
}

// workspaces lists the kinds.
var workspaces = map[cin.Storage]kind{
	cin.Tile:     {new: newTile, dense: true},
	cin.Array:    {new: newArray, dense: true, sized: func(int) bool { return true }},
	cin.Row:      {new: newRow, sized: severalModes},
	cin.Scatter:  {new: newRow, sized: severalModes},
	cin.Bitmap:   {new: newRow, sized: severalModes},
	cin.Bytemap:  {new: newRow, sized: severalModes},
	cin.Blocks:   {new: newRow, sized: severalModes},
	cin.Adaptive: {new: newRow, sized: severalModes},
	cin.List:     {new: newList},
	cin.Hash:     {new: newHash},
	cin.Lookup:   {new: newLookup},
}

func severalModes(order int) bool { return order > 1 }

// where fills a workspace and reads it. The statements following run with the consumer: only if something was written, where that is known.
// Uses of a workspace in one region share its arrays.
func (l *lowerer) where(s *cin.Where, e env, following ...ir.Stmt) []ir.Stmt {
	t := cin.Written(s.Producer).Tensor
	if e.phase == bounding && l.program.Workspaces[t] != cin.Lookup {
		return l.boundWhere(s, e)
	}
	w := e.region.workspaces[t]
	if w == nil {
		w = workspaces[l.program.Workspaces[t]].new(l, t, e)
		if e.region.workspaces == nil {
			e.region.workspaces = map[*index.Tensor]workspace{}
		}
		e.region.workspaces[t] = w
	}
	v, out, done := w.fill(l, s, e)
	e.views = e.views.with(t, v)
	consumer := append(l.stmt(s.Consumer, e), following...)
	if v.set != nil {
		consumer = []ir.Stmt{ir.When(ir.Is(v.set, ir.Ne, ir.Bool(false)), consumer...)}
	}
	return l.unlessSingle(s, w, e, following, append(append(out, consumer...), done...))
}

// produce runs the producer of s, which writes to w.
func (l *lowerer) produce(s *cin.Where, w writer, e env) []ir.Stmt {
	e.writers = e.writers.with(cin.Written(s.Producer).Tensor, w)
	return l.stmt(s.Producer, e)
}

// storage is one level of the workspace. A tile has the width of the variable that it is accessed by.
func (v *view) storage(l *lowerer, of index.Var, level int, e env) format.Storage {
	if v.crd != nil {
		return format.Storage{Crd: v.crd[level]}
	}
	if v.mark != nil {
		return v.marked(l, of)
	}
	if tile, ok := e.tile.lookup(of); ok {
		return format.Storage{Extent: tile.count}
	}
	return format.Storage{Extent: l.count(of)}
}

// leave clears the elements of workspaces that a reads, where this is their only use.
func (l *lowerer) leave(a *cin.Assign, e env) (out []ir.Stmt) {
	var left []*index.Tensor
	for _, read := range index.Accesses(a.RHS) {
		if w := e.views.get(read.Tensor); w != nil && w.leave != nil && !slices.Contains(left, read.Tensor) {
			out, left = append(out, w.leave(l, read, e)...), append(left, read.Tensor)
		}
	}
	return out
}

// listed is the range of the first entries of arrays.
func listed(count *ir.Var) format.Range { return format.Range{Lo: ir.Const(0), Hi: count} }

// byPosition reads the values of a workspace by the position of the last level.
func byPosition(vals *ir.Array) func(l *lowerer, a *index.Access, e env) ir.Expr {
	return func(l *lowerer, a *index.Access, e env) ir.Expr { return ir.At(vals, l.elementAt(a, e)) }
}

// reduction is the operator of the innermost assignment.
func reduction(s cin.Stmt) dtype.Op {
	for s := range cin.Within(s) {
		if a, ok := s.(*cin.Assign); ok {
			return a.Reduce
		}
	}
	return ""
}

// handedOn is the operator of the sums that a statement copies from a workspace of its own.
func handedOn(s cin.Stmt) dtype.Op {
	for s := range cin.Within(s) {
		if w, ok := s.(*cin.Where); ok {
			if a, ok := cin.Value(w.Consumer).(*index.Access); ok && a.Tensor == cin.Written(w.Producer).Tensor {
				return cmp.Or(reduction(w.Producer), handedOn(w.Producer))
			}
			return ""
		}
	}
	return ""
}

// indexType is the type of the coordinates that a workspace keeps.
func (l *lowerer) indexType(t *index.Tensor) dtype.T { return cmp.Or(l.of(t).Index, dtype.I64) }

// held is the variables that a workspace is written through.
func (l *lowerer) held(t *index.Tensor) []index.Var {
	for s := range cin.Within(l.program.Body) {
		if s, ok := s.(*cin.Where); ok {
			if w := cin.Written(s.Producer); w.Tensor == t {
				return w.Vars
			}
		}
	}
	return nil
}

// elements is the number of elements of a workspace with a place for each.
func (l *lowerer) elements(t *index.Tensor) ir.Expr {
	n := ir.Expr(ir.Const(1))
	for _, v := range l.held(t) {
		n = ir.Mul(n, l.count(v))
	}
	return n
}

// linear is the number of an element of a workspace, counted row by row.
func (l *lowerer) linear(t *index.Tensor, coords []ir.Expr) ir.Expr {
	at := coords[0]
	for d, c := range coords[1:] {
		at = ir.Add(ir.Mul(at, l.extent(l.held(t)[d+1])), c)
	}
	return at
}

// coordinates lists the coordinates of an access.
func coordinates(a *index.Access, e env) []ir.Expr {
	out := make([]ir.Expr, len(a.Vars))
	for i, v := range a.Vars {
		out[i] = e.coord.get(v)
	}
	return out
}
