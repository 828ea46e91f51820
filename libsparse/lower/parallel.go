package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// chunks is how many pieces each thread's share of a loop is cut into, so that uneven rows even out.
const chunks = 16

// leastShare is the part of the work from which on there is a team that a piece has at least: it is taken with an atomic addition, for which
// threads wait for each other, and its ends are searched.
const leastShare = 4

// ownElements is how many elements the results of all threads have at most for each entry of a sparse operand: about as much memory.
const ownElements = 2

// Where entries have rows of the result to add to, each part has ownWork iterations for each element of its result at least, of ownBytes in all
// (measured: products with the transposes of five real matrices on two processors that are slow to exchange lines; 34 and 59 iterations gain,
// 4 to 9 don't).
const (
	ownWork  = 8
	ownBytes = 1 << 26
)

// parallel lowers a loop whose iterations are divided among threads. Workspaces inside belong to each thread. A loop
// that merges levels runs on one thread.
func (l *lowerer) parallel(f *cin.Forall, e env) []ir.Stmt {
	races := reduction(f) != "" && !l.program.Covers(cin.Written(f).Vars, f.Var)
	if f.Race == cin.Temporary && races {
		return l.combined(f, e)
	}
	e.out.atomic = f.Race == cin.Atomics && races
	if l.weigh(f, e) != nil {
		return l.balanced(f, e)
	}
	stmts := l.privately(f, e)
	if !slices.ContainsFunc(stmts, shared) {
		return []ir.Stmt{ir.Do(stmts...)}
	}
	return []ir.Stmt{l.team(stmts)}
}

// privately is what each thread does: the loop, with workspaces of its own.
func (l *lowerer) privately(f *cin.Forall, e env) []ir.Stmt {
	e.region = &region{private: true}
	stmts := l.loop(f, e, ir.Shared)
	return slices.Concat(e.region.allocs, stmts, e.region.frees)
}

// team runs statements on threads where there is enough to do.
func (l *lowerer) team(stmts []ir.Stmt) ir.Stmt {
	return &ir.Parallel{Threads: l.slots.threads, Cond: l.enough(), Body: ir.Do(stmts...)}
}

// enough says whether a team of threads is worth it.
func (l *lowerer) enough() ir.Expr { return ir.Is(l.work(), ir.Gt, ir.Const(l.program.Team.Grain)) }

func shared(s ir.Stmt) bool {
	f, ok := s.(*ir.For)
	return ok && f.Kind == ir.Shared
}

// share divides the iterations of a loop among the threads of a team.
func (l *lowerer) share(loop *ir.For) *ir.For {
	loop.Kind, loop.Chunk = ir.Shared, l.chunk(ir.Shared, loop.Hi)
	return loop
}

// shareEach divides the iterations of a loop, which are parts of work, one by one.
func shareEach(loop *ir.For) *ir.For {
	loop.Kind, loop.Chunk = ir.Shared, ir.Const(1)
	return loop
}

// chunk is how many iterations a thread takes at a time.
func (l *lowerer) chunk(kind ir.LoopKind, n ir.Expr) ir.Expr {
	if kind != ir.Shared {
		return nil
	}
	return ir.Max(ir.Const(1), ir.Div(n, ir.Mul(l.slots.threads, ir.Const(chunks))))
}

// combined lowers a loop whose threads may write the same element: each reduces a part of the iterations into a result of its
// own. There are as many parts as threads, or fewer where these would take more memory than a sparse operand and more time than they save; one
// thread reduces into the result itself. So parts depend on the number of threads and on sizes, and on nothing else. They are
// combined in order, so that the sums are the same in every run.
func (l *lowerer) combined(f *cin.Forall, e env) []ir.Stmt {
	t, op, vals := l.program.Source.LHS.Tensor, reduction(f), e.out.vals
	size, parts := l.Index(t.Name+"_size"), l.Index("parts")
	alone := l.loop(f, e, ir.Serial)
	cleared := e.phase == computing && cin.Stmt(f) == l.lattices.Body // by parts, where there are several
	if cleared {
		alone = append([]ir.Stmt{l.cleared(vals)}, alone...)
	}
	own, part := l.Array(t.Name+"_own", vals.Elem), l.Index("part")
	e.out = target{vals: own, base: ir.Mul(part, size)}
	q := l.Index("q")
	begin := ir.Count(q, size, ir.Put(own, ir.Add(ir.Mul(part, size), q), identity(op, vals.Elem)))
	stmts := l.inParts(f, e, part, parts, []ir.Stmt{begin}, nil)
	l.partly = !cleared
	stmts = append(stmts, l.addParts(vals, own, op, size, parts, cleared))
	return []ir.Stmt{
		ir.Let(size, l.positions(t, l.format(t).Order()-1)),
		ir.Let(parts, &ir.Select{Cond: l.enough(), Then: ir.Min(l.slots.threads, l.ownResults(vals, size)), Else: ir.Const(1)}),
		&ir.If{
			Cond: ir.Is(parts, ir.Gt, ir.Const(1)),
			Then: ir.Do(
				ir.NewArray(own, ir.AtLeastOne(ir.Mul(parts, size))),
				l.several(parts, stmts...),
				&ir.Free{Array: own},
			),
			Else: ir.Do(alone...),
		},
	}
}

