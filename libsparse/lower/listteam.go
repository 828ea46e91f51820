package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// A List that holds the whole result is filled by all threads: they take blocks of the outermost loop and count what each
// block puts into the list, prefix sums say where a block begins, and then every block is written from there. So entries
// stand where one thread would have put them, equal ones are reduced in that order, and the bits are those of one thread.

// teamwork is the state of such a list.
type teamwork struct {
	// loop is the outermost loop that fills the list.
	loop *cin.Forall
	// starts says where each block begins; cursor is where the block at hand writes next.
	starts *ir.Array
	cursor *ir.Var
	// counted says that entries are only counted.
	counted bool
}

// sharedFill is the loop whose blocks threads put into t, nil if there is none.
func sharedFill(p *cin.Program, t *index.Tensor) *cin.Forall {
	s, ok := p.Body.(*cin.Where)
	if !ok || cin.Written(s.Producer).Tensor != t || p.Workspaces[t] != cin.List {
		return nil
	}
	f, ok := s.Producer.(*cin.Forall)
	if !ok || f.Unit != cin.Threads {
		return nil
	}
	return f
}

// fillTogether lowers the loop twice: to count, and to write.
func (w *workspace) fillTogether(l *lowerer, e env) []ir.Stmt {
	w.team.starts = w.array(l, "_starts", dtype.I64)
	all := integer(Blocks)
	w.team.counted = true // in the same phase: it says which terms are known to be there
	count := w.fillPass(l, e, integer(0))
	w.team.counted = false
	out := []ir.Stmt{
		&ir.Alloc{Array: w.team.starts, Size: next(all), Heap: true},
		&ir.Fill{Array: w.team.starts, Count: next(all), Value: integer(0)},
		count,
		&ir.PrefixSum{Array: w.team.starts, Count: next(all)},
		set(w.count, loadIndex(w.team.starts, all)),
	}
	for _, a := range w.arrays() {
		out = append(out, &ir.Alloc{Array: a, Size: binary(dtype.Max, w.count, integer(1)), Heap: true})
	}
	return append(out, w.fillPass(l, e, nil))
}

// fillPass runs the loop once, block by block; first is where all blocks begin, nil where starts says so.
func (w *workspace) fillPass(l *lowerer, e env, first ir.Expr) ir.Stmt {
	block := &ir.Var{Name: l.names.fresh("block"), T: ir.Index}
	w.team.cursor = &ir.Var{Name: l.names.fresh(w.tensor.Name + "_next"), T: ir.Index}
	return l.region(l.divided(w.team.loop, e, block, integer(Blocks), func(body []ir.Stmt) []ir.Stmt {
		if first != nil {
			body = append([]ir.Stmt{declare(w.team.cursor, first)}, body...)
			return append(body, store(w.team.starts, next(block), w.team.cursor))
		}
		return append([]ir.Stmt{declare(w.team.cursor, loadIndex(w.team.starts, block))}, body...)
	}))
}

// writeTogether counts or writes one entry of the block at hand.
func (w *workspace) writeTogether(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	if w.team.counted {
		return []ir.Stmt{increment(w.team.cursor)}
	}
	return append(w.put(l, a, w.team.cursor, e), increment(w.team.cursor))
}

// finishTogether sorts the list and reduces what is equal, both on threads.
func (w *workspace) finishTogether(l *lowerer) (ready, done []ir.Stmt) {
	perm, ready, done := w.sort(l)
	for _, a := range append(w.arrays(), w.team.starts) {
		done = append(done, &ir.Free{Array: a})
	}
	values := w.sortedVals
	once := len(l.program.Source.Reduced()) == 0 // no coordinate comes twice
	if !once {
		w.sortedVals = nil // they are reduced where they are
	}
	q, from := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}, &ir.Var{Name: l.names.fresh("from"), T: ir.Index}
	body := append([]ir.Stmt{constant(from, &ir.Load{Array: perm, Index: q})}, w.copied(q, from)...)
	ready = append(ready, l.region([]ir.Stmt{&ir.For{
		Var: q, Lo: integer(0), Hi: w.count, Step: 1, Kind: ir.Shared, Chunk: l.chunk(ir.Shared, w.count), Body: block(body...),
	}}))
	if once {
		return ready, done
	}
	w.sortedVals = values
	all := integer(Blocks)
	ready = append(ready,
		&ir.Fill{Array: w.team.starts, Count: next(all), Value: integer(0)},
		l.region([]ir.Stmt{w.countDistinct(l)}),
		&ir.PrefixSum{Array: w.team.starts, Count: next(all)},
		l.region([]ir.Stmt{w.reduceBlocks(l, perm)}),
		set(w.count, loadIndex(w.team.starts, all)))
	w.sorted = w.crd // which were copied to where they are sorted, and now are once each
	return ready, done
}

