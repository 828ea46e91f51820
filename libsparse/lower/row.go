package lower

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// A Row is Gustavson's accumulator: a value and a mark for each place, and the list of the places in use. The marks are
// cleared through the list, so that a row costs what it holds and not its extent. A row over several variables has a place for
// each element of their product, and its coordinates follow from the places once those are in order.

func (w *workspace) makeRow(l *lowerer) {
	t := w.tensor
	w.mark = w.array(l, "_mark", dtype.U8)
	if t.Order() == 1 {
		w.list = w.array(l, "_crd", w.indexType())
	} else {
		w.list = w.array(l, "_list", dtype.I64)
	}
	w.count = &ir.Var{Name: l.names.fresh(t.Name + "_count"), T: ir.Index}
	arrays := []*ir.Array{w.mark, w.list}
	if l.phase == computing {
		w.vals = w.array(l, "_vals", t.Elem)
		arrays = append(arrays, w.vals)
	}
	w.scope.allocs = append(w.scope.allocs, declare(w.count, integer(0)))
	for _, a := range arrays {
		w.scope.allocs = append(w.scope.allocs, &ir.Alloc{Array: a, Size: w.room(l), Zero: a == w.mark, Heap: true})
		w.scope.frees = append(w.scope.frees, &ir.Free{Array: a})
	}
}

func (w *workspace) writeRow(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	var out []ir.Stmt
	place := e.coord[a.LHS.Vars[0]]
	if len(a.LHS.Vars) > 1 {
		for d, v := range a.LHS.Vars[1:] {
			place = plus(binary(dtype.Mul, place, l.workspaceExtent(w.tensor, d+1)), e.coord[v])
		}
		at := &ir.Var{Name: l.names.fresh(w.tensor.Name + "_at"), T: ir.Index}
		out, place = append(out, constant(at, place)), at
	}
	first := []ir.Stmt{
		&ir.Store{Array: w.mark, Index: place, Value: &ir.Int{Value: 1, T: dtype.U8}},
		store(w.list, w.count, place),
		increment(w.count),
	}
	isNew := compare(ir.Eq, &ir.Load{Array: w.mark, Index: place}, &ir.Int{T: dtype.U8})
	if l.phase == counting {
		return append(out, &ir.If{Cond: isNew, Then: block(first...)})
	}
	t := w.tensor
	value := &ir.Var{Name: l.names.fresh(t.Name + "_value"), T: ir.Scalar(t.Elem)}
	first = append(first, &ir.Store{Array: w.vals, Index: place, Value: value})
	return append(out,
		constant(value, l.value(a.RHS, t.Elem, e)),
		&ir.If{
			Cond: isNew,
			Then: block(first...),
			Else: block(&ir.Store{Array: w.vals, Index: place, Reduce: scalarOp(a.Reduce, t.Elem), Value: value}),
		},
	)
}

func (w *workspace) finishRow(l *lowerer, s *cin.Where) (ready, done []ir.Stmt) {
	w.sorted = []*ir.Array{w.list}
	switch {
	case w.tensor.Order() > 1:
		ready, done = w.placesInOrder(l)
	case l.phase == computing || !l.onlyCounted(s):
		ready = []ir.Stmt{&ir.Sort{Array: w.list, Lo: integer(0), Hi: w.count}}
	}
	q := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}
	unmark := &ir.Store{Array: w.mark, Index: loadIndex(w.list, q), Value: &ir.Int{T: dtype.U8}}
	return ready, append(done, &ir.For{Var: q, Lo: integer(0), Hi: w.count, Step: 1, Body: block(unmark)})
}

// onlyCounted reports whether what s holds is only counted one by one: not in strips, nor together with another level.
func (l *lowerer) onlyCounted(s *cin.Where) bool {
	v := cin.Written(s.Producer).Vars[0]
	lat := lattice.Loop(cin.Value(s.Consumer), v)
	return !l.program.Divided(v) && len(lat.Points) == 1 && len(lat.Iterators()) == 1 && !lat.Full()
}

// scanned is the number of places for each one in use up to which they are found by a scan of the marks and not by a sort.
const scanned = 16

// placesInOrder sorts the places in use, and makes the coordinates of each.
func (w *workspace) placesInOrder(l *lowerer) (ready, done []ir.Stmt) {
	w.sorted = nil
	for d := range w.tensor.Order() {
		w.sorted = append(w.sorted, w.array(l, fmt.Sprintf("%d_sorted", d+1), w.indexType()))
	}
	for _, a := range w.sorted {
		ready = append(ready, &ir.Alloc{Array: a, Size: binary(dtype.Max, w.count, integer(1)), Heap: true})
		done = append(done, &ir.Free{Array: a})
	}
	place, found := &ir.Var{Name: l.names.fresh("place"), T: ir.Index}, &ir.Var{Name: l.names.fresh("found"), T: ir.Index}
	marked := compare(ir.Ne, &ir.Load{Array: w.mark, Index: place}, &ir.Int{T: dtype.U8})
	scan := &ir.For{Var: place, Lo: integer(0), Hi: w.room(l), Step: 1, Body: block(
		&ir.If{Cond: marked, Then: block(store(w.list, found, place), increment(found))})}
	ready = append(ready, &ir.If{
		Cond: compare(ir.Gt, binary(dtype.Mul, w.count, integer(scanned)), w.room(l)),
		Then: block(declare(found, integer(0)), scan),
		Else: block(&ir.Sort{Array: w.list, Lo: integer(0), Hi: w.count}),
	})
	q := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}
	rest := &ir.Var{Name: l.names.fresh("rest"), T: ir.Index}
	body := []ir.Stmt{declare(rest, loadIndex(w.list, q))}
	for d := w.tensor.Order() - 1; d > 0; d-- {
		n := l.workspaceExtent(w.tensor, d)
		above := &ir.Var{Name: l.names.fresh("above"), T: ir.Index}
		body = append(body,
			constant(above, binary(dtype.Div, rest, n)),
			store(w.sorted[d], q, remainder(rest, above, n)),
			set(rest, above))
	}
	body = append(body, store(w.sorted[0], q, rest))
	return append(ready, &ir.For{Var: q, Lo: integer(0), Hi: w.count, Step: 1, Body: block(body...)}), done
}
