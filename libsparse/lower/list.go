package lower

import (
	"fmt"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// A List takes coordinates and values in any order. Before it is read it is sorted, one stable pass a mode from the last
// to the first, and equal coordinates are reduced; then it is walked like COO.

const listRoom = 1024 // elements that a list starts with

func (w *workspace) makeList(l *lowerer) {
	t := w.tensor
	w.count = l.Index(t.Name + "_count")
	w.scope.allocs = append(w.scope.allocs, ir.Declare(w.count, ir.Const(0)))
	for d := range t.Order() {
		w.crd = append(w.crd, w.array(l, fmt.Sprintf("%d_crd", d+1), w.indexType()))
	}
	if l.phase == computing {
		w.vals = w.array(l, "_vals", t.Elem)
	}
	if f := sharedFill(l.program, t); f != nil {
		w.team = &teamwork{loop: f}
		return
	}
	for _, a := range w.arrays() {
		room := l.Index(a.Name + "_room")
		w.capacity[a] = room
		w.scope.allocs = append(w.scope.allocs, ir.Declare(room, ir.Const(listRoom)), ir.NewArray(a, room))
		w.scope.frees = append(w.scope.frees, &ir.Free{Array: a})
	}
}

func (w *workspace) arrays() []*ir.Array {
	if w.vals == nil {
		return w.crd
	}
	return append(w.crd[:len(w.crd):len(w.crd)], w.vals)
}

func (w *workspace) writeList(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	if w.team != nil {
		return w.writeTogether(l, a, e)
	}
	var out []ir.Stmt
	for _, arr := range w.arrays() {
		out = append(out, &ir.Grow{Array: arr, Capacity: w.capacity[arr], Size: ir.Next(w.count)})
	}
	return append(append(out, w.put(l, a, w.count, e)...), ir.Increment(w.count))
}

// put writes one entry.
func (w *workspace) put(l *lowerer, a *cin.Assign, at ir.Expr, e env) []ir.Stmt {
	var out []ir.Stmt
	for d, v := range a.LHS.Vars {
		out = append(out, ir.Put(w.crd[d], at, e.coord[v]))
	}
	if l.phase == computing {
		out = append(out, &ir.Store{Array: w.vals, Index: at, Value: l.value(a.RHS, w.tensor.Elem, e)})
	}
	return out
}

// finishList sorts the list into arrays of its own and reduces what is equal.
func (w *workspace) finishList(l *lowerer) (ready, done []ir.Stmt) {
	if w.team != nil {
		return w.finishTogether(l)
	}
	perm, ready, done := w.sort(l)
	return append(ready, w.reduceSorted(l, perm)...), done
}

// sort finds the permutation that sorts the list, and makes room for the sorted one.
func (w *workspace) sort(l *lowerer) (perm *ir.Array, ready, done []ir.Stmt) {
	t := w.tensor
	perm = w.array(l, "_perm", dtype.I64)
	w.sorted, w.sortedVals = nil, nil
	local := []*ir.Array{perm}
	for d := range w.crd {
		w.sorted = append(w.sorted, w.array(l, fmt.Sprintf("%d_sorted", d+1), w.indexType()))
	}
	local = append(local, w.sorted...)
	if l.phase == computing {
		w.sortedVals = w.array(l, "_vals_sorted", t.Elem)
		local = append(local, w.sortedVals)
	}
	room := ir.AtLeastOne(w.count)
	for _, a := range local {
		ready = append(ready, ir.NewArray(a, room))
		done = append(done, &ir.Free{Array: a})
	}
	q := l.Index("q")
	ready = append(ready, ir.Count(q, w.count, ir.Put(perm, q, q)))
	var team ir.Expr
	if len(l.scopes) == 1 { // else each thread has a list of its own
		team = l.slots.threads
	}
	for d := t.Order() - 1; d >= 0; d-- {
		ready = append(ready, &ir.SortBy{Perm: perm, Key: w.crd[d], Count: w.count, Extent: l.workspaceExtent(t, d), Threads: team})
	}
	return perm, ready, done
}

// reduceSorted copies the entries in sorted order, each coordinate once, and sets the count to what is left.
func (w *workspace) reduceSorted(l *lowerer, perm *ir.Array) []ir.Stmt {
	kept := l.Index(w.tensor.Name + "_kept")
	q := l.Index("q")
	from := l.Index("from")
	same := []ir.Expr{ir.Is(kept, ir.Gt, ir.Const(0))}
	last := ir.Sub(kept, ir.Const(1))
	for d, a := range w.sorted {
		same = append(same, ir.Is(ir.At(a, last), ir.Eq, ir.At(w.crd[d], from)))
	}
	copies := w.copied(kept, from)
	again := ir.Do()
	if w.sortedVals != nil {
		value := ir.At(w.vals, from)
		op := dtype.Op("") // without a reduction no coordinate comes twice
		if len(l.program.Source.Reduced()) > 0 {
			op = scalarOp(l.program.Source.Reduce, w.tensor.Elem)
		}
		again = ir.Do(&ir.Store{Array: w.sortedVals, Index: last, Reduce: op, Value: value})
	}
	copies = append(copies, ir.Increment(kept))
	choose := &ir.If{Cond: ir.All(same...), Then: again, Else: ir.Do(copies...)}
	return []ir.Stmt{
		ir.Declare(kept, ir.Const(0)),
		&ir.For{Var: q, Lo: ir.Const(0), Hi: w.count, Step: 1, Body: ir.Do(
			ir.Let(from, ir.At(perm, q)), choose)},
		ir.Set(w.count, kept),
	}
}

// copied writes the entry at from to its place among the sorted ones.
func (w *workspace) copied(at, from ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for d, a := range w.sorted {
		out = append(out, &ir.Store{Array: a, Index: at, Value: ir.At(w.crd[d], from)})
	}
	if w.sortedVals != nil {
		out = append(out, &ir.Store{Array: w.sortedVals, Index: at, Value: ir.At(w.vals, from)})
	}
	return out
}

// workspaceExtent is the extent of a mode of a workspace.
func (l *lowerer) workspaceExtent(t *index.Tensor, mode int) ir.Expr {
	return l.extent(l.held(t)[mode])
}

// held is the variables that a workspace is written through.
func (l *lowerer) held(t *index.Tensor) []index.Var {
	var find func(s cin.Stmt) []index.Var
	find = func(s cin.Stmt) []index.Var {
		switch s := s.(type) {
		case *cin.Forall:
			return find(s.Body)
		case *cin.Where:
			if w := cin.Written(s.Producer); w.Tensor == t {
				return w.Vars
			}
			if vars := find(s.Producer); vars != nil {
				return vars
			}
			return find(s.Consumer)
		default:
			return nil
		}
	}
	return find(l.program.Body)
}