// sortedBlocks is a shared loop over blocks of the sorted entries from lo to hi.
func (w *workspace) sortedBlocks(l *lowerer, body func(part, lo, hi *ir.Var) []ir.Stmt) ir.Stmt {
	part := &ir.Var{Name: l.names.fresh("part"), T: ir.Index}
	lo, hi := &ir.Var{Name: l.names.fresh("lo"), T: ir.Index}, &ir.Var{Name: l.names.fresh("hi"), T: ir.Index}
	share := &ir.Var{Name: l.names.fresh("share"), T: ir.Index}
	first := binary(dtype.Mul, part, share)
	stmts := []ir.Stmt{
		constant(share, ceilDiv(w.count, integer(Blocks))),
		constant(lo, binary(dtype.Min, first, w.count)),
		constant(hi, binary(dtype.Min, plus(first, share), w.count)),
	}
	return &ir.For{
		Var: part, Lo: integer(0), Hi: integer(Blocks), Step: 1, Kind: ir.Shared, Chunk: integer(1),
		Body: block(slices.Concat(stmts, body(part, lo, hi))...),
	}
}

// same says whether the sorted entry at q has the coordinates of the one before it.
func (w *workspace) same(q ir.Expr) ir.Expr {
	before := binary(dtype.Sub, q, integer(1))
	conds := []ir.Expr{compare(ir.Gt, q, integer(0))}
	for _, a := range w.sorted {
		conds = append(conds, compare(ir.Eq, &ir.Load{Array: a, Index: q}, &ir.Load{Array: a, Index: before}))
	}
	return all(conds)
}

// countDistinct counts the coordinates that begin in each block.
func (w *workspace) countDistinct(l *lowerer) ir.Stmt {
	return w.sortedBlocks(l, func(part, lo, hi *ir.Var) []ir.Stmt {
		n, q := &ir.Var{Name: l.names.fresh("distinct"), T: ir.Index}, &ir.Var{Name: l.names.fresh("q"), T: ir.Index}
		return []ir.Stmt{
			declare(n, integer(0)),
			&ir.For{Var: q, Lo: lo, Hi: hi, Step: 1, Body: block(
				&ir.If{Cond: w.same(q), Then: block(), Else: block(increment(n))})},
			store(w.team.starts, next(part), n),
		}
	})
}

// reduceBlocks writes the coordinates that begin in each block, with all that is equal, which the next blocks pass over.
func (w *workspace) reduceBlocks(l *lowerer, perm *ir.Array) ir.Stmt {
	return w.sortedBlocks(l, func(part, lo, hi *ir.Var) []ir.Stmt {
		kept, begin := &ir.Var{Name: l.names.fresh(w.tensor.Name + "_kept"), T: ir.Index}, &ir.Var{Name: l.names.fresh("begin"), T: ir.Index}
		q, rest := &ir.Var{Name: l.names.fresh("q"), T: ir.Index}, &ir.Var{Name: l.names.fresh("rest"), T: ir.Index}
		begun := compare(ir.Gt, kept, begin)
		again := func(at ir.Expr) *ir.Block {
			if w.sortedVals == nil {
				return block()
			}
			return block(&ir.Store{
				Array: w.sortedVals, Index: binary(dtype.Sub, kept, integer(1)),
				Reduce: scalarOp(l.program.Source.Reduce, w.tensor.Elem),
				Value:  &ir.Load{Array: w.vals, Index: &ir.Load{Array: perm, Index: at}},
			})
		}
		var fresh []ir.Stmt
		for d, a := range w.crd {
			fresh = append(fresh, &ir.Store{Array: a, Index: kept, Value: &ir.Load{Array: w.sorted[d], Index: q}})
		}
		if w.sortedVals != nil {
			value := &ir.Load{Array: w.vals, Index: &ir.Load{Array: perm, Index: q}}
			fresh = append(fresh, &ir.Store{Array: w.sortedVals, Index: kept, Value: value})
		}
		fresh = append(fresh, increment(kept))
		out := []ir.Stmt{
			constant(begin, loadIndex(w.team.starts, part)),
			declare(kept, begin),
			&ir.For{Var: q, Lo: lo, Hi: hi, Step: 1, Body: block(&ir.If{
				Cond: w.same(q),
				Then: block(&ir.If{Cond: begun, Then: again(q)}),
				Else: block(fresh...),
			})},
		}
		if w.sortedVals == nil {
			return out
		}
		more := all([]ir.Expr{begun, compare(ir.Lt, rest, w.count), w.same(rest)})
		tail := again(rest)
		tail.Stmts = append(tail.Stmts, increment(rest))
		return append(out, declare(rest, hi), &ir.While{Cond: more, Body: tail})
	})
}
