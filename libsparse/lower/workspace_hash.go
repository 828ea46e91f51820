package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// hash is a list in which every coordinate stands once: a table of twice as many places at least, a power of two, has the
// number of the entry whose coordinates hash there, or of one that came before it; -1 marks free places. So it is as large
// as what it holds, however large the space of its coordinates and however many terms are summed.
type hash struct {
	list
	table *ir.Array
	// room is the number of places of the table.
	room *ir.Var
}

func newHash(l *lowerer, t *index.Tensor, e env) workspace {
	w := hash{list: newGrowing(l, t, e), table: l.Array(t.Name+"_table", dtype.I64)}
	w.room = l.Index(w.table.Name + "_room")
	e.region.allocs = append(e.region.allocs, ir.Declare(w.room, ir.Const(2*listRoom)))
	e.region.local(w.table, w.room, false)
	e.region.allocs = append(e.region.allocs, w.emptyTable())
	return w
}

func (w hash) emptyTable() ir.Stmt {
	return &ir.Fill{Array: w.table, Count: w.room, Value: ir.Const(-1)}
}

// probe walks the table from where the coordinates hash to until it finds a place at which goOn doesn't hold.
func (w hash) probe(l *lowerer, coords []ir.Expr, goOn func(entry ir.Expr) ir.Expr) (stmts []ir.Stmt, at *ir.Var) {
	at = l.Index(w.tensor.Name + "_at")
	around := &ir.Select{Cond: ir.Is(ir.Next(at), ir.Eq, w.room), Then: ir.Const(0), Else: ir.Next(at)}
	return []ir.Stmt{
		ir.Declare(at, &ir.Hash{Key: l.linear(w.tensor, coords), Size: w.room}),
		ir.Repeat(goOn(ir.At(w.table, at)), ir.Set(at, around)),
	}, at
}

// coordsOf is the coordinates of an entry.
func (w hash) coordsOf(entry ir.Expr) []ir.Expr {
	var out []ir.Expr
	for _, a := range w.crd {
		out = append(out, ir.IndexAt(a, entry))
	}
	return out
}

func (w hash) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	t, coords := w.tensor, coordinates(a.LHS, e)
	var out []ir.Stmt
	var value *ir.Var
	if e.phase == computing {
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
		return ir.All(ir.Is(entry, ir.Ge, ir.Const(0)), other)
	})
	entry := l.Index(t.Name + "_entry")
	out = append(append(out, stmts...), ir.Let(entry, ir.At(w.table, at)))
	first, again := w.grow(), ir.Do()
	for d, c := range coords {
		first = append(first, ir.Put(w.crd[d], w.count, c))
	}
	if value != nil {
		first = append(first, ir.Put(w.vals, w.count, value))
		again = ir.Do(ir.Update(w.vals, entry, scalarOp(a.Reduce, t.Elem), value))
	}
	first = append(first, ir.Put(w.table, at, w.count), ir.Increment(w.count), w.rehash(l))
	return append(out, &ir.If{Cond: ir.Is(entry, ir.Lt, ir.Const(0)), Then: ir.Do(first...), Else: again})
}

// rehash doubles the table once it is half full.
func (w hash) rehash(l *lowerer) ir.Stmt {
	q := l.Index("q")
	find, at := w.probe(l, w.coordsOf(q), func(entry ir.Expr) ir.Expr { return ir.Is(entry, ir.Ge, ir.Const(0)) })
	return ir.When(ir.Is(ir.Mul(ir.Const(2), w.count), ir.Gt, w.room),
		&ir.Grow{Array: w.table, Capacity: w.room, Size: ir.Mul(ir.Const(2), w.room)},
		w.emptyTable(),
		ir.Count(q, w.count, append(find, ir.Put(w.table, at, q))...))
}

// fill sorts the entries into arrays of their own; where they are only counted, one mode of them need not be. Then the
// table is emptied entry by entry: a use costs what it holds, not what the largest one held.
func (w hash) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	before = append([]ir.Stmt{ir.Set(w.count, ir.Const(0))}, l.produce(s, w, e)...)
	sorted := w.entries
	if e.phase == computing || l.format(w.tensor).Order() > 1 || !l.onlyCounted(s) {
		var perm *ir.Array
		var ready []ir.Stmt
		perm, sorted, ready, done = w.sort(l, e)
		q, from := l.Index("q"), l.Index("from")
		copies := append([]ir.Stmt{ir.Let(from, ir.At(perm, q))}, sorted.copied(q, w.entries, from)...)
		before = append(append(before, ready...), ir.Count(q, w.count, copies...))
	}
	q := l.Index("q")
	find, at := w.probe(l, w.coordsOf(q), func(entry ir.Expr) ir.Expr { return ir.Is(entry, ir.Ne, q) })
	return sorted.view(), before, append(done, ir.Count(q, w.count, append(find, ir.Put(w.table, at, ir.Const(-1)))...))
}