// ownResults is how many threads may have results of their own, of a size.
func (l *lowerer) ownResults(vals *ir.Array, size *ir.Var) ir.Expr {
	each := func(n ir.Expr) ir.Expr { return ir.Div(n, ir.AtLeastOne(size)) }
	most, source := each(ir.Mul(ir.Const(ownElements), l.storedEntries())), l.program.Source
	inRows := func(v index.Var) bool {
		return !slices.ContainsFunc(index.Accesses(source.RHS), func(a *index.Access) bool { return !l.format(a.Tensor).Dense() && slices.Contains(a.Vars, v) })
	}
	if !slices.ContainsFunc(source.Vars(), inRows) {
		return most
	}
	return ir.Max(most, each(ir.Min(ir.Div(l.work(), ir.Const(ownWork)), ir.Const(ownBytes/int64(vals.Elem.Size())))))
}

// addParts adds what each part has reduced to the result, which begins as the first part's where it has not been cleared. Threads divide the
// elements in strips, in which one part is added after the other, so that each is read as it lies in memory.
func (l *lowerer) addParts(vals, own *ir.Array, op dtype.Op, size, parts *ir.Var, first bool) ir.Stmt {
	strip, from, q := l.Index("strip"), l.Index("part"), l.Index("q")
	begin, end := l.Index("strip_begin"), l.Index("strip_end")
	length := l.Index("strip_length")
	out := []ir.Stmt{
		ir.Let(length, ceilDiv(size, parts)),
		ir.Let(begin, ir.Min(size, ir.Mul(strip, length))),
		ir.Let(end, ir.Min(size, ir.Add(begin, length))),
	}
	others := ir.Expr(ir.Const(0))
	if first {
		p := l.Index("q")
		out = append(out, ir.Loop(p, begin, end, ir.Put(vals, p, ir.At(own, p))))
		others = ir.Const(1)
	}
	add := ir.Update(vals, q, scalarOp(op, vals.Elem), ir.At(own, ir.Add(ir.Mul(from, size), q)))
	return shareEach(ir.Count(strip, parts, append(out, ir.Loop(from, others, parts, ir.Loop(q, begin, end, add)))...))
}

// storedEntries is how many elements the first sparse operand stores; without one, the number of innermost iterations.
func (l *lowerer) storedEntries() ir.Expr {
	for _, a := range index.Accesses(l.program.Source.RHS) {
		if !l.format(a.Tensor).Dense() {
			return l.positions(a.Tensor, l.format(a.Tensor).Order()-1)
		}
	}
	return l.work()
}

// work estimates the number of innermost iterations: what the first sparse operand stores, times what each other has for
// each of the coordinates that it shares, times the extents of the variables that none of them carries; no less than the result has.
func (l *lowerer) work() ir.Expr {
	n := ir.Expr(ir.Const(1))
	var carried []index.Var
	everywhere := lattice.Everywhere(l.program.Source.Table, l.program.Source.RHS, l.program.Source.Vars())
	for _, a := range index.Accesses(l.program.Source.RHS) {
		if everywhere || l.format(a.Tensor).Dense() {
			continue
		}
		stored, shared, others := l.positions(a.Tensor, l.format(a.Tensor).Order()-1), ir.Expr(ir.Const(1)), 0
		for _, v := range a.Vars {
			if slices.Contains(carried, v) {
				shared = ir.Mul(shared, l.extent(v))
			} else {
				others++
			}
		}
		switch {
		case carried == nil:
			n = stored
		case others == 0: // merged with what was counted
			n = ir.Add(n, stored)
		default:
			n = ir.Mul(n, ir.Max(ir.Const(1), ir.Div(stored, ir.Max(ir.Const(1), shared))))
		}
		carried = append(carried, a.Vars...)
	}
	for _, v := range l.program.Source.Vars() {
		if !slices.Contains(carried, v) {
			n = ir.Mul(n, l.extent(v))
		}
	}
	if l.computed != nil {
		n = ir.Max(n, l.computed)
	}
	return n
}
