package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// chunks is how many pieces each thread's share of a loop is cut into, so that uneven rows even out.
const chunks = 16

// parallel lowers a loop whose iterations are divided among threads. Workspaces inside belong to each thread. A loop
// that merges levels runs on one thread.
func (l *lowerer) parallel(f *cin.Forall, e env) []ir.Stmt {
	switch {
	case l.result.starts != nil:
		return l.appendBlocks(f, e)
	case inParts(l.program):
		return l.insertParts(f, e)
	case l.result.appends() && !l.result.rowwise():
		return l.loop(f, e, ir.Serial)
	}
	races := reduction(f) != "" && !l.program.Covers(cin.Written(f).Vars, f.Var)
	if f.Race == cin.Temporary && races {
		return l.combined(f, e)
	}
	l.atomic = f.Race == cin.Atomics && races
	stmts := l.team(f, e)
	l.atomic = false
	if !slices.ContainsFunc(stmts, shared) {
		return []ir.Stmt{ir.Do(stmts...)}
	}
	if w := l.weigh(f, e); w != nil {
		return l.balanced(stmts, w)
	}
	return []ir.Stmt{l.region(stmts)}
}

// team is what each thread does: the loop, with workspaces of its own.
func (l *lowerer) team(f *cin.Forall, e env) []ir.Stmt {
	private := &scope{}
	l.scopes = append(l.scopes, private)
	stmts := l.loop(f, e, ir.Shared)
	l.scopes = l.scopes[:len(l.scopes)-1]
	return slices.Concat(private.allocs, stmts, private.frees)
}

func (l *lowerer) region(stmts []ir.Stmt) ir.Stmt {
	return &ir.Parallel{Threads: l.slots.threads, Cond: l.enough(), Body: ir.Do(stmts...)}
}

// enough says whether a team of threads is worth it.
func (l *lowerer) enough() ir.Expr { return ir.Is(l.work(), ir.Gt, ir.Const(l.program.Team.Grain)) }

func shared(s ir.Stmt) bool {
	f, ok := s.(*ir.For)
	return ok && f.Kind == ir.Shared
}

// chunk is how many iterations a thread takes at a time.
func (l *lowerer) chunk(kind ir.LoopKind, n ir.Expr) ir.Expr {
	if kind != ir.Shared {
		return nil
	}
	pieces := ir.Mul(l.slots.threads, ir.Const(chunks))
	return ir.Max(ir.Const(1), ir.Div(n, pieces))
}

// work estimates the number of innermost iterations: what the first sparse operand stores, times what each other has for
// each of the coordinates that it shares, times the extents of the variables that none of them carries.
func (l *lowerer) work() ir.Expr {
	n := ir.Expr(ir.Const(1))
	var carried []index.Var
	for _, a := range index.Accesses(l.program.Source.RHS) {
		if a.Tensor.Format.Dense() {
			continue
		}
		stored := l.positions(a.Tensor, a.Tensor.Order()-1)
		switch shared, others := l.common(a, carried); {
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
	return n
}

// common is the number of coordinates that an access has in the variables of carried, and how many variables it has besides.
func (l *lowerer) common(a *index.Access, carried []index.Var) (coordinates ir.Expr, others int) {
	coordinates = ir.Const(1)
	for _, v := range a.Vars {
		if slices.Contains(carried, v) {
			coordinates = ir.Mul(coordinates, l.extent(v))
		} else {
			others++
		}
	}
	return coordinates, others
}
