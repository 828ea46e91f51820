package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Threads that may write the same element each reduce a block of the iterations into a result of their own. The blocks
// depend on the number of threads and on nothing else, and are combined in order, so that the sums are the same in
// every run.

// ownResult is the copy of the result that a block of iterations is reduced into, from base on.
type ownResult struct {
	vals *ir.Array
	base ir.Expr
}

// combined lowers a loop whose iterations are reduced block by block.
func (l *lowerer) combined(f *cin.Forall, e env) []ir.Stmt {
	t := l.program.Source.LHS.Tensor
	op := reduction(f)
	vals := l.resultVals()
	own := &ir.Array{Name: l.names.fresh(t.Name + "_own"), Elem: vals.Elem}
	size := &ir.Var{Name: l.names.fresh(t.Name + "_size"), T: ir.Index}
	thread := &ir.Var{Name: l.names.fresh("thread"), T: ir.Index}
	room := binary(dtype.Mul, l.slots.threads, size)
	l.own = &ownResult{vals: own, base: binary(dtype.Mul, thread, size)}
	stmts := l.divided(f, e, thread, l.slots.threads, func(body []ir.Stmt) []ir.Stmt { return body })
	l.own = nil
	l.partly = true
	q := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}
	from := &ir.Var{Name: l.names.fresh("thread"), T: ir.Index}
	add := &ir.Store{
		Array: vals, Index: q, Reduce: scalarOp(op, vals.Elem),
		Value: &ir.Load{Array: own, Index: plus(binary(dtype.Mul, from, size), q)},
	}
	stmts = append(stmts, &ir.For{
		Var: q, Lo: integer(0), Hi: size, Step: 1, Kind: ir.Shared, Chunk: l.chunk(ir.Shared, size),
		Body: block(&ir.For{Var: from, Lo: integer(0), Hi: l.slots.threads, Step: 1, Body: block(add)}),
	})
	return []ir.Stmt{
		constant(size, l.positions(t, t.Order()-1)),
		&ir.Alloc{Array: own, Size: binary(dtype.Max, room, integer(1)), Heap: true},
		&ir.Fill{Array: own, Count: room, Value: identity(op, vals.Elem)},
		l.region(stmts),
		&ir.Free{Array: own},
	}
}
