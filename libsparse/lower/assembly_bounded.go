package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// A bounded result is assembled in one pass over what its entries are computed from. kernel_bound adds up how many entries the rows
// of each block may have, and the caller provides room for all of them. kernel_assemble appends the entries of a block to its
// part of the room, and finds the positions. kernel_compute moves the blocks together, into arrays of the exact length.
// kernel_revalue computes the values alone, where an earlier call has left the pattern.

// boundedKernel is the kernel of a program with a bounded result.
func boundedKernel(p *cin.Program, s *slots, lattices *lattice.Table) *Kernel {
	again := computing
	if revalued(p, lattices) {
		again = revaluing
	}
	codes := codesOf(p, lattices)
	if codes != nil {
		codes.slots(p, s)
	}
	lower := func(name string, ph phase, way func(l *lowerer) assembly) *ir.Func {
		return functionBy(p, s, lattices, name, ph, way)
	}
	return &Kernel{
		Layout: s.layout, Assembled: true, Revalued: true, Bounded: true,
		Module: &ir.Module{Slots: s.slots, Funcs: []*ir.Func{
			lower(BoundName, bounding, func(l *lowerer) assembly { return bounds{newPattern(l)} }),
			lower(AssembleName, computing, newBounded),
			moved(newLowerer(p, s)),
			lower(RevalueName, again, func(l *lowerer) assembly { return newValued(l, codes) }),
		}},
	}
}

// boundedSlots adds what the functions hand on: where the part of each block begins in the room and how many entries there may be, how many
// entries the blocks have had before each, and the room.
func boundedSlots(s *slots, t *index.Tensor) {
	last := s.Of(t).Format.Order() - 1
	offsets := func(kind, before string) {
		s.array(t, levelName(t.Name, kind, last), dtype.I64,
			Slot{Kind: kind, Operand: Result, Level: last, Before: before, Length: Blocks + 1, length: ir.Const(Blocks + 1)})
	}
	offsets("starts", "bound")
	s.bound = s.scalar(levelName(t.Name, "bound", last), Slot{Kind: "bound", Operand: Result, Level: last}, true)
	offsets("filled", "assemble")
	room := func(kind string, elem dtype.T) {
		s.array(t, levelName(t.Name, kind, last), elem, Slot{Kind: kind, Operand: Result, Level: last, Before: "assemble"})
	}
	room("room_crd", s.Of(t).Index)
	if !t.PatternOnly {
		room("room_vals", t.Elem)
	}
}

// handed is one of the arrays that the functions hand on.
func (p pattern) handed(l *lowerer, kind string) *ir.Array {
	return l.slots.arrays[arrayKey{p.access.Tensor, kind, p.groups[0].First}]
}

// bounds counts how many entries there may be, block by block.
type bounds struct{ pattern }

func (b bounds) frame(l *lowerer, e *env) (before, after []ir.Stmt) {
	starts, total := b.handed(l, "starts"), l.Index("total")
	clear, sum := summed(starts, ir.Const(Blocks))
	begin, end := b.alone(l, e, b.around)
	before = append([]ir.Stmt{clear}, begin...)
	return before, append(end, sum, ir.Let(total, ir.IndexAt(starts, ir.Const(Blocks))), ir.Set(l.slots.bound, total))
}

func (b bounds) divide(l *lowerer, f *cin.Forall, e env) ([]ir.Stmt, bool) {
	return b.inBlocks(l, f, e, l.enough(), b.around)
}

func (b bounds) around(l *lowerer, cursor *ir.Var, block ir.Expr) (before, after []ir.Stmt) {
	return appending(cursor, b.handed(l, "starts"), block, true)
}

func (bounds) visit(l *lowerer, _ *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	return l.stmt(body, e)
}

func (b bounds) assign(_ *lowerer, _ *cin.Assign, e env) []ir.Stmt {
	return []ir.Stmt{ir.Increment(e.cursor.get(b.groups[0].First))}
}

func (bounds) ordered(*lowerer, *cin.Forall) bool { return true }

// bounded appends entries to the room, block by block.
type bounded struct{ pattern }

func newBounded(l *lowerer) assembly {
	b := bounded{newPattern(l)}
	b.crd[b.groups[0].First] = b.handed(l, "room_crd")
	return b
}

func (b bounded) frame(l *lowerer, e *env) (before, after []ir.Stmt) {
	g := b.groups[0]
	if vals := b.handed(l, "room_vals"); vals != nil {
		e.out.vals = vals
	}
	pos, n := b.pos(l, g), b.parents(l, g)
	rows, _ := summed(pos, n)
	blocks, sum := summed(b.handed(l, "filled"), ir.Const(Blocks))
	begin, end := b.alone(l, e, b.around)
	total, positions := l.sumLengths(pos, n, 1)
	return append([]ir.Stmt{rows, blocks}, begin...), slices.Concat(end, positions, b.countOut(l, g, total), []ir.Stmt{sum})
}

