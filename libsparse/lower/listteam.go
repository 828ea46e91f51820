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
	all := ir.Const(Blocks)
	w.team.counted = true // in the same phase: it says which terms are known to be there
	count := w.fillPass(l, e, ir.Const(0))
	w.team.counted = false
	out := []ir.Stmt{
		ir.NewArray(w.team.starts, ir.Next(all)),
		&ir.Fill{Array: w.team.starts, Count: ir.Next(all), Value: ir.Const(0)},
		count,
		&ir.PrefixSum{Array: w.team.starts, Count: ir.Next(all)},
		ir.Set(w.count, ir.IndexAt(w.team.starts, all)),
	}
	for _, a := range w.arrays() {
		out = append(out, ir.NewArray(a, ir.AtLeastOne(w.count)))
	}
	return append(out, w.fillPass(l, e, nil))
}

// fillPass runs the loop once, block by block; first is where all blocks begin, nil where starts says so.
func (w *workspace) fillPass(l *lowerer, e env, first ir.Expr) ir.Stmt {
	block := l.Index("block")
	w.team.cursor = l.Index(w.tensor.Name + "_next")
	return l.region(l.divided(w.team.loop, e, block, ir.Const(Blocks), func(body []ir.Stmt) []ir.Stmt {
		if first != nil {
			body = append([]ir.Stmt{ir.Declare(w.team.cursor, first)}, body...)
			return append(body, ir.Put(w.team.starts, ir.Next(block), w.team.cursor))
		}
		return append([]ir.Stmt{ir.Declare(w.team.cursor, ir.IndexAt(w.team.starts, block))}, body...)
	}))
}

// writeTogether counts or writes one entry of the block at hand.
func (w *workspace) writeTogether(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	if w.team.counted {
		return []ir.Stmt{ir.Increment(w.team.cursor)}
	}
	return append(w.put(l, a, w.team.cursor, e), ir.Increment(w.team.cursor))
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
	q, from := l.Index("q"), l.Index("from")
	body := append([]ir.Stmt{ir.Let(from, ir.At(perm, q))}, w.copied(q, from)...)
	ready = append(ready, l.region([]ir.Stmt{&ir.For{
		Var: q, Lo: ir.Const(0), Hi: w.count, Step: 1, Kind: ir.Shared, Chunk: l.chunk(ir.Shared, w.count), Body: ir.Do(body...),
	}}))
	if once {
		return ready, done
	}
	w.sortedVals = values
	all := ir.Const(Blocks)
	ready = append(ready,
		&ir.Fill{Array: w.team.starts, Count: ir.Next(all), Value: ir.Const(0)},
		l.region([]ir.Stmt{w.countDistinct(l)}),
		&ir.PrefixSum{Array: w.team.starts, Count: ir.Next(all)},
		l.region([]ir.Stmt{w.reduceBlocks(l, perm)}),
		ir.Set(w.count, ir.IndexAt(w.team.starts, all)))
	w.sorted = w.crd // which were copied to where they are sorted, and now are once each
	return ready, done
}

// sortedBlocks is a shared loop over blocks of the sorted entries from lo to hi.
func (w *workspace) sortedBlocks(l *lowerer, body func(part, lo, hi *ir.Var) []ir.Stmt) ir.Stmt {
	part := l.Index("part")
	lo, hi := l.Index("lo"), l.Index("hi")
	share := l.Index("share")
	first := ir.Mul(part, share)
	stmts := []ir.Stmt{
		ir.Let(share, ceilDiv(w.count, ir.Const(Blocks))),
		ir.Let(lo, ir.Min(first, w.count)),
		ir.Let(hi, ir.Min(ir.Add(first, share), w.count)),
	}
	return &ir.For{
		Var: part, Lo: ir.Const(0), Hi: ir.Const(Blocks), Step: 1, Kind: ir.Shared, Chunk: ir.Const(1),
		Body: ir.Do(slices.Concat(stmts, body(part, lo, hi))...),
	}
}

// same says whether the sorted entry at q has the coordinates of the one before it.
func (w *workspace) same(q ir.Expr) ir.Expr {
	before := ir.Sub(q, ir.Const(1))
	conds := []ir.Expr{ir.Is(q, ir.Gt, ir.Const(0))}
	for _, a := range w.sorted {
		conds = append(conds, ir.Is(ir.At(a, q), ir.Eq, ir.At(a, before)))
	}
	return ir.All(conds...)
}

// countDistinct counts the coordinates that begin in each block.
func (w *workspace) countDistinct(l *lowerer) ir.Stmt {
	return w.sortedBlocks(l, func(part, lo, hi *ir.Var) []ir.Stmt {
		n, q := l.Index("distinct"), l.Index("q")
		return []ir.Stmt{
			ir.Declare(n, ir.Const(0)),
			&ir.For{Var: q, Lo: lo, Hi: hi, Step: 1, Body: ir.Do(
				&ir.If{Cond: w.same(q), Then: ir.Do(), Else: ir.Do(ir.Increment(n))})},
			ir.Put(w.team.starts, ir.Next(part), n),
		}
	})
}

// reduceBlocks writes the coordinates that begin in each block, with all that is equal, which the next blocks pass over.
func (w *workspace) reduceBlocks(l *lowerer, perm *ir.Array) ir.Stmt {
	return w.sortedBlocks(l, func(part, lo, hi *ir.Var) []ir.Stmt {
		kept, begin := l.Index(w.tensor.Name+"_kept"), l.Index("begin")
		q, rest := l.Index("q"), l.Index("rest")
		begun := ir.Is(kept, ir.Gt, begin)
		again := func(at ir.Expr) *ir.Block {
			if w.sortedVals == nil {
				return ir.Do()
			}
			return ir.Do(&ir.Store{
				Array: w.sortedVals, Index: ir.Sub(kept, ir.Const(1)),
				Reduce: scalarOp(l.program.Source.Reduce, w.tensor.Elem),
				Value:  ir.At(w.vals, ir.At(perm, at)),
			})
		}
		var fresh []ir.Stmt
		for d, a := range w.crd {
			fresh = append(fresh, &ir.Store{Array: a, Index: kept, Value: ir.At(w.sorted[d], q)})
		}
		if w.sortedVals != nil {
			value := ir.At(w.vals, ir.At(perm, q))
			fresh = append(fresh, &ir.Store{Array: w.sortedVals, Index: kept, Value: value})
		}
		fresh = append(fresh, ir.Increment(kept))
		out := []ir.Stmt{
			ir.Let(begin, ir.IndexAt(w.team.starts, part)),
			ir.Declare(kept, begin),
			&ir.For{Var: q, Lo: lo, Hi: hi, Step: 1, Body: ir.Do(&ir.If{
				Cond: w.same(q),
				Then: ir.Do(&ir.If{Cond: begun, Then: again(q)}),
				Else: ir.Do(fresh...),
			})},
		}
		if w.sortedVals == nil {
			return out
		}
		more := ir.All(begun, ir.Is(rest, ir.Lt, w.count), w.same(rest))
		tail := again(rest)
		tail.Stmts = append(tail.Stmts, ir.Increment(rest))
		return append(out, ir.Declare(rest, hi), &ir.While{Cond: more, Body: tail})
	})
}
