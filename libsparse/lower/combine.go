package lower

import (
	"slices"

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
	stmts := l.team(f, e)
	l.own = nil
	if i := slices.IndexFunc(stmts, shared); i >= 0 {
		stmts = slices.Replace(stmts, i, i+1, l.blocks(stmts[i].(*ir.For), l.weigh(f, e), thread)...)
	}
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

// blocks cuts the iterations of a loop into one block a thread, by weight if they have any.
func (l *lowerer) blocks(s *ir.For, w weight, thread *ir.Var) []ir.Stmt {
	if w != nil {
		share, loop := l.divide(s, w, l.slots.threads, thread)
		return []ir.Stmt{share, loop}
	}
	share := &ir.Var{Name: l.names.fresh(s.Var.Name + "_share"), T: ir.Index}
	trips := ceilDiv(binary(dtype.Sub, s.Hi, s.Lo), integer(s.Step))
	lo := plus(s.Lo, binary(dtype.Mul, binary(dtype.Mul, thread, share), integer(s.Step)))
	mine := *s
	mine.Kind, mine.Chunk = ir.Serial, nil
	mine.Lo, mine.Hi = lo, binary(dtype.Min, s.Hi, plus(lo, binary(dtype.Mul, share, integer(s.Step))))
	return []ir.Stmt{&ir.For{
		Var: thread, Lo: integer(0), Hi: l.slots.threads, Step: 1, Kind: ir.Shared, Chunk: integer(1),
		Body: block(constant(share, ceilDiv(trips, l.slots.threads)), &mine),
	}}
}
