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
	w.count = l.Index(t.Name + "_count")
	arrays := []*ir.Array{w.mark, w.list}
	if l.phase == computing {
		w.vals = w.array(l, "_vals", t.Elem)
		arrays = append(arrays, w.vals)
	}
	w.scope.allocs = append(w.scope.allocs, ir.Declare(w.count, ir.Const(0)))
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
			place = ir.Add(ir.Mul(place, l.workspaceExtent(w.tensor, d+1)), e.coord[v])
		}
		at := l.Index(w.tensor.Name + "_at")
		out, place = append(out, ir.Let(at, place)), at
	}
	first := []ir.Stmt{
		&ir.Store{Array: w.mark, Index: place, Value: &ir.Int{Value: 1, T: dtype.U8}},
		ir.Put(w.list, w.count, place),
		ir.Increment(w.count),
	}
	isNew := ir.Is(ir.At(w.mark, place), ir.Eq, &ir.Int{T: dtype.U8})
	if l.phase == counting {
		return append(out, ir.When(isNew, first...))
	}
	t := w.tensor
	value := l.Scalar(t.Name+"_value", t.Elem)
	first = append(first, &ir.Store{Array: w.vals, Index: place, Value: value})
	return append(out,
		ir.Let(value, l.value(a.RHS, t.Elem, e)),
		&ir.If{
			Cond: isNew,
			Then: ir.Do(first...),
			Else: ir.Do(&ir.Store{Array: w.vals, Index: place, Reduce: scalarOp(a.Reduce, t.Elem), Value: value}),
		},
	)
}

func (w *workspace) finishRow(l *lowerer, s *cin.Where) (ready, done []ir.Stmt) {
	w.sorted = []*ir.Array{w.list}
	switch {
	case w.tensor.Order() > 1:
		ready, done = w.placesInOrder(l)
	case l.phase == computing || !l.onlyCounted(s):
		ready = []ir.Stmt{&ir.Sort{Array: w.list, Lo: ir.Const(0), Hi: w.count}}
	}
	q := l.Index("q")
	unmark := &ir.Store{Array: w.mark, Index: ir.IndexAt(w.list, q), Value: &ir.Int{T: dtype.U8}}
	return ready, append(done, ir.Count(q, w.count, unmark))
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
		ready = append(ready, ir.NewArray(a, ir.AtLeastOne(w.count)))
		done = append(done, &ir.Free{Array: a})
	}
	place, found := l.Index("place"), l.Index("found")
	marked := ir.Is(ir.At(w.mark, place), ir.Ne, &ir.Int{T: dtype.U8})
	scan := &ir.For{Var: place, Lo: ir.Const(0), Hi: w.room(l), Step: 1, Body: ir.Do(
		ir.When(marked, ir.Put(w.list, found, place), ir.Increment(found)))}
	ready = append(ready, &ir.If{
		Cond: ir.Is(ir.Mul(w.count, ir.Const(scanned)), ir.Gt, w.room(l)),
		Then: ir.Do(ir.Declare(found, ir.Const(0)), scan),
		Else: ir.Do(&ir.Sort{Array: w.list, Lo: ir.Const(0), Hi: w.count}),
	})
	q := l.Index("q")
	rest := l.Index("rest")
	body := []ir.Stmt{ir.Declare(rest, ir.IndexAt(w.list, q))}
	for d := w.tensor.Order() - 1; d > 0; d-- {
		n := l.workspaceExtent(w.tensor, d)
		above := l.Index("above")
		body = append(body,
			ir.Let(above, ir.Div(rest, n)),
			ir.Put(w.sorted[d], q, ir.Remainder(rest, above, n)),
			ir.Set(rest, above))
	}
	body = append(body, ir.Put(w.sorted[0], q, rest))
	return append(ready, ir.Count(q, w.count, body...)), done
}
