package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Where a bounded result is a union of operands in its format, every entry of an operand is a term of one entry of the result. The first
// repeated call leaves a code for each entry, a bit for each operand that has the coordinate. Those after it read codes in place of
// coordinates, straight through all rows, and take no branch that depends on the pattern.

// coded is a union whose entries have codes.
type coded struct {
	loop *cin.Forall
	// points are the subsets of the operands that may have a coordinate, with the value there.
	points []codedPoint
	its    []lattice.Iterator
}

type codedPoint struct {
	code  int64
	value index.Expr
}

// mostCoded is how many operands a union with codes has at most: at each entry, the values of all subsets are computed.
const mostCoded = 3

// codesOf is the union that p computes, nil where it is none that codes tell of.
func codesOf(p *cin.Program, lattices *lattice.Table) *coded {
	loops := cin.Loops(p.Body)
	if lattices.Body == nil || len(p.Relations) > 0 || len(loops) != p.Source.Result().Format.Order() {
		return nil
	}
	f := loops[len(loops)-1]
	a, ok := f.Body.(*cin.Assign)
	if !ok || a.Reduce != "" || !plain(a.RHS) || !alikeStored(p, a) {
		return nil
	}
	lat := lattices.Loop(f)
	c := &coded{loop: f, its: lat.Iterators()}
	if lat.Full() || len(c.its) < 2 || len(c.its) > mostCoded {
		return nil
	}
	for _, point := range lat.Points {
		rest, ok := lattices.Restrict(f, point, func(index.Var) bool { return true }).(*cin.Assign)
		if !ok || len(point.Located) > 0 {
			return nil
		}
		c.points = append(c.points, codedPoint{c.code(point.Iterators), rest.RHS})
	}
	if len(c.points) != 1<<len(c.its)-1 {
		return nil // a coordinate that only some operands have is not in the result
	}
	return c
}

// plain reports whether e can be computed where it isn't needed, and without coordinates.
func plain(e index.Expr) bool {
	switch e := e.(type) {
	case *index.Access, *index.Literal:
		return true
	case *index.Call:
		return e.Function == nil && !e.Op.Divides() && !slices.ContainsFunc(e.Args, func(arg index.Expr) bool { return !plain(arg) })
	default:
		return false
	}
}

// alikeStored reports whether all operands of a are stored as the result is, and accessed like it.
func alikeStored(p *cin.Program, a *cin.Assign) bool {
	stored := p.Source.Result().Format
	return !slices.ContainsFunc(index.Accesses(a.RHS), func(x *index.Access) bool {
		f := p.Source.Of(x.Tensor).Format
		last := f.Order() - 1
		return !f.Equal(stored) || x.Windowed() || !slices.Equal(x.Vars, a.LHS.Vars) || f.Levels[last] != (format.Compressed{Unique: true})
	})
}

// code has a bit for each of some iterators.
func (c *coded) code(its []lattice.Iterator) (code int64) {
	for bit, it := range c.its {
		if slices.ContainsFunc(its, func(other lattice.Iterator) bool { return other.Key == it.Key }) {
			code |= 1 << bit
		}
	}
	return code
}

// slots adds the codes, and whether an earlier call has left them.
func (c *coded) slots(p *cin.Program, s *slots) {
	t := p.Source.LHS.Tensor
	last := s.Of(t).Format.Order() - 1
	s.coded = s.scalar(levelName(t.Name, "coded", last), Slot{Kind: "coded", Operand: Result, Level: last}, false)
	s.array(t, levelName(t.Name, "code", last), dtype.U8, Slot{Kind: "code", Operand: Result, Level: last, Before: "revalue"})
	newLowerer(p, s).lengths()
}

