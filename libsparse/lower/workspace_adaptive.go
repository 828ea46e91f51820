package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// adaptive is a row whose marks are chosen for each use, by how many terms there will be and how far apart they may be: bits
// that are all read where there are few places for the terms, or bytes where places are yet fewer and terms many; a list that is sorted where
// terms are few; else bits whose words are marked. A first pass over the segments that hold the terms finds the two numbers from their lengths and their
// first and last coordinates.
type adaptive struct {
	row
	// set is the map of bytes.
	set *ir.Array
}

// Limits between the kinds of marks (measured: products of 51 square matrices with themselves, one thread, AMD Zen 4: 1.06 times as long
// as the best kind for each matrix, geometric mean, and 1.23 at most but for one of 1.39; a single kind takes 1.17 at the least).
const (
	// adaptivePlaces is how many places there are for each term at most where the bits of all of them are read.
	adaptivePlaces = 32
	// adaptiveFewPlaces is the same where terms are few, which would else be sorted.
	adaptiveFewPlaces = 64
	// adaptiveBytes is how many there are at most where they have bytes, of uses with adaptiveMany terms and more.
	adaptiveBytes, adaptiveMany = 4, 512
	// adaptiveFew is how many terms there are at most where the list is sorted.
	adaptiveFew = 48
)

// measurable reports whether a pass can find how many terms a statement has before it is run: those of another workspace are not known.
func measurable(s cin.Stmt) bool {
	for inner := range cin.Within(s) {
		if _, ok := inner.(*cin.Where); ok {
			return false
		}
	}
	return true
}

func newAdaptive(l *lowerer, w marked, e env) workspace {
	made := adaptive{row: row{w}}
	if e.phase != revaluing {
		made.set = l.Array(w.tensor.Name+"_set", dtype.U8)
		e.region.local(made.set, ir.PlacesBytes(l.elements(w.tensor)), true)
	}
	return made
}

// reach is such a row in the pass before, which counts what would be written to it and finds the places.
type reach struct {
	terms
	used *usedPlaces
}

// write counts a term that is no part of a segment: its place may be anywhere.
func (r reach) write(*lowerer, *cin.Assign, env) []ir.Stmt {
	r.used.all = true
	return []ir.Stmt{ir.Increment(r.count)}
}

// reaches extends places by a segment that a loop over the variable of a row would walk; those of other loops may be anywhere.
func (l *lowerer) reaches(used *usedPlaces, f *cin.Forall, it lattice.Iterator, s format.Range, e env) []ir.Stmt {
	if cin.Written(f.Body).Vars[0] != f.Var || !l.ascends(it, s, e) {
		used.all = true
		return nil
	}
	return l.extends(used, it, s, e)
}

func (w adaptive) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	v, done = w.view(l, s, e)
	if e.phase == revaluing {
		return v, l.produce(s, w.row, e), done
	}
	name := w.tensor.Name
	measured := reach{terms{l.Index(name + "_terms")}, &usedPlaces{least: l.Index(name + "_least"), end: l.Index(name + "_end")}}
	inner := e
	inner.phase, inner.writers = bounding, e.writers.with(w.tensor, writer(measured))
	pass := l.stmt(s.Producer, inner)
	declared, lo, hi := measured.used.bounds(l.elements(w.tensor))
	before = append(append(declared, ir.Declare(measured.count, ir.Const(0))), pass...)
	within := func(places ir.Expr) ir.Expr { return ir.Is(ir.Sub(hi, lo), ir.Le, ir.Mul(measured.count, places)) }
	marked := func(kind cin.Storage) *ir.Block { return ir.Do(w.by(l, s, e, kind, lo, hi)...) }
	few := ir.Is(measured.count, ir.Le, ir.Const(adaptiveFew))
	near := within(&ir.Select{Cond: few, Then: ir.Const(adaptiveFewPlaces), Else: ir.Const(adaptivePlaces)})
	many := ir.All(within(ir.Const(adaptiveBytes)), ir.Is(measured.count, ir.Ge, ir.Const(adaptiveMany)))
	return v, append(before, &ir.If{
		Cond: near,
		Then: ir.Do(&ir.If{Cond: many, Then: marked(cin.Bytemap), Else: marked(cin.Bitmap)}),
		Else: ir.Do(&ir.If{Cond: few, Then: marked(cin.Scatter), Else: marked(cin.Blocks)}),
	}), done
}

// by fills the row with one kind of marks, which are clear before and after, and makes the list of its entries in order.
func (w adaptive) by(l *lowerer, s *cin.Where, e env, kind cin.Storage, lo, hi ir.Expr) []ir.Stmt {
	one := w.row
	one.kind = kind
	if one.mapped() {
		one.mark = nil
	}
	switch kind {
	case cin.Bitmap:
		one.words = nil
	case cin.Bytemap:
		one.bits, one.words = w.set, nil
	default:
	}
	out := l.produce(s, one, e)
	if one.mapped() {
		return append(out, &ir.ListPlaces{Array: w.list, Bits: one.bits, Words: one.words, Count: w.count, Lo: lo, Hi: hi})
	}
	q := l.Index("q")
	return append(append([]ir.Stmt{ir.Set(w.count, ir.Const(0))}, out...),
		&ir.SortPlaces{Array: w.list, Bits: w.bits, Words: w.words, Count: w.count, Extent: l.elements(w.tensor)},
		ir.Count(q, w.count, ir.Put(w.mark, ir.IndexAt(w.list, q), zero(dtype.U8))))
}
