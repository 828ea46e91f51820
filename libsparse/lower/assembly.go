package lower

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// assembly is how a kernel writes the pattern of its result. Each way is a type in a file of its own and a line in assemblies.
type assembly interface {
	// frame is the statements before and after the loops. It binds in e what they share.
	frame(l *lowerer, e *env) (before, after []ir.Stmt)
	// divide lowers the loop f where the assembly says how its iterations are divided; else ok is false.
	divide(l *lowerer, f *cin.Forall, e env) (stmts []ir.Stmt, ok bool)
	// visit lowers the body of the loop f, over a variable of the result, at one coordinate.
	visit(l *lowerer, f *cin.Forall, body cin.Stmt, e env) []ir.Stmt
	// assign writes one element.
	assign(l *lowerer, a *cin.Assign, e env) []ir.Stmt
	// ordered reports whether f writes a tensor whose entries must be written in the order of their coordinates.
	ordered(l *lowerer, f *cin.Forall) bool
}

// way is how to recognize and make one kind of assembly.
type way struct {
	fits func(p *cin.Program) bool
	new  func(l *lowerer) assembly
	// slots adds the arrays that the counting function leaves to the computing one, beside those of the result; it may be nil.
	slots func(s *slots, t *index.Tensor)
}

// assemblies lists the ways. The first one that fits a program is taken.
var assemblies = []way{
	{fits: func(p *cin.Program) bool { return !p.Source.Result().Discovered() }, new: func(*lowerer) assembly { return known{} }},
	{fits: func(p *cin.Program) bool { return p.Insert }, new: newInserted},
	{fits: func(p *cin.Program) bool { return p.Bounded }, new: func(l *lowerer) assembly { return byRows{newPattern(l)} }, slots: boundedSlots},
	{fits: func(p *cin.Program) bool { return p.Source.Result().Format.Rowwise() }, new: func(l *lowerer) assembly { return byRows{newPattern(l)} }},
	{fits: blockwise, new: func(l *lowerer) assembly { return byBlocks{newPattern(l)} }, slots: blockSlots},
	{fits: func(*cin.Program) bool { return true }, new: func(l *lowerer) assembly { return compact{newPattern(l)} }},
}

func assemblyOf(p *cin.Program) way {
	for _, w := range assemblies {
		if w.fits(p) {
			return w
		}
	}
	panic("BUG: no assembly fits")
}

// denseBlocks reports whether each entry of an assembled tensor is a block of dense levels.
func denseBlocks(s *bind.Storage) bool {
	return s.Discovered() && s.AppendedLevels() < s.Format.Order()
}

// known is the assembly of a result whose pattern is known before the loops: a dense one, or one with an operand's pattern.
type known struct{}

func (known) frame(*lowerer, *env) (before, after []ir.Stmt) { return nil, nil }

func (known) divide(*lowerer, *cin.Forall, env) ([]ir.Stmt, bool) { return nil, false }

func (known) visit(l *lowerer, _ *cin.Forall, body cin.Stmt, e env) []ir.Stmt { return l.stmt(body, e) }

func (known) assign(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	l.partly = l.partly || a.Reduce != "" || e.partial || a.LHS.Windowed()
	return append(l.mark(a.LHS, e), l.put(a, l.elementAt(a.LHS, e), e))
}

func (known) ordered(*lowerer, *cin.Forall) bool { return false }

// target is where elements of the result go.
type target struct {
	vals *ir.Array
	// base is the place in vals of the copy of the result that a thread reduces into, nil where threads share the result.
	base ir.Expr
	// atomic says that threads update the same elements.
	atomic bool
}

// put writes one element of the result, or reduces into it.
func (l *lowerer) put(a *cin.Assign, at ir.Expr, e env) ir.Stmt {
	t := a.LHS.Tensor.Elem.Accum()
	if e.out.base != nil {
		at = ir.Add(e.out.base, at)
	}
	return &ir.Store{
		Array: e.out.vals, Index: at, Reduce: scalarOp(a.Reduce, t), Value: ir.Convert(l.value(a.RHS, t, e), e.out.vals.Elem),
		Atomic: e.out.atomic && a.Reduce != "",
	}
}

// masks lists the bitmap levels of the result.
func (l *lowerer) masks() []int {
	t := l.program.Source.LHS.Tensor
	var out []int
	for level := range l.format(t).Levels {
		if l.of(t).Masked(level) {
			out = append(out, level)
		}
	}
	return out
}

// mark sets the masks of the result at the current coordinates.
func (l *lowerer) mark(a *index.Access, e env) []ir.Stmt {
	var out []ir.Stmt
	for _, level := range l.masks() {
		mask := l.slots.storage(a.Tensor, level, nil).Crd
		out = append(out, ir.Put(mask, l.position(a, level, e).Lo, ir.Number(1, dtype.U8)))
	}
	return out
}

// summedApart reports whether the loops reduce into a result of half floats, which is summed in floats. Its sums are kept in
// an array of their own and rounded once at the end; where a workspace holds the sums already, nothing is needed.
func summedApart(p *cin.Program) bool {
	t := p.Source.LHS.Tensor
	return t.Elem.IsHalf() && cin.Some(p.Body, func(s cin.Stmt) bool {
		a, ok := s.(*cin.Assign)
		return ok && a.LHS.Tensor == t && a.Reduce != ""
	})
}

