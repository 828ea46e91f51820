package lower

import (
	"slices"
	"strconv"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Where entries are appended one after the other, threads take blocks of the outermost loop: the first phase counts what
// each block appends, prefix sums say where the entries of a block begin, and the second phase fills every block from
// there. The blocks don't depend on the number of threads, and neither does the result.

// Blocks is how many blocks there are: more than most machines have threads, so that uneven blocks even out.
const Blocks = 64

// blockwise reports whether threads append to the result in blocks.
func blockwise(p *cin.Program) bool {
	f, ok := p.Body.(*cin.Forall)
	t := p.Source.LHS.Tensor
	return ok && f.Unit == cin.Threads && assembled(t) && !t.Format.Rowwise() && !p.Insert
}

// appendBlocks lowers the outermost loop in blocks that each append from a place of their own.
func (l *lowerer) appendBlocks(f *cin.Forall, e env) []ir.Stmt {
	b := l.Index("block")
	stmts := l.divided(f, e, b, ir.Const(Blocks), func(body []ir.Stmt) []ir.Stmt {
		var before, after []ir.Stmt
		for _, g := range l.result.groups {
			cursor, starts := l.result.cursor[g.First], l.result.starts[g.First]
			if l.phase == counting {
				before = append(before, ir.Declare(cursor, ir.Const(0)))
				after = append(after, ir.Put(starts, ir.Next(b), cursor))
				continue
			}
			before = append(before, ir.Declare(cursor, ir.IndexAt(starts, b)))
		}
		return slices.Concat(before, body, after)
	})
	return []ir.Stmt{l.region(stmts)}
}

// frameBlocks is what precedes and follows the blocks.
func (r *result) frameBlocks(l *lowerer, g format.Group) (before, after []ir.Stmt) {
	pos, starts := r.pos(l, g), r.starts[g.First]
	all := ir.Const(Blocks)
	switch {
	case l.phase == counting:
		total := l.Index("total")
		before = []ir.Stmt{&ir.Fill{Array: starts, Count: ir.Next(all), Value: zero(starts.Elem)}}
		after = []ir.Stmt{&ir.PrefixSum{Array: starts, Count: ir.Next(all)}, ir.Let(total, ir.IndexAt(starts, all))}
		return before, append(after, r.countOut(l, g, total)...)
	case g.First == 0:
		return []ir.Stmt{ir.Put(pos, ir.Const(0), ir.Const(0)), ir.Put(pos, ir.Const(1), ir.IndexAt(starts, all))}, nil
	case r.access.Tensor.Format.Levels[g.First-1].Props().Locate:
		return r.summed(l, g)
	default:
		return []ir.Stmt{ir.Put(pos, ir.Const(0), ir.Const(0))}, nil
	}
}

// divided lowers the loop f with its iterations cut into parts, which the threads of a team divide; around adds to what is
// done for each.
func (l *lowerer) divided(f *cin.Forall, e env, part *ir.Var, parts ir.Expr, around func([]ir.Stmt) []ir.Stmt) []ir.Stmt {
	stmts := l.team(f, e)
	loop := func(n ir.Expr, body []ir.Stmt) ir.Stmt {
		return &ir.For{
			Var: part, Lo: ir.Const(0), Hi: n, Step: 1, Kind: ir.Shared, Chunk: ir.Const(1), Body: ir.Do(around(body)...),
		}
	}
	at := slices.IndexFunc(stmts, shared)
	if at < 0 { // nothing is left to be divided
		return []ir.Stmt{loop(ir.Const(1), stmts)}
	}
	stmts[at] = loop(parts, l.cut(stmts[at].(*ir.For), l.weigh(f, e), part, parts))
	return stmts
}

// cut is one of the parts that the iterations of a loop are cut into, neighbouring ones in each: parts of equal weight, if
// they have any.
func (l *lowerer) cut(s *ir.For, w weight, part *ir.Var, parts ir.Expr) []ir.Stmt {
	if w != nil {
		return l.weighed(s, w, part, parts)
	}
	share := l.Index(s.Var.Name + "_share")
	trips := ceilDiv(ir.Sub(s.Hi, s.Lo), ir.Const(s.Step))
	lo := plusZero(s.Lo, ir.Mul(ir.Mul(part, share), ir.Const(s.Step)))
	mine := *s
	mine.Kind, mine.Chunk = ir.Serial, nil
	mine.Lo, mine.Hi = lo, ir.Min(s.Hi, ir.Add(lo, ir.Mul(share, ir.Const(s.Step))))
	return []ir.Stmt{ir.Let(share, ceilDiv(trips, parts)), &mine}
}

// startsOf adds the slots that tell where the blocks of each group begin: the first phase leaves them to the second.
func (s *slots) startsOf(t *index.Tensor) {
	for _, g := range t.Format.Groups() {
		s.array(t, t.Name+strconv.Itoa(g.First+1)+"_starts", dtype.I64,
			Slot{Kind: "starts", Operand: Result, Level: g.First, Before: "assemble", Length: Blocks + 1})
	}
}
