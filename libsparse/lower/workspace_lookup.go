package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// lookup is a row that is read where others have entries: a value and a mark for each place, and the list of the places in use, through which they
// are cleared. Its reader finds a place by its coordinate, where one that walks a list merges it with the others.
type lookup struct {
	tensor           *index.Tensor
	vals, mark, list *ir.Array
	count            *ir.Var
}

func newLookup(l *lowerer, t *index.Tensor, e env) workspace {
	w := lookup{
		tensor: t, count: l.Index(t.Name + "_count"),
		vals: l.Array(t.Name+"_vals", t.Elem), mark: l.Array(t.Name+"_mark", dtype.U8), list: l.Array(t.Name+"_crd", l.indexType(t)),
	}
	room := l.elements(t)
	e.region.allocs = append(e.region.allocs, ir.Declare(w.count, ir.Const(0)))
	e.region.local(w.list, room, false)
	e.region.local(w.mark, room, true)
	if w.valued(e) {
		e.region.local(w.vals, room, false)
	}
	return w
}

// valued reports whether the elements have values, and are not just counted.
func (w lookup) valued(e env) bool { return e.phase == computing || e.phase == revaluing }

// write sets an element, or reduces into it.
func (w lookup) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	at := e.coord.get(a.LHS.Vars[0])
	isNew := ir.Is(ir.At(w.mark, at), ir.Eq, zero(dtype.U8))
	first := []ir.Stmt{ir.Put(w.mark, at, ir.Number(1, dtype.U8)), ir.Put(w.list, w.count, at), ir.Increment(w.count)}
	var again []ir.Stmt
	if w.valued(e) {
		value := l.value(a.RHS, w.tensor.Elem, e)
		first, again = append(first, ir.Put(w.vals, at, value)), []ir.Stmt{ir.Update(w.vals, at, scalarOp(a.Reduce, w.tensor.Elem), value)}
	}
	switch {
	case a.Reduce == "":
		return first
	case again == nil:
		return []ir.Stmt{ir.When(isNew, first...)}
	default:
		return []ir.Stmt{&ir.If{Cond: isNew, Then: ir.Do(first...), Else: ir.Do(again...)}}
	}
}

func (w lookup) fill(l *lowerer, s *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	if e.phase == bounding { // what is looked up has to be there, too
		e.phase = counting
	}
	before = append([]ir.Stmt{ir.Set(w.count, ir.Const(0))}, l.produce(s, w, e)...)
	q := l.Index("q")
	done = []ir.Stmt{ir.Count(q, w.count, ir.Put(w.mark, ir.IndexAt(w.list, q), zero(dtype.U8)))}
	element := func(_ *lowerer, a *index.Access, e env) ir.Expr { return ir.At(w.vals, e.coord.get(a.Vars[0])) }
	return &view{element: element, mark: w.mark}, before, done
}

// marked is the level of a view whose elements are looked up.
func (v *view) marked(l *lowerer, of index.Var) format.Storage {
	return format.Storage{Crd: v.mark, Extent: l.count(of)}
}
