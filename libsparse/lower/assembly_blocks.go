package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// byBlocks appends entries one after the other, on threads that take blocks of the outermost loop: the first phase counts what
// each block appends, prefix sums say where the entries of a block begin, and the second phase fills every block from
// there. The blocks don't depend on the number of threads, and neither does the result.
type byBlocks struct{ pattern }

// Blocks is how many blocks there are: more than most machines have threads, so that uneven blocks even out.
const Blocks = 64

// blockwise reports whether threads append to the result in blocks.
func blockwise(p *cin.Program) bool {
	f, ok := p.Body.(*cin.Forall)
	return ok && f.Unit == cin.Threads
}

// blockSlots adds the slots that tell where the blocks of each group begin: the first phase leaves them to the second.
func blockSlots(s *slots, t *index.Tensor) {
	for _, g := range s.Of(t).Format.Groups() {
		s.array(t, levelName(t.Name, "starts", g.First), dtype.I64,
			Slot{Kind: "starts", Operand: Result, Level: g.First, Before: "assemble", Length: Blocks + 1, length: ir.Const(Blocks + 1)})
	}
}

// starts says where the blocks of a group begin.
func (b byBlocks) starts(l *lowerer, g format.Group) *ir.Array {
	return l.slots.arrays[arrayKey{b.access.Tensor, "starts", g.First}]
}

func (b byBlocks) frame(l *lowerer, e *env) (before, after []ir.Stmt) {
	b.withCursors(l, e)
	all := ir.Const(Blocks)
	for _, g := range b.groups {
		pos, starts := b.pos(l, g), b.starts(l, g)
		switch {
		case e.phase == counting:
			total := l.Index("total")
			clear, sum := summed(starts, all)
			before, after = append(before, clear), append(after, sum, ir.Let(total, ir.IndexAt(starts, all)))
			after = append(after, b.countOut(l, g, total)...)
		case b.belowRows(g):
			clear, sum := summed(pos, b.parents(l, g))
			before, after = append(before, clear), append(after, sum)
		default:
			before = append(before, ir.Put(pos, ir.Const(0), ir.Const(0)))
			if g.First == 0 {
				before = append(before, ir.Put(pos, ir.Const(1), ir.IndexAt(starts, all)))
			}
		}
	}
	return before, after
}

// divide lowers the outermost loop in blocks that each append from a place of their own.
func (b byBlocks) divide(l *lowerer, f *cin.Forall, e env) ([]ir.Stmt, bool) {
	if f.Unit != cin.Threads {
		return nil, false
	}
	part := l.Index("block")
	var before, after []ir.Stmt
	for _, g := range b.groups {
		start, end := appending(e.cursor.get(g.First), b.starts(l, g), part, e.phase == counting)
		before, after = append(before, start...), append(after, end...)
	}
	return []ir.Stmt{l.team(l.inParts(f, e, part, ir.Const(Blocks), before, after))}, true
}
