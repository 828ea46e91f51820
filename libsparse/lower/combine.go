package lower

import (
	"libsparse/libsparse/cin"
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
	own := l.Array(t.Name+"_own", vals.Elem)
	size := l.Index(t.Name + "_size")
	thread := l.Index("thread")
	room := ir.Mul(l.slots.threads, size)
	l.own = &ownResult{vals: own, base: ir.Mul(thread, size)}
	stmts := l.divided(f, e, thread, l.slots.threads, func(body []ir.Stmt) []ir.Stmt { return body })
	l.own = nil
	l.partly = true
	q := l.Index("q")
	from := l.Index("thread")
	add := &ir.Store{
		Array: vals, Index: q, Reduce: scalarOp(op, vals.Elem),
		Value: ir.At(own, ir.Add(ir.Mul(from, size), q)),
	}
	stmts = append(stmts, &ir.For{
		Var: q, Lo: ir.Const(0), Hi: size, Step: 1, Kind: ir.Shared, Chunk: l.chunk(ir.Shared, size),
		Body: ir.Do(ir.Count(from, l.slots.threads, add)),
	})
	return []ir.Stmt{
		ir.Let(size, l.positions(t, t.Order()-1)),
		ir.NewArray(own, ir.AtLeastOne(room)),
		&ir.Fill{Array: own, Count: room, Value: identity(op, vals.Elem)},
		l.region(stmts),
		&ir.Free{Array: own},
	}
}
