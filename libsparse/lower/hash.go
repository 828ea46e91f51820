package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// A Hash is a List in which every coordinate stands once: a table of twice as many places at least, a power of two, has the
// number of the entry whose coordinates hash there, or of one that came before it; -1 marks free places. So it is as large
// as what it holds, however large the space of its coordinates and however many terms are summed.

func (w *workspace) makeTable(l *lowerer) {
	w.table = w.array(l, "_table", dtype.I64)
	room := l.Index(w.table.Name + "_room")
	w.capacity[w.table] = room
	w.scope.allocs = append(w.scope.allocs,
		ir.Declare(room, ir.Const(2*listRoom)), ir.NewArray(w.table, room), w.emptyTable())
	w.scope.frees = append(w.scope.frees, &ir.Free{Array: w.table})
}

func (w *workspace) emptyTable() ir.Stmt {
	return &ir.Fill{Array: w.table, Count: w.capacity[w.table], Value: ir.Const(-1)}
}

// probe walks the table from where the coordinates hash to until it finds a place at which go doesn't hold.
func (w *workspace) probe(l *lowerer, coords []ir.Expr, goOn func(entry ir.Expr) ir.Expr) (stmts []ir.Stmt, at *ir.Var) {
	key := coords[0]
	for d, c := range coords[1:] {
		key = ir.Add(ir.Mul(key, l.workspaceExtent(w.tensor, d+1)), c)
	}
	at = l.Index(w.tensor.Name + "_at")
	room := w.capacity[w.table]
	return []ir.Stmt{
		ir.Declare(at, &ir.Hash{Key: key, Size: room}),
		&ir.While{Cond: goOn(ir.At(w.table, at)), Body: ir.Do(
			ir.Set(at, &ir.Select{Cond: ir.Is(ir.Next(at), ir.Eq, room), Then: ir.Const(0), Else: ir.Next(at)}))},
	}, at
}

// coordsOf is the coordinates of an entry.
func (w *workspace) coordsOf(entry ir.Expr) []ir.Expr {
	var out []ir.Expr
	for _, a := range w.crd {
		out = append(out, ir.IndexAt(a, entry))
	}
	return out
}

func (w *workspace) writeHash(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	t := w.tensor
	var out, first []ir.Stmt
	var value *ir.Var
	again := ir.Do()
	var coords []ir.Expr
	for _, v := range a.LHS.Vars {
		coords = append(coords, e.coord[v])
	}
	if l.phase == computing {
		value = l.Scalar(t.Name+"_value", t.Elem)
		out = append(out, ir.Let(value, l.value(a.RHS, t.Elem, e)))
	}
	stmts, at := w.probe(l, coords, func(entry ir.Expr) ir.Expr {
		var other ir.Expr
		for d, c := range w.coordsOf(entry) {
			if differs := ir.Is(c, ir.Ne, coords[d]); other == nil {
				other = differs
			} else {
				other = ir.Is(other, ir.LogOr, differs)
			}
		}
		return ir.Is(ir.Is(entry, ir.Ge, ir.Const(0)), ir.LogAnd, other)
	})
	entry := l.Index(t.Name + "_entry")
	out = append(append(out, stmts...), ir.Let(entry, ir.At(w.table, at)))
	for _, arr := range w.arrays() {
		first = append(first, &ir.Grow{Array: arr, Capacity: w.capacity[arr], Size: ir.Next(w.count)})
	}
	for d, c := range coords {
		first = append(first, ir.Put(w.crd[d], w.count, c))
	}
	if value != nil {
		first = append(first, &ir.Store{Array: w.vals, Index: w.count, Value: value})
		again = ir.Do(&ir.Store{Array: w.vals, Index: entry, Reduce: scalarOp(a.Reduce, t.Elem), Value: value})
	}
	first = append(first, ir.Put(w.table, at, w.count), ir.Increment(w.count), w.rehash(l))
	return append(out, &ir.If{Cond: ir.Is(entry, ir.Lt, ir.Const(0)), Then: ir.Do(first...), Else: again})
}

// rehash doubles the table once it is half full.
func (w *workspace) rehash(l *lowerer) ir.Stmt {
	room := w.capacity[w.table]
	twice := ir.Mul(ir.Const(2), room)
	q := l.Index("q")
	find, at := w.probe(l, w.coordsOf(q), func(entry ir.Expr) ir.Expr { return ir.Is(entry, ir.Ge, ir.Const(0)) })
	return &ir.If{Cond: ir.Is(ir.Mul(ir.Const(2), w.count), ir.Gt, room), Then: ir.Do(
		&ir.Grow{Array: w.table, Capacity: room, Size: twice},
		w.emptyTable(),
		ir.Count(q, w.count, append(find, ir.Put(w.table, at, q))...),
	)}
}

// finishHash sorts the entries into arrays of their own; where they are only counted, one mode of them need not be. Then the
// table is emptied entry by entry: a use costs what it holds, not what the largest one held.
func (w *workspace) finishHash(l *lowerer, s *cin.Where) (ready, done []ir.Stmt) {
	w.sorted, w.sortedVals = w.crd, nil
	if l.phase == computing || w.tensor.Order() > 1 || !l.onlyCounted(s) {
		var perm *ir.Array
		perm, ready, done = w.sort(l)
		q, from := l.Index("q"), l.Index("from")
		copies := []ir.Stmt{ir.Let(from, ir.At(perm, q))}
		for d, a := range w.sorted {
			copies = append(copies, &ir.Store{Array: a, Index: q, Value: ir.At(w.crd[d], from)})
		}
		if w.sortedVals != nil {
			copies = append(copies, &ir.Store{Array: w.sortedVals, Index: q, Value: ir.At(w.vals, from)})
		}
		ready = append(ready, ir.Count(q, w.count, copies...))
	}
	q := l.Index("q")
	find, at := w.probe(l, w.coordsOf(q), func(entry ir.Expr) ir.Expr { return ir.Is(entry, ir.Ne, q) })
	return ready, append(done, &ir.For{
		Var: q, Lo: ir.Const(0), Hi: w.count, Step: 1, Body: ir.Do(append(find, ir.Put(w.table, at, ir.Const(-1)))...),
	})
}
