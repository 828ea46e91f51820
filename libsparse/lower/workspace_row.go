package lower

import (
	"cmp"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// marked is Gustavson's accumulator: a value and a mark for each place, and the list of the places in use. Marks and values are
// cleared through the list, so that a use costs what it holds and not its extent. Marks are bytes, which say whether a place has to be put
// on the list, or the bits or bytes of a map from which the list is made, in order, when all terms are there.
type marked struct {
	tensor     *index.Tensor
	list, vals *ir.Array
	count      *ir.Var
	// mark is nil where marks are a map.
	mark *ir.Array
	// bits is the map, of bits or of bytes, or one that sorts the list; it is nil where the list needs no order. words marks those of its words that are not zero, and
	// is nil where all words are read.
	bits, words *ir.Array
	// used is the range of the map that one use has set, nil where that isn't known.
	used *usedPlaces
	// op reduces the terms of a place. Values of places that are not in use are its identity.
	op   dtype.Op
	kind cin.Storage
}

func newMarked(l *lowerer, t *index.Tensor, list string, elem dtype.T, e env) marked {
	filled := l.filling(t)
	w := marked{tensor: t, op: scalarOp(cmp.Or(reduction(filled.Producer), dtype.Add), t.Elem), kind: l.program.Workspaces[t]}
	room := l.elements(t)
	if e.phase != revaluing {
		w.list, w.count = l.Array(t.Name+list, elem), l.Index(t.Name+"_count")
		e.region.allocs = append(e.region.allocs, ir.Declare(w.count, ir.Const(0)))
		e.region.local(w.list, ir.Add(room, ir.Const(ir.PlacesRoom)), false)
		w.marks(l, e, room, e.phase == computing || l.format(t).Order() > 1 || !l.onlyCounted(filled))
	}
	if e.phase == counting {
		return w
	}
	w.vals = l.Array(t.Name+"_vals", t.Elem)
	empty, _ := w.op.Identity()
	e.region.local(w.vals, room, empty == 0)
	if empty != 0 {
		e.region.allocs = append(e.region.allocs, &ir.Fill{Array: w.vals, Count: room, Value: identity(w.op, t.Elem)})
	}
	return w
}

// marks adds the arrays of the marks, and those that put the list in order.
func (w *marked) marks(l *lowerer, e env, room ir.Expr, ordered bool) {
	name := w.tensor.Name
	if !w.mapped() {
		w.mark = l.Array(name+"_mark", dtype.U8)
		e.region.local(w.mark, room, true)
	}
	switch {
	case w.kind == cin.Bytemap:
		w.bits = l.Array(name+"_set", dtype.U8)
		e.region.local(w.bits, ir.PlacesBytes(room), true)
	case ordered || w.mapped():
		w.bits = l.Array(name+"_bits", dtype.I64)
		e.region.local(w.bits, ir.PlacesBits(room), true)
	}
	if w.bits != nil && w.kind != cin.Bitmap && w.kind != cin.Bytemap {
		w.words = l.Array(name+"_words", dtype.U8)
		e.region.local(w.words, ir.PlacesWords(room), true)
	}
}

// scattered is the accumulator with one kind of marks, where they would be chosen for each use.
func (w marked) scattered() marked {
	if w.kind == cin.Adaptive {
		w.kind = cin.Scatter
	}
	return w
}

// mapped reports whether the list is made of the marks when all terms are there.
func (w marked) mapped() bool {
	return w.kind == cin.Bitmap || w.kind == cin.Bytemap || w.kind == cin.Blocks
}

// usedPlaces is a range, empty at first: loops over levels in order extend it by the first and the last coordinate of each segment.
type usedPlaces struct {
	least, end *ir.Var
	// all says that something is written by other loops, too, so that places may be anywhere.
	all bool
}

// bounds is the range, with the statements that declare it.
func (u *usedPlaces) bounds(extent ir.Expr) (declared []ir.Stmt, lo, hi ir.Expr) {
	if u == nil {
		return nil, ir.Const(0), extent
	}
	declared = []ir.Stmt{ir.Declare(u.least, extent), ir.Declare(u.end, ir.Const(0))}
	if u.all {
		return declared, ir.Const(0), extent
	}
	return declared, u.least, u.end
}

// covers extends the range of the workspace that f writes by the segment r of its level, whose coordinates ascend. It returns the workspace, nil
// where the range doesn't follow from the segment.
func (l *lowerer) covers(f *cin.Forall, it lattice.Iterator, r format.Range, e env) (t *index.Tensor, stmts []ir.Stmt) {
	out := cin.Written(f.Body)
	w, ok := e.writers.get(out.Tensor).(row)
	if !ok || w.used == nil || out.Vars[0] != f.Var || !l.ascends(it, r, e) {
		return nil, nil
	}
	return out.Tensor, l.extends(w.used, it, r, e)
}

// ascends reports whether a segment's coordinates do, one at each of its positions.
func (l *lowerer) ascends(it lattice.Iterator, r format.Range, e env) bool {
	return gapless(it) && it.Props().Ordered && l.valid(it, r.Lo, e) == nil
}

// extends extends a range by such a segment.
func (l *lowerer) extends(used *usedPlaces, it lattice.Iterator, r format.Range, e env) []ir.Stmt {
	at := func(p ir.Expr) ir.Expr { return ir.Convert(l.coordinate(it, p, e), dtype.I64) }
	return []ir.Stmt{ir.When(ir.Is(r.Lo, ir.Lt, r.Hi),
		ir.Set(used.least, ir.Min(used.least, at(r.Lo))),
		ir.Set(used.end, ir.Max(used.end, ir.Next(at(ir.Sub(r.Hi, ir.Const(1)))))))}
}

// filling is the statement that fills a workspace.
func (l *lowerer) filling(t *index.Tensor) *cin.Where {
	for s := range cin.Within(l.program.Body) {
		if s, ok := s.(*cin.Where); ok && cin.Written(s.Producer).Tensor == t {
			return s
		}
	}
	panic("BUG: nothing writes " + t.Name)
}

func newRow(l *lowerer, t *index.Tensor, e env) workspace {
	if l.format(t).Order() > 1 {
		return grid{newMarked(l, t, "_list", dtype.I64, e).scattered()}
	}
	made := newMarked(l, t, "_crd", l.indexType(t), e)
	if made.kind == cin.Adaptive && e.phase != counting && measurable(l.filling(t).Producer) {
		return newAdaptive(l, made, e)
	}
	return row{made.scattered()}
}

// writeAt reduces a value into a place.
func (w marked) writeAt(l *lowerer, a *cin.Assign, place ir.Expr, e env) (out []ir.Stmt) {
	if e.phase != revaluing {
		out = w.enter(place)
	}
	if e.phase != counting {
		out = append(out, ir.Update(w.vals, place, w.op, l.value(a.RHS, w.tensor.Elem, e)))
	}
	return out
}

// enter puts a place on the list where it is not yet there.
func (w marked) enter(place ir.Expr) []ir.Stmt {
	if w.mapped() {
		return []ir.Stmt{&ir.MarkPlace{Bits: w.bits, Words: w.words, Place: place}}
	}
	isNew := ir.Is(ir.At(w.mark, place), ir.Eq, zero(dtype.U8))
	list, mark := ir.Put(w.list, w.count, place), ir.Put(w.mark, place, ir.Number(1, dtype.U8))
	if w.kind == cin.Scatter { // the end of the list is written in any case, and counted where the place is new
		return []ir.Stmt{list, ir.Increase(w.count, &ir.Cast{X: isNew, To: dtype.I64}), mark}
	}
	return []ir.Stmt{ir.When(isNew, mark, list, ir.Increment(w.count))}
}

// clear is how one place is left as it was before its use.
func (w marked) clear(place ir.Expr, e env) (out []ir.Stmt) {
	if e.phase != revaluing && !w.mapped() && w.kind != cin.Adaptive {
		out = append(out, ir.Put(w.mark, place, zero(dtype.U8)))
	}
	if e.phase != counting {
		out = append(out, ir.Put(w.vals, place, identity(w.op, w.tensor.Elem)))
	}
	return out
}

// clearAll clears the places in use.
func (w marked) clearAll(l *lowerer, e env) []ir.Stmt {
	q := l.Index("q")
	if clear := w.clear(ir.IndexAt(w.list, q), e); clear != nil {
		return []ir.Stmt{ir.Count(q, w.count, clear...)}
	}
	return nil
}

// produce runs the producer of s and makes the list of the places in use, which is in order where ordered is set.
func (w marked) produce(l *lowerer, s *cin.Where, into writer, e env, ordered bool) []ir.Stmt {
	terms, places := l.produce(s, into, e), l.elements(w.tensor)
	switch {
	case w.mapped():
		out, lo, hi := w.used.bounds(places)
		list := &ir.ListPlaces{Array: w.list, Bits: w.bits, Words: w.words, Count: w.count, Lo: lo, Hi: hi}
		return append(append(out, terms...), list)
	case ordered:
		terms = append(terms, &ir.SortPlaces{Array: w.list, Bits: w.bits, Words: w.words, Count: w.count, Extent: places})
	}
	return append([]ir.Stmt{ir.Set(w.count, ir.Const(0))}, terms...)
}

// row is an accumulator over one variable: places are coordinates.
type row struct{ marked }

func (w row) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	if w.used != nil && e.covered != w.tensor {
		w.used.all = true
	}
	return w.writeAt(l, a, e.coord.get(a.LHS.Vars[0]), e)
}