// divide has threads where there may be so many entries, which is known by now: an estimate from mean lengths is far too low where long
// rows meet long ones. To append an entry takes about twice as long as what grains are counted in.
func (b bounded) divide(l *lowerer, f *cin.Forall, e env) ([]ir.Stmt, bool) {
	most := ir.IndexAt(b.handed(l, "starts"), ir.Const(Blocks))
	return b.inBlocks(l, f, e, ir.Is(most, ir.Gt, ir.Const(l.program.Team.Grain/2)), b.around)
}

func (b bounded) around(l *lowerer, cursor *ir.Var, block ir.Expr) (before, after []ir.Stmt) {
	begin := ir.IndexAt(b.handed(l, "starts"), block)
	return []ir.Stmt{ir.Declare(cursor, begin)}, []ir.Stmt{ir.Put(b.handed(l, "filled"), ir.Next(block), ir.Sub(cursor, begin))}
}

func (bounded) ordered(l *lowerer, f *cin.Forall) bool {
	out := cin.Written(f.Body)
	return out.Tensor == l.program.Source.LHS.Tensor && slices.Contains(out.Vars, f.Var)
}

// valued writes values to rows whose coordinates are there.
type valued struct {
	byRows
	// codes says which operands have an entry; it is nil where that isn't kept.
	codes *coded
}

func newValued(l *lowerer, codes *coded) assembly {
	p := newPattern(l)
	l.computed = ir.IndexAt(p.pos(l, p.groups[0]), p.parents(l, p.groups[0]))
	clear(p.crd)
	return valued{byRows{p}, codes}
}

func (v valued) frame(l *lowerer, _ *env) (before, after []ir.Stmt) {
	if v.codes == nil {
		return nil, nil
	}
	return v.codes.revalue(l, v.pattern), nil
}

func (v valued) assign(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	out := v.pattern.assign(l, a, e)
	if v.codes == nil {
		return out
	}
	code := ir.Put(v.handed(l, "code"), e.cursor.get(v.groups[0].First), ir.Number(float64(v.codes.code(e.held)), dtype.U8))
	return append([]ir.Stmt{code}, out...)
}

// leastWork is the part of a grain from which on work is divided into blocks, of which each is searched for its ends. It is a part, since work is
// estimated from mean lengths.
const leastWork = 8

// blockFrame is what a block does before and after its iterations.
type blockFrame func(l *lowerer, cursor *ir.Var, block ir.Expr) (before, after []ir.Stmt)

// alone binds the cursor of the rows; loops on one thread are one block.
func (p pattern) alone(l *lowerer, e *env, around blockFrame) (before, after []ir.Stmt) {
	p.withCursors(l, e)
	if f, ok := l.program.Body.(*cin.Forall); ok && f.Unit == cin.Threads {
		return nil, nil
	}
	return around(l, e.cursor.get(p.groups[0].First), ir.Const(0))
}

// inBlocks divides the outermost loop, which threads run where there is enough to do: into one block where there is little, whoever runs it.
func (p pattern) inBlocks(l *lowerer, f *cin.Forall, e env, enough ir.Expr, around blockFrame) ([]ir.Stmt, bool) {
	if f.Unit != cin.Threads {
		return nil, false
	}
	block, blocks := l.Index("block"), l.Index("blocks")
	before, after := around(l, e.cursor.get(p.groups[0].First), block)
	some := ir.Is(l.work(), ir.Gt, ir.Const(l.program.Team.Grain/leastWork))
	return []ir.Stmt{
		ir.Let(blocks, &ir.Select{Cond: ir.All(some, ir.Is(l.slots.threads, ir.Gt, ir.Const(1))), Then: ir.Const(Blocks), Else: ir.Const(1)}),
		&ir.Parallel{
			Threads: l.slots.threads, Cond: ir.All(ir.Is(blocks, ir.Gt, ir.Const(1)), enough),
			Body: ir.Do(l.inParts(f, e, block, blocks, before, after)...),
		},
	}, true
}

// moved is the function that moves the blocks together.
func moved(l *lowerer) *ir.Func {
	p := newPattern(l)
	last, vals := p.groups[0].First, l.slots.vals(p.access.Tensor)
	starts, filled := p.handed(l, "starts"), p.handed(l, "filled")
	block, from, to, count := l.Index("block"), l.Index("from"), l.Index("to"), l.Index("count")
	move := func(out, room *ir.Array) ir.Stmt {
		q := l.Index("q")
		return ir.Count(q, count, ir.Put(out, ir.Add(to, q), ir.At(room, ir.Add(from, q))))
	}
	body := []ir.Stmt{
		ir.Let(from, ir.IndexAt(starts, block)),
		ir.Let(to, ir.IndexAt(filled, block)),
		ir.Let(count, ir.Sub(ir.IndexAt(filled, ir.Next(block)), to)),
		move(p.crd[last], p.handed(l, "room_crd")),
	}
	if vals != nil {
		body = append(body, move(vals, p.handed(l, "room_vals")))
	}
	loop := &ir.Parallel{
		Threads: l.slots.threads, Cond: ir.Is(ir.IndexAt(filled, ir.Const(Blocks)), ir.Gt, ir.Const(l.program.Team.Grain)),
		Body: ir.Do(shareEach(ir.Count(block, ir.Const(Blocks), body...))),
	}
	return returnOK(ComputeName, []ir.Stmt{loop})
}
