package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/ir"
)

// Insertion fills the rows of a rowwise result in any order, each through a cursor of its own. For fixed other
// coordinates the loops visit a row's coordinates in ascending order, so rows come out sorted.

// frameInsert sets the cursors to where the rows begin.
func (r *result) frameInsert(l *lowerer, g format.Group) (before, after []ir.Stmt) {
	rows := l.positions(r.access.Tensor, g.First-1)
	p := &ir.Var{Name: l.names.fresh("p"), T: ir.Index}
	copyPos := &ir.Store{Array: r.next, Index: p, Value: &ir.Load{Array: r.pos(l, g), Index: p}}
	return []ir.Stmt{
		&ir.Alloc{Array: r.next, Size: binary(dtype.Max, rows, integer(1)), Heap: true},
		&ir.For{Var: p, Lo: integer(0), Hi: rows, Step: 1, Body: block(copyPos)},
	}, []ir.Stmt{&ir.Free{Array: r.next}}
}

// insert counts or stores one element.
func (r *result) insert(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	t := a.LHS.Tensor
	g := r.groups[0]
	row := l.position(a.LHS, g.First-1, e).Lo
	if l.phase == counting {
		one := &ir.Int{Value: 1, T: t.Index}
		return []ir.Stmt{&ir.Store{Array: r.pos(l, g), Index: next(row), Reduce: dtype.Add, Value: one}}
	}
	at := &ir.Var{Name: l.names.fresh("p" + t.Name), T: ir.Index}
	out := []ir.Stmt{constant(at, loadIndex(r.next, row))}
	for level := g.First; level <= g.Last; level++ {
		crd := l.slots.storage(t, level, nil).Crd
		out = append(out, store(crd, at, coordOf(a.LHS, level, e)))
	}
	return append(out,
		l.put(a, at, e),
		store(r.next, row, next(at)))
}