func (w row) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	v, done = w.view(l, s, e)
	if e.phase == revaluing {
		return v, l.produce(s, w, e), done
	}
	if w.mapped() {
		w.used = &usedPlaces{least: l.Index(w.tensor.Name + "_least"), end: l.Index(w.tensor.Name + "_end")}
	}
	return v, w.produce(l, s, w, e, e.phase == computing || !l.onlyCounted(s)), done
}

// view is the row as the consumer of s reads it, and how it is cleared where not each element is after its only use.
func (w row) view(l *lowerer, s *cin.Where, e env) (v *view, done []ir.Stmt) {
	place := func(a *index.Access, e env) ir.Expr { return e.coord.get(a.Vars[0]) }
	v = &view{element: func(_ *lowerer, a *index.Access, e env) ir.Expr { return ir.At(w.vals, place(a, e)) }}
	if e.phase != counting && l.isCopied(s) {
		v.leave = func(_ *lowerer, a *index.Access, e env) []ir.Stmt { return w.clear(place(a, e), e) }
	}
	if e.phase == revaluing {
		v.crd, v.entries = l.knownRow(e)
		return v, nil
	}
	v.crd, v.entries = []*ir.Array{w.list}, listed(w.count)
	if v.leave == nil {
		done = w.clearAll(l, e)
	}
	return v, done
}

