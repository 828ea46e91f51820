package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// teamList is a list that holds the whole result and is filled by all threads: they take blocks of the outermost loop and count
// what each block puts into the list, prefix sums say where a block begins, and then every block is written from there. So
// entries stand where one thread would have put them, equal ones are reduced in that order, and the bits are those of one thread.
type teamList struct {
	entries
	// loop is the outermost loop that fills the list.
	loop *cin.Forall
	// starts says where each block begins.
	starts *ir.Array
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

// blockWriter is a teamList as one pass over a block writes it: at a cursor, or moving the cursor only.
type blockWriter struct {
	entries
	cursor *ir.Var
	counts bool
}

func (w blockWriter) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	if w.counts {
		return []ir.Stmt{ir.Increment(w.cursor)}
	}
	return append(w.put(l, a, w.cursor, e), ir.Increment(w.cursor))
}

// fill lowers the loop twice, to count and to write. Then it sorts the list and reduces what is equal, on threads too.
func (w teamList) fill(l *lowerer, _ *cin.Where, e env) (v *view, before, done []ir.Stmt) {
	before = slices.Concat(
		[]ir.Stmt{ir.Set(w.count, ir.Const(0)), ir.NewArray(w.starts, ir.Const(Blocks+1))},
		w.sumStarts(w.pass(l, e, true)),
		[]ir.Stmt{ir.Set(w.count, ir.IndexAt(w.starts, ir.Const(Blocks)))})
	for _, a := range w.arrays() {
		before = append(before, ir.NewArray(a, ir.AtLeastOne(w.count)))
	}
	before = append(before, w.pass(l, e, false))
	perm, sorted, ready, done := w.sort(l, e)
	for _, a := range append(w.arrays(), w.starts) {
		done = append(done, &ir.Free{Array: a})
	}
	q, from := l.Index("q"), l.Index("from")
	once := w.op(l) == ""
	copies := sorted
	if !once {
		copies.vals = nil // values are reduced where they are
	}
	loop := ir.Count(q, w.count, append([]ir.Stmt{ir.Let(from, ir.At(perm, q))}, copies.copied(q, w.entries, from)...)...)
	before = append(append(before, ready...), l.team([]ir.Stmt{l.share(loop)}))
	if once {
		return sorted.view(), before, done
	}
	before = append(before, w.sumStarts(l.team([]ir.Stmt{w.countDistinct(l, sorted)}))...)
	before = append(before, l.team([]ir.Stmt{w.reduceBlocks(l, perm, sorted)}), ir.Set(w.count, ir.IndexAt(w.starts, ir.Const(Blocks))))
	// Coordinates were copied to where they are sorted, and are then written back, once each.
	return entries{tensor: w.tensor, crd: w.crd, vals: sorted.vals, count: w.count}.view(), before, done
}

// sumStarts turns the numbers that count leaves for the blocks into where they begin.
func (w teamList) sumStarts(count ir.Stmt) []ir.Stmt {
	clear, sum := summed(w.starts, ir.Const(Blocks))
	return []ir.Stmt{clear, count, sum}
}

// pass runs the loop once, block by block. The phase stays the same where entries are only counted: it says which terms are known
// to be there.
func (w teamList) pass(l *lowerer, e env, counts bool) ir.Stmt {
	block := l.Index("block")
	cursor := l.Index(w.tensor.Name + "_next")
	e.writers = e.writers.with(w.tensor, writer(blockWriter{w.entries, cursor, counts}))
	before, after := appending(cursor, w.starts, block, counts)
	return l.team(l.inParts(w.loop, e, block, ir.Const(Blocks), before, after))
}

// sortedBlocks is a shared loop over blocks of the sorted entries from lo to hi.
func (w teamList) sortedBlocks(l *lowerer, body func(part, lo, hi *ir.Var) []ir.Stmt) ir.Stmt {
	part, lo, hi, share := l.Index("part"), l.Index("lo"), l.Index("hi"), l.Index("share")
	first := ir.Mul(part, share)
	return shareEach(ir.Count(part, ir.Const(Blocks), append([]ir.Stmt{
		ir.Let(share, ceilDiv(w.count, ir.Const(Blocks))),
		ir.Let(lo, ir.Min(first, w.count)),
		ir.Let(hi, ir.Min(ir.Add(first, share), w.count)),
	}, body(part, lo, hi)...)...))
}

// repeats says whether the sorted entry at q has the coordinates of the one before it.
func (w entries) repeats(q ir.Expr) ir.Expr {
	conds := []ir.Expr{ir.Is(q, ir.Gt, ir.Const(0))}
	for _, a := range w.crd {
		conds = append(conds, ir.Is(ir.At(a, q), ir.Eq, ir.At(a, ir.Sub(q, ir.Const(1)))))
	}
	return ir.All(conds...)
}

// countDistinct counts the coordinates that begin in each block.
func (w teamList) countDistinct(l *lowerer, sorted entries) ir.Stmt {
	return w.sortedBlocks(l, func(part, lo, hi *ir.Var) []ir.Stmt {
		n, q := l.Index("distinct"), l.Index("q")
		return []ir.Stmt{
			ir.Declare(n, ir.Const(0)),
			ir.Loop(q, lo, hi, &ir.If{Cond: sorted.repeats(q), Then: ir.Do(), Else: ir.Do(ir.Increment(n))}),
			ir.Put(w.starts, ir.Next(part), n),
		}
	})
}

// reduceBlocks writes the coordinates that begin in each block, with all that is equal, which the next blocks pass over.
func (w teamList) reduceBlocks(l *lowerer, perm *ir.Array, sorted entries) ir.Stmt {
	return w.sortedBlocks(l, func(part, lo, hi *ir.Var) []ir.Stmt {
		kept, begin, q, rest := l.Index(w.tensor.Name+"_kept"), l.Index("begin"), l.Index("q"), l.Index("rest")
		begun := ir.Is(kept, ir.Gt, begin)
		value := func(at ir.Expr) ir.Expr { return ir.At(w.vals, ir.At(perm, at)) }
		again := func(at ir.Expr) []ir.Stmt {
			if w.vals == nil {
				return nil
			}
			return []ir.Stmt{ir.Update(sorted.vals, ir.Sub(kept, ir.Const(1)), w.op(l), value(at))}
		}
		var first []ir.Stmt
		for d, a := range w.crd {
			first = append(first, ir.Put(a, kept, ir.At(sorted.crd[d], q)))
		}
		if w.vals != nil {
			first = append(first, ir.Put(sorted.vals, kept, value(q)))
		}
		out := []ir.Stmt{
			ir.Let(begin, ir.IndexAt(w.starts, part)),
			ir.Declare(kept, begin),
			ir.Loop(q, lo, hi, &ir.If{
				Cond: sorted.repeats(q),
				Then: ir.Do(ir.When(begun, again(q)...)),
				Else: ir.Do(append(first, ir.Increment(kept))...),
			}),
		}
		if w.vals == nil {
			return out
		}
		more := ir.All(begun, ir.Is(rest, ir.Lt, w.count), sorted.repeats(rest))
		return append(out, ir.Declare(rest, hi), ir.Repeat(more, append(again(rest), ir.Increment(rest))...))
	})
}
