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
	room := &ir.Var{Name: l.names.fresh(w.table.Name + "_room"), T: ir.Index}
	w.capacity[w.table] = room
	w.scope.allocs = append(w.scope.allocs,
		declare(room, integer(2*listRoom)), &ir.Alloc{Array: w.table, Size: room, Heap: true}, w.emptyTable())
	w.scope.frees = append(w.scope.frees, &ir.Free{Array: w.table})
}

func (w *workspace) emptyTable() ir.Stmt {
	return &ir.Fill{Array: w.table, Count: w.capacity[w.table], Value: integer(-1)}
}

// probe walks the table from where the coordinates hash to until it finds a place at which go doesn't hold.
func (w *workspace) probe(l *lowerer, coords []ir.Expr, goOn func(entry ir.Expr) ir.Expr) (stmts []ir.Stmt, at *ir.Var) {
	key := coords[0]
	for d, c := range coords[1:] {
		key = plus(binary(dtype.Mul, key, l.workspaceExtent(w.tensor, d+1)), c)
	}
	at = &ir.Var{Name: l.names.fresh(w.tensor.Name + "_at"), T: ir.Index}
	room := w.capacity[w.table]
	return []ir.Stmt{
		declare(at, &ir.Hash{Key: key, Size: room}),
		&ir.While{Cond: goOn(&ir.Load{Array: w.table, Index: at}), Body: block(
			set(at, &ir.Select{Cond: compare(ir.Eq, next(at), room), Then: integer(0), Else: next(at)}))},
	}, at
}

// coordsOf is the coordinates of an entry.
func (w *workspace) coordsOf(entry ir.Expr) []ir.Expr {
	var out []ir.Expr
	for _, a := range w.crd {
		out = append(out, loadIndex(a, entry))
	}
	return out
}

func (w *workspace) writeHash(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	t := w.tensor
	var out, first []ir.Stmt
	var value *ir.Var
	again := block()
	var coords []ir.Expr
	for _, v := range a.LHS.Vars {
		coords = append(coords, e.coord[v])
	}
	if l.phase == computing {
		value = &ir.Var{Name: l.names.fresh(t.Name + "_value"), T: ir.Scalar(t.Elem)}
		out = append(out, constant(value, l.value(a.RHS, t.Elem, e)))
	}
	stmts, at := w.probe(l, coords, func(entry ir.Expr) ir.Expr {
		var other ir.Expr
		for d, c := range w.coordsOf(entry) {
			if differs := compare(ir.Ne, c, coords[d]); other == nil {
				other = differs
			} else {
				other = compare(ir.LogOr, other, differs)
			}
		}
		return compare(ir.LogAnd, compare(ir.Ge, entry, integer(0)), other)
	})
	entry := &ir.Var{Name: l.names.fresh(t.Name + "_entry"), T: ir.Index}
	out = append(append(out, stmts...), constant(entry, &ir.Load{Array: w.table, Index: at}))
	for _, arr := range w.arrays() {
		first = append(first, &ir.Grow{Array: arr, Capacity: w.capacity[arr], Size: next(w.count)})
	}
	for d, c := range coords {
		first = append(first, store(w.crd[d], w.count, c))
	}
	if value != nil {
		first = append(first, &ir.Store{Array: w.vals, Index: w.count, Value: value})
		again = block(&ir.Store{Array: w.vals, Index: entry, Reduce: scalarOp(a.Reduce, t.Elem), Value: value})
	}
	first = append(first, store(w.table, at, w.count), increment(w.count), w.rehash(l))
	return append(out, &ir.If{Cond: compare(ir.Lt, entry, integer(0)), Then: block(first...), Else: again})
}

// rehash doubles the table once it is half full.
func (w *workspace) rehash(l *lowerer) ir.Stmt {
	room := w.capacity[w.table]
	twice := binary(dtype.Mul, integer(2), room)
	q := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}
	find, at := w.probe(l, w.coordsOf(q), func(entry ir.Expr) ir.Expr { return compare(ir.Ge, entry, integer(0)) })
	return &ir.If{Cond: compare(ir.Gt, binary(dtype.Mul, integer(2), w.count), room), Then: block(
		&ir.Grow{Array: w.table, Capacity: room, Size: twice},
		w.emptyTable(),
		&ir.For{Var: q, Lo: integer(0), Hi: w.count, Step: 1, Body: block(append(find, store(w.table, at, q))...)},
	)}
}

// finishHash sorts the entries into arrays of their own; where they are only counted, one mode of them need not be. Then the
// table is emptied entry by entry: a use costs what it holds, not what the largest one held.
func (w *workspace) finishHash(l *lowerer, s *cin.Where) (ready, done []ir.Stmt) {
	w.sorted, w.sortedVals = w.crd, nil
	if l.phase == computing || w.tensor.Order() > 1 || !l.onlyCounted(s) {
		var perm *ir.Array
		perm, ready, done = w.sort(l)
		q, from := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}, &ir.Var{Name: l.names.fresh("from"), T: ir.Index}
		copies := []ir.Stmt{constant(from, &ir.Load{Array: perm, Index: q})}
		for d, a := range w.sorted {
			copies = append(copies, &ir.Store{Array: a, Index: q, Value: &ir.Load{Array: w.crd[d], Index: from}})
		}
		if w.sortedVals != nil {
			copies = append(copies, &ir.Store{Array: w.sortedVals, Index: q, Value: &ir.Load{Array: w.vals, Index: from}})
		}
		ready = append(ready, &ir.For{Var: q, Lo: integer(0), Hi: w.count, Step: 1, Body: block(copies...)})
	}
	q := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}
	find, at := w.probe(l, w.coordsOf(q), func(entry ir.Expr) ir.Expr { return compare(ir.Ne, entry, q) })
	return ready, append(done, &ir.For{
		Var: q, Lo: integer(0), Hi: w.count, Step: 1, Body: block(append(find, store(w.table, at, integer(-1)))...),
	})
}