// frameSums allocates the array of sums, and rounds it into the result after the loops.
func (l *lowerer) frameSums(sums *ir.Array) (before, after []ir.Stmt) {
	t := l.program.Source.LHS.Tensor
	count, p := l.Index(t.Name+"_size"), l.Index("p")
	loop := ir.Count(p, count, ir.Put(l.slots.vals(t), p, ir.At(sums, p)))
	loop.Kind = ir.Shared
	return []ir.Stmt{
		ir.Let(count, l.positions(t, l.format(t).Order()-1)),
		&ir.Alloc{Array: sums, Size: ir.AtLeastOne(count)},
	}, []ir.Stmt{
		&ir.Parallel{Threads: l.slots.threads, Cond: ir.Is(count, ir.Gt, ir.Const(l.program.Team.Grain)), Body: ir.Do(loop)},
		&ir.Free{Array: sums},
	}
}

// pattern is embedded by the assemblies that find the pattern of a result.
type pattern struct {
	access  *index.Access
	storage *bind.Storage
	groups  []format.Group
	// crd is where coordinates are written, by level; nil where they are not.
	crd []*ir.Array
}

func newPattern(l *lowerer) pattern {
	a := l.program.Source.LHS
	p := pattern{access: a, storage: l.of(a.Tensor), groups: l.format(a.Tensor).Groups()}
	for level := range l.format(a.Tensor).Levels {
		p.crd = append(p.crd, l.slots.storage(a.Tensor, level, nil).Crd)
	}
	return p
}

func (p pattern) ordered(l *lowerer, f *cin.Forall) bool {
	out := cin.Written(f.Body)
	return out.Tensor == p.access.Tensor && appendsBy(l.program, out, f.Var)
}

// appendsBy reports whether entries of a result have to come in the order of v. Rows are filled in any order.
func appendsBy(p *cin.Program, out *index.Access, v index.Var) bool {
	s, m := p.Source.Of(out.Tensor), slices.Index(out.Vars, v)
	if m < 0 || !s.Discovered() {
		return false
	}
	level := s.Format.LevelOf(m)
	return level < s.AppendedLevels() && (!s.Format.Rowwise() || level >= s.Format.Groups()[0].First)
}

func (p pattern) newCursor(l *lowerer, g format.Group) *ir.Var {
	return l.Index(levelName(p.access.Tensor.Name, "p", g.Last))
}

// withCursors binds a cursor for each group.
func (p pattern) withCursors(l *lowerer, e *env) {
	for _, g := range p.groups {
		e.cursor = e.cursor.with(g.First, p.newCursor(l, g))
	}
}

func (p pattern) pos(l *lowerer, g format.Group) *ir.Array {
	return l.slots.storage(p.access.Tensor, g.First, nil).Pos
}

// parents is the number of positions above a group.
func (p pattern) parents(l *lowerer, g format.Group) ir.Expr {
	return l.positions(p.access.Tensor, g.First-1)
}

// summed sets the lengths of n rows to zero before they are counted, and turns them into positions afterwards.
func summed(lengths *ir.Array, n ir.Expr) (clear, sum ir.Stmt) {
	return &ir.Fill{Array: lengths, Count: ir.Next(n), Value: zero(lengths.Elem)}, &ir.PrefixSum{Array: lengths, Count: ir.Next(n)}
}

// appending declares a cursor for part at of a result, or of a list. It counts what the part writes, from zero, and leaves that
// in starts; or it moves from where starts says that the part begins.
func appending(cursor *ir.Var, starts *ir.Array, at ir.Expr, counts bool) (before, after []ir.Stmt) {
	if counts {
		return []ir.Stmt{ir.Declare(cursor, ir.Const(0))}, []ir.Stmt{ir.Put(starts, ir.Next(at), cursor)}
	}
	return []ir.Stmt{ir.Declare(cursor, ir.IndexAt(starts, at))}, nil
}

// countRows is the frame of loops that count the lengths of rows, which are summed in 64 bits so that an overflow is seen.
func (p pattern) countRows(l *lowerer, g format.Group) (before, after []ir.Stmt) {
	pos, n := p.pos(l, g), p.parents(l, g)
	clear, _ := summed(pos, n)
	total, after := l.sumLengths(pos, n, 1)
	return []ir.Stmt{clear}, append(after, p.countOut(l, g, total)...)
}

// countOut reports a count to the caller, or that it exceeds the index type.
func (p pattern) countOut(l *lowerer, g format.Group, count *ir.Var) []ir.Stmt {
	return append(refuseLarge(count, p.storage.Index), ir.Set(l.slots.counts[g.First], count))
}

// sumLengths turns the lengths of n rows, each counted in so many places, into positions.
func (l *lowerer) sumLengths(pos *ir.Array, n ir.Expr, places int64) (total *ir.Var, out []ir.Stmt) {
	total, p := l.Index("total"), l.Index("p")
	length := ir.IndexAt(pos, ir.Next(p))
	if places != 1 {
		length = ir.Mul(length, ir.Const(places))
	}
	return total, []ir.Stmt{
		ir.Declare(total, ir.Const(0)),
		ir.Count(p, n, ir.Increase(total, length), ir.Put(pos, ir.Next(p), total)),
	}
}

// refuseLarge returns from the kernel where a count exceeds the index type.
func refuseLarge(count ir.Expr, t dtype.T) []ir.Stmt {
	if t == dtype.I64 {
		return nil
	}
	_, most := t.Range()
	return []ir.Stmt{ir.When(ir.Is(count, ir.Gt, ir.Const(most)), &ir.Return{Value: ir.Const(TooLarge)})}
}