// revalue computes all values and returns, unless there are no codes yet or some operand has no entry.
func (c *coded) revalue(l *lowerer, p pattern) []ir.Stmt {
	some := []ir.Expr{ir.Is(l.slots.coded, ir.Ne, ir.Const(0))}
	for _, it := range c.its {
		some = append(some, ir.Is(l.entries(it), ir.Gt, ir.Const(0)))
	}
	return []ir.Stmt{ir.When(ir.All(some...), append(c.straight(l, p), &ir.Return{Value: ir.Const(ir.OK)})...)}
}

// entries is how many an operand has.
func (l *lowerer) entries(it lattice.Iterator) ir.Expr {
	return l.positions(it.Access.Tensor, it.Level)
}

// straight computes the values of blocks of rows, each with about as many entries as the others.
func (c *coded) straight(l *lowerer, p pattern) []ir.Stmt {
	g := p.groups[0]
	pos, rows := p.pos(l, g), p.parents(l, g)
	total, blocks, block, share := l.Index("total"), l.Index("blocks"), l.Index("block"), l.Index("share")
	several := ir.All(ir.Is(total, ir.Gt, ir.Const(l.program.Team.Grain)), ir.Is(l.slots.threads, ir.Gt, ir.Const(1)))
	from := func(n ir.Expr) func(ir.Expr) ir.Expr {
		return func(at ir.Expr) ir.Expr { return ir.Is(ir.IndexAt(pos, at), ir.Lt, ir.Mul(n, share)) }
	}
	first, begin := l.search("row_begin", ir.Const(0), rows, from(block))
	last, end := l.search("row_end", begin, rows, from(ir.Next(block)))
	return []ir.Stmt{
		ir.Let(total, ir.IndexAt(pos, rows)),
		ir.Let(blocks, &ir.Select{Cond: several, Then: ir.Mul(l.slots.threads, ir.Const(chunks)), Else: ir.Const(1)}),
		l.several(blocks, shareEach(ir.Count(block, blocks, slices.Concat(
			[]ir.Stmt{ir.Let(share, ceilDiv(total, blocks))}, first, last, c.block(l, p, begin, end))...))),
	}
}

// block computes the values of the rows from begin to end. At each entry it computes the value of every subset of the operands at the entries
// where they stand, and takes the one that the code says; operands in the subset move on.
func (c *coded) block(l *lowerer, p pattern, begin, end *ir.Var) []ir.Stmt {
	g, vals := p.groups[0], l.slots.vals(p.access.Tensor)
	choices := l.Array("choices", vals.Elem)
	q, code := l.Index("q"), l.Index("code")
	out := []ir.Stmt{&ir.Alloc{Array: choices, Size: ir.Const(1 << len(c.its))}}
	body := []ir.Stmt{ir.Let(code, ir.IndexAt(p.handed(l, "code"), q))}
	e := env{phase: revaluing, region: &region{}}
	var advance []ir.Stmt
	for bit, it := range c.its {
		at, here, last := l.positionVar(it, ""), l.positionVar(it, "_here"), l.positionVar(it, "_last")
		below := l.slots.storage(it.Access.Tensor, it.Level, nil).Pos
		out = append(out, ir.Declare(at, ir.IndexAt(below, begin)), ir.Let(last, ir.Sub(l.entries(it), ir.Const(1))))
		body = append(body, ir.Let(here, ir.Min(at, last))) // an operand may stand behind its last entry
		e.pos = e.pos.with(it.Key, format.Range{Lo: here, Hi: ir.Next(here)})
		above := ir.Div(code, ir.Const(2<<bit))
		advance = append(advance, ir.Increase(at, ir.Remainder(ir.Div(code, ir.Const(1<<bit)), above, ir.Const(2))))
	}
	accum := p.access.Tensor.Elem.Accum()
	for _, point := range c.points {
		body = append(body, ir.Put(choices, ir.Const(point.code), l.value(point.value, accum, e)))
	}
	body = append(append(body, ir.Put(vals, q, ir.At(choices, code))), advance...)
	return append(out, ir.Loop(q, ir.IndexAt(p.pos(l, g), begin), ir.IndexAt(p.pos(l, g), end), body...))
}
