package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// list takes coordinates and values in any order. Before it is read it is sorted, one stable pass a mode from the last
// to the first, and equal coordinates are reduced; then it is walked like COO.
type list struct {
	entries
	// capacity is the number of entries that each array has room for.
	capacity map[*ir.Array]*ir.Var
}

// entries is an array of coordinates for each mode, and one of values where they are not just counted.
type entries struct {
	tensor *index.Tensor
	crd    []*ir.Array
	vals   *ir.Array
	count  *ir.Var
}

const listRoom = 1024 // entries that a list starts with

func newEntries(l *lowerer, t *index.Tensor, e env) entries {
	w := entries{tensor: t, count: l.Index(t.Name + "_count")}
	e.region.allocs = append(e.region.allocs, ir.Declare(w.count, ir.Const(0)))
	for d := range l.format(t).Order() {
		w.crd = append(w.crd, l.Array(levelName(t.Name, "crd", d), l.indexType(t)))
	}
	if e.phase == computing {
		w.vals = l.Array(t.Name+"_vals", t.Elem)
	}
	return w
}

func (w entries) arrays() []*ir.Array {
	if w.vals == nil {
		return w.crd
	}
	return append(w.crd[:len(w.crd):len(w.crd)], w.vals)
}

// put writes one entry.
func (w entries) put(l *lowerer, a *cin.Assign, at ir.Expr, e env) []ir.Stmt {
	var out []ir.Stmt
	for d, c := range coordinates(a.LHS, e) {
		out = append(out, ir.Put(w.crd[d], at, c))
	}
	if w.vals != nil {
		out = append(out, ir.Put(w.vals, at, l.value(a.RHS, w.tensor.Elem, e)))
	}
	return out
}

// copied writes the entry of another list at from to a place of w.
func (w entries) copied(at ir.Expr, other entries, from ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	to := w.arrays()
	for i, a := range other.arrays()[:len(to)] {
		out = append(out, ir.Put(to[i], at, ir.At(a, from)))
	}
	return out
}

func (w entries) view() *view {
	return &view{element: byPosition(w.vals), crd: w.crd, entries: listed(w.count)}
}

// sort finds the permutation that sorts the entries, and allocates arrays for the sorted ones.
func (w entries) sort(l *lowerer, e env) (perm *ir.Array, sorted entries, ready, done []ir.Stmt) {
	t := w.tensor
	perm = l.Array(t.Name+"_perm", dtype.I64)
	sorted = entries{tensor: t, count: w.count, crd: l.sortedCrd(t)}
	if w.vals != nil {
		sorted.vals = l.Array(t.Name+"_vals_sorted", t.Elem)
	}
	for _, a := range append([]*ir.Array{perm}, sorted.arrays()...) {
		ready = append(ready, ir.NewArray(a, ir.AtLeastOne(w.count)))
		done = append(done, &ir.Free{Array: a})
	}
	q := l.Index("q")
	ready = append(ready, ir.Count(q, w.count, ir.Put(perm, q, q)))
	var team ir.Expr
	if !e.region.private { // else each thread has a list of its own
		team = l.slots.threads
	}
	for d := l.format(t).Order() - 1; d >= 0; d-- {
		ready = append(ready, &ir.SortBy{Perm: perm, Key: w.crd[d], Count: w.count, Extent: l.extent(l.held(t)[d]), Threads: team})
	}
	return perm, sorted, ready, done
}

// sortedCrd is arrays for the coordinates of a workspace in order.
func (l *lowerer) sortedCrd(t *index.Tensor) (crd []*ir.Array) {
	for d := range l.format(t).Order() {
		crd = append(crd, l.Array(levelName(t.Name, "sorted", d), l.indexType(t)))
	}
	return crd
}

// op is how equal coordinates are reduced: not at all without a reduction, since no coordinate then comes twice.
func (w entries) op(l *lowerer) dtype.Op {
	if len(l.program.Source.Reduced()) == 0 {
		return ""
	}
	return scalarOp(l.program.Source.Reduce, w.tensor.Elem)
}

func newList(l *lowerer, t *index.Tensor, e env) workspace {
	if f := sharedFill(l.program, t); f != nil {
		return teamList{newEntries(l, t, e), f, l.Array(t.Name+"_starts", dtype.I64)}
	}
	return newGrowing(l, t, e)
}

func newGrowing(l *lowerer, t *index.Tensor, e env) list {
	w := list{newEntries(l, t, e), map[*ir.Array]*ir.Var{}}
	for _, a := range w.arrays() {
		w.capacity[a] = l.Index(a.Name + "_room")
		e.region.allocs = append(e.region.allocs, ir.Declare(w.capacity[a], ir.Const(listRoom)))
		e.region.local(a, w.capacity[a], false)
	}
	return w
}

// grow makes room for one more entry.
func (w list) grow() []ir.Stmt {
	var out []ir.Stmt
	for _, a := range w.arrays() {
		out = append(out, &ir.Grow{Array: a, Capacity: w.capacity[a], Size: ir.Next(w.count)})
	}
	return out
}

func (w list) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	return append(append(w.grow(), w.put(l, a, w.count, e)...), ir.Increment(w.count))
}

func (w list) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	before = append([]ir.Stmt{ir.Set(w.count, ir.Const(0))}, l.produce(s, w, e)...)
	perm, sorted, ready, done := w.sort(l, e)
	before = append(before, ready...)
	return sorted.view(), append(before, w.reduceSorted(l, perm, sorted)...), done
}

// reduceSorted copies the entries in sorted order, each coordinate once, and sets the count to their number.
func (w list) reduceSorted(l *lowerer, perm *ir.Array, sorted entries) []ir.Stmt {
	kept, q, from := l.Index(w.tensor.Name+"_kept"), l.Index("q"), l.Index("from")
	same := []ir.Expr{ir.Is(kept, ir.Gt, ir.Const(0))}
	last := ir.Sub(kept, ir.Const(1))
	for d, a := range sorted.crd {
		same = append(same, ir.Is(ir.At(a, last), ir.Eq, ir.At(w.crd[d], from)))
	}
	again := ir.Do()
	if w.vals != nil {
		again = ir.Do(ir.Update(sorted.vals, last, w.op(l), ir.At(w.vals, from)))
	}
	first := append(sorted.copied(kept, w.entries, from), ir.Increment(kept))
	return []ir.Stmt{
		ir.Declare(kept, ir.Const(0)),
		ir.Count(q, w.count,
			ir.Let(from, ir.At(perm, q)),
			&ir.If{Cond: ir.All(same...), Then: again, Else: ir.Do(first...)}),
		ir.Set(w.count, kept),
	}
}
