package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// A Row is Gustavson's accumulator: a value and a mark for each coordinate, and the list of the coordinates in use. The
// marks are cleared through the list, so that a row costs what it holds and not its extent.

func (w *workspace) makeRow(l *lowerer) {
	t := w.tensor
	size := l.workspaceExtent(t, 0)
	w.mark = w.array(l, "_mark", dtype.U8)
	w.crd = []*ir.Array{w.array(l, "_crd", w.indexType())}
	w.count = &ir.Var{Name: l.names.fresh(t.Name + "_count"), T: ir.Index}
	arrays := []*ir.Array{w.mark, w.crd[0]}
	if l.phase == computing {
		w.vals = w.array(l, "_vals", t.Elem)
		arrays = append(arrays, w.vals)
	}
	w.scope.allocs = append(w.scope.allocs, declare(w.count, integer(0)))
	for _, a := range arrays {
		w.scope.allocs = append(w.scope.allocs, &ir.Alloc{Array: a, Size: size, Zero: a == w.mark, Heap: true})
		w.scope.frees = append(w.scope.frees, &ir.Free{Array: a})
	}
}

func (w *workspace) writeRow(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	k := e.coord[a.LHS.Vars[0]]
	first := []ir.Stmt{
		&ir.Store{Array: w.mark, Index: k, Value: &ir.Int{Value: 1, T: dtype.U8}},
		store(w.crd[0], w.count, k),
		increment(w.count),
	}
	isNew := compare(ir.Eq, &ir.Load{Array: w.mark, Index: k}, &ir.Int{T: dtype.U8})
	if l.phase == counting {
		return []ir.Stmt{&ir.If{Cond: isNew, Then: block(first...)}}
	}
	t := w.tensor
	value := &ir.Var{Name: l.names.fresh(t.Name + "_value"), T: ir.Scalar(t.Elem)}
	first = append(first, &ir.Store{Array: w.vals, Index: k, Value: value})
	return []ir.Stmt{
		constant(value, l.value(a.RHS, t.Elem, e)),
		&ir.If{
			Cond: isNew,
			Then: block(first...),
			Else: block(&ir.Store{Array: w.vals, Index: k, Reduce: scalarOp(a.Reduce, t.Elem), Value: value}),
		},
	}
}

func (w *workspace) finishRow(l *lowerer, s *cin.Where) (ready, done []ir.Stmt) {
	searched := l.program.Divided(cin.Written(s.Producer).Vars[0]) // by strips
	if l.phase == computing || searched {
		ready = []ir.Stmt{&ir.Sort{Array: w.crd[0], Lo: integer(0), Hi: w.count}}
	}
	q := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}
	unmark := &ir.Store{Array: w.mark, Index: loadIndex(w.crd[0], q), Value: &ir.Int{T: dtype.U8}}
	return ready, []ir.Stmt{&ir.For{Var: q, Lo: integer(0), Hi: w.count, Step: 1, Body: block(unmark)}}
}
