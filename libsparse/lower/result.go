package lower

import (
	"slices"
	"strconv"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// result appends to an output whose pattern is found by the kernel. The levels of one group share a cursor, the number
// of entries appended so far. A rowwise format has a cursor of its own for each row, since the counting phase has
// written where each row begins; its rows may be filled in any order and by any thread.
type result struct {
	access *index.Access
	groups []format.Group
	// cursor is by the group's first level; rowwise results set it row by row.
	cursor map[int]*ir.Var
	// starts says where the blocks that threads append begin, by the group's first level.
	starts map[int]*ir.Array
	// written says that something was written to the entry at the cursor, where that decides whether it is appended.
	written *ir.Var
	// insert is set where entries are inserted in any order.
	insert *insertion
}

func newResult(l *lowerer, a *index.Access) result {
	r := result{access: a, cursor: map[int]*ir.Var{}}
	if !assembled(a.Tensor) {
		return r
	}
	r.groups = a.Tensor.Format.Groups()
	if l.program.Insert {
		r.insert = newInsertion(l, a)
	}
	if !r.rowwise() {
		for _, g := range r.groups {
			r.cursor[g.First] = r.newCursor(l, g)
		}
	}
	if blockwise(l.program) {
		r.starts = map[int]*ir.Array{}
		for _, g := range r.groups {
			r.starts[g.First] = l.slots.arrays[arrayKey{a.Tensor, "starts", g.First}]
		}
	}
	return r
}

func (r *result) newCursor(l *lowerer, g format.Group) *ir.Var {
	t := r.access.Tensor
	return l.Index("p" + t.Name + strconv.Itoa(g.Last+1))
}

// appends reports whether the kernel finds the result's pattern.
func (r *result) appends() bool { return len(r.groups) > 0 }

func (r *result) rowwise() bool { return r.access.Tensor.Format.Rowwise() }

// denseTail reports whether each appended entry is a dense block.
func (r *result) denseTail() bool {
	return r.appends() && r.groups[len(r.groups)-1].Last < r.access.Tensor.Order()-1
}

// groupAt is the group that a level belongs to.
func (r *result) groupAt(level int) (format.Group, bool) {
	for _, g := range r.groups {
		if g.First <= level && level <= g.Last {
			return g, true
		}
	}
	return format.Group{}, false
}

// below is the group that starts right below a level.
func (r *result) below(level int) (format.Group, bool) {
	for _, g := range r.groups {
		if g.First == level+1 {
			return g, true
		}
	}
	return format.Group{}, false
}

func (r *result) pos(l *lowerer, g format.Group) *ir.Array {
	return l.slots.storage(r.access.Tensor, g.First, nil).Pos
}

// frame is what precedes and follows the loops.
func (r *result) frame(l *lowerer) (before, after []ir.Stmt) {
	if r.insert != nil && r.insert.rows != nil {
		return r.frameCompressed(l), nil
	}
	for _, g := range r.groups {
		b, a := r.frameOf(l, g)
		before, after = append(before, b...), append(after, a...)
	}
	return before, after
}

func (r *result) frameOf(l *lowerer, g format.Group) (before, after []ir.Stmt) {
	t := r.access.Tensor
	pos := r.pos(l, g)
	switch {
	case r.starts != nil:
		return r.frameBlocks(l, g)
	case r.insert != nil:
		return r.frameInsert(l, g)
	case r.rowwise() && l.phase == counting:
		return []ir.Stmt{r.clearPos(l, g)}, r.total(l, g)
	case r.rowwise():
		return nil, nil
	case l.phase == counting:
		return []ir.Stmt{ir.Declare(r.cursor[g.First], ir.Const(0))}, r.countOut(l, g, r.cursor[g.First])
	case g.First > 0 && t.Format.Levels[g.First-1].Props().Locate:
		before, after = r.summed(l, g)
		return append(before, ir.Declare(r.cursor[g.First], ir.Const(0))), after
	case g.First > 0:
		return []ir.Stmt{ir.Declare(r.cursor[g.First], ir.Const(0)), ir.Put(pos, ir.Const(0), ir.Const(0))}, nil
	default:
		return []ir.Stmt{ir.Declare(r.cursor[g.First], ir.Const(0)), ir.Put(pos, ir.Const(0), ir.Const(0))},
			[]ir.Stmt{ir.Put(pos, ir.Const(1), r.cursor[g.First])}
	}
}

func (r *result) clearPos(l *lowerer, g format.Group) ir.Stmt {
	pos := r.pos(l, g)
	return &ir.Fill{Array: pos, Count: ir.Next(l.positions(r.access.Tensor, g.First-1)), Value: zero(pos.Elem)}
}

// summed is the frame of a group below rows some of which no loop visits: lengths are stored, then summed up.
func (r *result) summed(l *lowerer, g format.Group) (before, after []ir.Stmt) {
	return []ir.Stmt{r.clearPos(l, g)},
		[]ir.Stmt{&ir.PrefixSum{Array: r.pos(l, g), Count: ir.Next(l.positions(r.access.Tensor, g.First-1))}}
}

// countOut reports a count to the caller, or that it exceeds the index type.
func (r *result) countOut(l *lowerer, g format.Group, count *ir.Var) []ir.Stmt {
	var out []ir.Stmt
	if elem := r.access.Tensor.Index; elem != dtype.I64 {
		_, most := elem.Range()
		out = append(out, ir.When(ir.Is(count, ir.Gt, ir.Const(most)), &ir.Return{Value: ir.Const(TooLarge)}))
	}
	return append(out, ir.Set(l.slots.counts[g.First], count))
}

// total turns the lengths of the rows into positions, in 64 bits so that an overflow is seen.
func (r *result) total(l *lowerer, g format.Group) []ir.Stmt {
	pos := r.pos(l, g)
	sum := l.Index("total")
	p := l.Index("p")
	out := []ir.Stmt{
		ir.Declare(sum, ir.Const(0)),
		&ir.For{Var: p, Lo: ir.Const(0), Hi: l.positions(r.access.Tensor, g.First-1), Step: 1, Body: ir.Do(
			ir.Increase(sum, ir.IndexAt(pos, ir.Next(p))),
			ir.Put(pos, ir.Next(p), sum),
		)},
	}
	return append(out, r.countOut(l, g, sum)...)
}

// visit lowers the body of the loop over one of the result's variables, at one coordinate.
func (r *result) visit(l *lowerer, f *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	mode := slices.Index(r.access.Vars, f.Var)
	if mode < 0 || r.insert != nil {
		return l.stmt(body, e)
	}
	t := r.access.Tensor
	level := t.Format.LevelOf(mode)
	child, hasChild := r.below(level)
	g, grouped := r.groupAt(level)
	switch {
	case grouped && level < g.Last:
		return l.stmt(body, e)
	case grouped:
		return r.visitEntry(l, g, body, e)
	case hasChild && r.rowwise():
		return r.visitRow(l, level, child, body, e)
	case hasChild && l.phase == computing:
		begin := l.Index("begin")
		stmts := l.stmt(body, e)
		length := ir.Sub(r.cursor[child.First], begin)
		out := append([]ir.Stmt{ir.Let(begin, r.cursor[child.First])}, stmts...)
		return append(out, ir.Put(r.pos(l, child), ir.Next(l.position(r.access, level, e).Lo), length))
	default:
		return l.stmt(body, e)
	}
}

// visitRow gives a row its cursor: from zero to count it, from where it begins to fill it.
func (r *result) visitRow(l *lowerer, level int, g format.Group, body cin.Stmt, e env) []ir.Stmt {
	at := l.position(r.access, level, e).Lo
	cursor := r.newCursor(l, g)
	r.cursor[g.First] = cursor
	stmts := l.stmt(body, e)
	if len(stmts) == 0 {
		return nil
	}
	if l.phase == computing {
		return append([]ir.Stmt{ir.Declare(cursor, ir.IndexAt(r.pos(l, g), at))}, stmts...)
	}
	out := append([]ir.Stmt{ir.Declare(cursor, ir.Const(0))}, stmts...)
	return append(out, ir.Put(r.pos(l, g), ir.Next(at), cursor))
}

// visitEntry is the last level of a group: below it stand the levels of one entry, which is appended if they hold
// something. At the last level of the tensor the assignment itself appends.
func (r *result) visitEntry(l *lowerer, g format.Group, body cin.Stmt, e env) []ir.Stmt {
	t, cursor := r.access.Tensor, r.cursor[g.First]
	if g.Last == t.Order()-1 {
		return l.stmt(body, e)
	}
	inner := e.clone()
	inner.pos[lattice.Key(r.access, g.Last)] = format.Range{Lo: cursor, Hi: ir.Next(cursor)}
	child, hasChild := r.below(g.Last)
	if !hasChild {
		return r.visitBlock(l, g, body, inner, e)
	}
	begin := l.Index("begin")
	stmts := l.stmt(body, inner)
	if len(stmts) == 0 {
		return nil
	}
	var entry []ir.Stmt
	if l.phase == computing {
		entry = append(entry, ir.Put(r.pos(l, child), ir.Next(cursor), r.cursor[child.First]))
	}
	entry = append(entry, r.appendEntry(l, g, e)...)
	out := append([]ir.Stmt{ir.Let(begin, r.cursor[child.First])}, stmts...)
	return append(out, ir.When(ir.Is(r.cursor[child.First], ir.Gt, begin), entry...))
}

// appendEntry writes the coordinates of a group and moves its cursor on.
func (r *result) appendEntry(l *lowerer, g format.Group, e env) []ir.Stmt {
	t, cursor := r.access.Tensor, r.cursor[g.First]
	var out []ir.Stmt
	if l.phase == computing {
		for level := g.First; level <= g.Last; level++ {
			crd := l.slots.storage(t, level, nil).Crd
			out = append(out, ir.Put(crd, cursor, coordOf(r.access, level, e)))
		}
	}
	return append(out, ir.Increment(cursor))
}

// assign writes one element of the result.
func (r *result) assign(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	t := a.LHS.Tensor
	var marks []ir.Stmt
	if l.phase == computing {
		marks = l.mark(a.LHS, e)
	}
	if r.insert != nil {
		return append(marks, r.insertEntry(l, a, e)...)
	}
	if r.written != nil {
		marks = append(marks, ir.Set(r.written, ir.Bool(true)))
	}
	if r.denseTail() {
		l.partly = true
		if l.phase == counting {
			return marks
		}
		at := l.position(a.LHS, t.Order()-1, e).Lo
		return append(marks, l.put(a, at, e))
	}
	g := r.groups[len(r.groups)-1]
	out := marks
	if l.phase == computing {
		out = append(out, l.put(a, r.cursor[g.First], e))
	}
	return append(out, r.appendEntry(l, g, e)...)
}
