package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// marked is Gustavson's accumulator: a value and a mark for each place, and the list of the places in use. The marks are
// cleared through the list, so that a use costs what it holds and not its extent.
type marked struct {
	tensor           *index.Tensor
	mark, list, vals *ir.Array
	count            *ir.Var
}

func newMarked(l *lowerer, t *index.Tensor, list string, elem dtype.T, e env) marked {
	w := marked{tensor: t, mark: l.Array(t.Name+"_mark", dtype.U8), list: l.Array(t.Name+list, elem), count: l.Index(t.Name + "_count")}
	room := l.elements(t)
	e.region.allocs = append(e.region.allocs, ir.Declare(w.count, ir.Const(0)))
	e.region.local(w.mark, room, true)
	e.region.local(w.list, room, false)
	if e.phase == computing {
		w.vals = l.Array(t.Name+"_vals", t.Elem)
		e.region.local(w.vals, room, false)
	}
	return w
}

func newRow(l *lowerer, t *index.Tensor, e env) workspace {
	if l.format(t).Order() > 1 {
		return grid{newMarked(l, t, "_list", dtype.I64, e)}
	}
	return row{newMarked(l, t, "_crd", l.indexType(t), e)}
}

// writeAt reduces a value into a place.
func (w marked) writeAt(l *lowerer, a *cin.Assign, place ir.Expr, e env) []ir.Stmt {
	first := []ir.Stmt{
		ir.Put(w.mark, place, ir.Number(1, dtype.U8)),
		ir.Put(w.list, w.count, place),
		ir.Increment(w.count),
	}
	isNew := ir.Is(ir.At(w.mark, place), ir.Eq, zero(dtype.U8))
	if e.phase == counting {
		return []ir.Stmt{ir.When(isNew, first...)}
	}
	t := w.tensor
	value := l.Scalar(t.Name+"_value", t.Elem)
	return []ir.Stmt{ir.Let(value, l.value(a.RHS, t.Elem, e)), &ir.If{
		Cond: isNew,
		Then: ir.Do(append(first, ir.Put(w.vals, place, value))...),
		Else: ir.Do(ir.Update(w.vals, place, scalarOp(a.Reduce, t.Elem), value)),
	}}
}

// unmark clears the marks of the places in use.
func (w marked) unmark(l *lowerer) ir.Stmt {
	q := l.Index("q")
	return ir.Count(q, w.count, ir.Put(w.mark, ir.IndexAt(w.list, q), zero(dtype.U8)))
}

// Where there are more than sorted places in use, and one of scanned is, they are found by a scan of the marks: it passes 64 marks in
// the time of a few steps of a sort.
const (
	scanned = 64
	sorted  = 16
)

// order puts the list in order.
func (w marked) order(l *lowerer) ir.Stmt {
	many := ir.All(ir.Is(w.count, ir.Gt, ir.Const(sorted)), ir.Is(ir.Mul(w.count, ir.Const(scanned)), ir.Gt, l.elements(w.tensor)))
	return &ir.If{
		Cond: many,
		Then: ir.Do(&ir.Scan{Array: w.list, Marks: w.mark, Count: l.elements(w.tensor)}),
		Else: ir.Do(&ir.Sort{Array: w.list, Lo: ir.Const(0), Hi: w.count}),
	}
}

// row is an accumulator over one variable: places are coordinates.
type row struct{ marked }

func (w row) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	return w.writeAt(l, a, e.coord.get(a.LHS.Vars[0]), e)
}

func (w row) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	before = append([]ir.Stmt{ir.Set(w.count, ir.Const(0))}, l.produce(s, w, e)...)
	if e.phase == computing || !l.onlyCounted(s) {
		before = append(before, w.order(l))
	}
	element := func(_ *lowerer, a *index.Access, e env) ir.Expr { return ir.At(w.vals, e.coord.get(a.Vars[0])) }
	return &view{element: element, crd: []*ir.Array{w.list}, count: w.count}, before, []ir.Stmt{w.unmark(l)}
}

// onlyCounted reports whether the consumer of s only counts the entries one by one: not in strips, nor together with another level.
func (l *lowerer) onlyCounted(s *cin.Where) bool {
	v := cin.Written(s.Producer).Vars[0]
	lat := l.lattices.Loop(&cin.Forall{Var: v, Body: s.Consumer})
	return !l.program.Divided(v) && len(lat.Points) == 1 && len(lat.Iterators()) == 1 && !lat.Full()
}

// grid is an accumulator over several variables: it has a place for each element of their product, and the coordinates follow
// from the places once those are in order.
type grid struct{ marked }

func (w grid) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	at := l.Index(w.tensor.Name + "_at")
	return append([]ir.Stmt{ir.Let(at, l.linear(w.tensor, coordinates(a.LHS, e)))}, w.writeAt(l, a, at, e)...)
}

// fill puts the places in use in order, and finds the coordinates of each.
func (w grid) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	before = append([]ir.Stmt{ir.Set(w.count, ir.Const(0))}, l.produce(s, w, e)...)
	crd := l.sortedCrd(w.tensor)
	for _, a := range crd {
		before = append(before, ir.NewArray(a, ir.AtLeastOne(w.count)))
		done = append(done, &ir.Free{Array: a})
	}
	before = append(before, w.order(l))
	q, rest := l.Index("q"), l.Index("rest")
	body := []ir.Stmt{ir.Declare(rest, ir.IndexAt(w.list, q))}
	for d := len(crd) - 1; d > 0; d-- {
		n, above := l.extent(l.held(w.tensor)[d]), l.Index("above")
		body = append(body, ir.Let(above, ir.Div(rest, n)), ir.Put(crd[d], q, ir.Remainder(rest, above, n)), ir.Set(rest, above))
	}
	before = append(before, ir.Count(q, w.count, append(body, ir.Put(crd[0], q, rest))...))
	element := func(l *lowerer, a *index.Access, e env) ir.Expr {
		return ir.At(w.vals, ir.IndexAt(w.list, l.elementAt(a, e)))
	}
	return &view{element: element, crd: crd, count: w.count}, before, append(done, w.unmark(l))
}