// isCopied reports whether the consumer of s visits the elements of the workspace one by one, and does no more at each than to assign to
// one element of the result: at none of them only if another operand has an entry there, since each is cleared where it is read.
func (l *lowerer) isCopied(s *cin.Where) bool {
	f, ok := s.Consumer.(*cin.Forall)
	if !ok || !l.onlyCounted(s) || f.Var != cin.Written(s.Producer).Vars[0] {
		return false
	}
	a, ok := f.Body.(*cin.Assign)
	return ok && a.LHS.Tensor == l.program.Source.LHS.Tensor && len(l.lattices.Loop(f).Points[0].Located) == 0
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
	before = w.produce(l, s, w, e, true)
	crd := l.sortedCrd(w.tensor)
	for _, a := range crd {
		before = append(before, ir.NewArray(a, ir.AtLeastOne(w.count)))
		done = append(done, &ir.Free{Array: a})
	}
	q, rest := l.Index("q"), l.Index("rest")
	body := []ir.Stmt{ir.Declare(rest, ir.IndexAt(w.list, q))}
	for d := len(crd) - 1; d > 0; d-- {
		n, above := l.extent(l.held(w.tensor)[d]), l.Index("above")
		if _, literal := n.(*ir.Int); literal { // bound to 0, there are no elements, but C compilers warn
			n = ir.AtLeastOne(n)
		}
		body = append(body, ir.Let(above, ir.Div(rest, n)), ir.Put(crd[d], q, ir.Remainder(rest, above, n)), ir.Set(rest, above))
	}
	before = append(before, ir.Count(q, w.count, append(body, ir.Put(crd[0], q, rest))...))
	element := func(l *lowerer, a *index.Access, e env) ir.Expr {
		return ir.At(w.vals, ir.IndexAt(w.list, l.elementAt(a, e)))
	}
	return &view{element: element, crd: crd, entries: listed(w.count)}, before, append(done, w.clearAll(l, e)...)
}
