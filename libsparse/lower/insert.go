package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Insertion fills the rows of a rowwise result in any order, each through a cursor of its own. For fixed other
// coordinates the loops visit a row's coordinates in ascending order, so rows come out sorted.
//
// Threads that don't own rows cut the outermost loop into parts and give each part a cursor of its own in every row: first
// they count what each part puts there, then the cursors of a row follow from the counts, in the order of the parts. So
// entries stand where one thread would have put them.

// insertion is the cursors of the rows, those of one part behind those of the other.
type insertion struct {
	next *ir.Array
	// group is the levels below the rows.
	group format.Group
	// rows is where each row begins, of a result with a compressed level of rows; begun is set in the loops that insert.
	rows  *ir.Array
	begun bool
	// parts is nil where threads own rows, or where there is one; row is the first cursor of the part at hand.
	parts, row ir.Expr
}

func newInsertion(l *lowerer, a *index.Access) *insertion {
	in := &insertion{next: l.Array(a.Tensor.Name+"_next", a.Tensor.Index)}
	rows, _ := a.Tensor.Format.Inserted()
	in.group = rows.Groups()[0]
	if !a.Tensor.Format.Rowwise() {
		in.rows = l.Array(a.Tensor.Name+"_rows", a.Tensor.Index)
	}
	return in
}

// rowCount is the number of rows that are inserted into.
func (r *result) rowCount(l *lowerer) ir.Expr {
	if r.insert.rows != nil {
		return l.modeExtent(r.access, 0)
	}
	return l.positions(r.access.Tensor, r.insert.group.First-1)
}

// rowPos is where each row begins.
func (r *result) rowPos(l *lowerer) *ir.Array {
	if r.insert.rows != nil {
		return r.insert.rows
	}
	return r.pos(l, r.insert.group)
}

// inParts reports whether several threads may insert into the same row.
func inParts(p *cin.Program) bool {
	f, ok := p.Body.(*cin.Forall)
	return ok && p.Insert && f.Unit == cin.Threads && !p.Covers(rowVars(p), f.Var)
}

// frameInsert sets the cursors to where the rows begin, unless the parts do so.
func (r *result) frameInsert(l *lowerer, g format.Group) (before, after []ir.Stmt) {
	rows := l.positions(r.access.Tensor, g.First-1)
	switch {
	case l.phase == counting:
		return []ir.Stmt{r.clearPos(l, g)}, r.total(l, g)
	case inParts(l.program):
		return nil, nil
	}
	p := l.Index("p")
	copyPos := &ir.Store{Array: r.insert.next, Index: p, Value: ir.At(r.pos(l, g), p)}
	return []ir.Stmt{
		ir.NewArray(r.insert.next, ir.AtLeastOne(rows)),
		ir.Count(p, rows, copyPos),
	}, []ir.Stmt{&ir.Free{Array: r.insert.next}}
}

// insertParts lowers the outermost loop, part by part.
func (l *lowerer) insertParts(f *cin.Forall, e env) []ir.Stmt {
	in := l.result.insert
	rows := l.Index("rows")
	parts := l.Index("parts")
	in.parts = parts
	size := ir.Mul(parts, rows)
	several := ir.Expr(ir.Const(1))
	if f.Unit == cin.Threads { // no more cursors than there is work, so that they cost no more than what they save
		several = &ir.Select{
			Cond: ir.Is(l.work(), ir.Gt, ir.Const(l.program.Team.Grain)),
			Then: ir.AtLeastOne(ir.Min(l.slots.threads, ir.Div(l.work(), ir.Next(rows)))),
			Else: ir.Const(1),
		}
	}
	out := []ir.Stmt{
		ir.Let(rows, l.result.rowCount(l)),
		ir.Let(parts, several),
		&ir.Alloc{Array: in.next, Size: ir.AtLeastOne(size), Heap: true, Zero: true},
	}
	phase := l.phase
	l.phase = counting
	count := l.insertPass(f, rows, e)
	l.phase = phase
	if phase == counting {
		out = append(out, count, l.sumParts(rows))
		return append(out, &ir.Free{Array: in.next})
	}
	if in.rows != nil {
		out = append(out, count, l.sumParts(rows))
		out = append(out, l.result.compress(l, rows)...)
	} else {
		out = append(out, ir.When(ir.Is(parts, ir.Gt, ir.Const(1)), count))
	}
	out = append(out,
		l.placeParts(rows),
		l.insertPass(f, rows, e))
	return append(out, &ir.Free{Array: in.next})
}

// insertPass runs the loop once for every part.
func (l *lowerer) insertPass(f *cin.Forall, rows *ir.Var, e env) ir.Stmt {
	in := l.result.insert
	part := l.Index("part")
	in.row = ir.Mul(part, rows)
	stmts := l.divided(f, e, part, in.parts, func(body []ir.Stmt) []ir.Stmt { return body })
	in.row = nil
	return l.several(stmts)
}

// several is a region with a team where there are several parts.
func (l *lowerer) several(stmts []ir.Stmt) ir.Stmt {
	return &ir.Parallel{Threads: l.slots.threads, Cond: ir.Is(l.result.insert.parts, ir.Gt, ir.Const(1)), Body: ir.Do(stmts...)}
}

// sumParts makes the length of every row from the counts of its parts.
func (l *lowerer) sumParts(rows *ir.Var) ir.Stmt {
	pos := l.result.rowPos(l)
	return l.eachRow(rows, func(p, at *ir.Var) (before, each, after []ir.Stmt) {
		length := l.Index("length")
		add := ir.Increase(length, ir.IndexAt(l.result.insert.next, at))
		return []ir.Stmt{ir.Declare(length, ir.Const(0))}, []ir.Stmt{add}, []ir.Stmt{ir.Put(pos, ir.Next(p), length)}
	})
}

// placeParts turns the counts of the parts of every row into where each begins.
func (l *lowerer) placeParts(rows *ir.Var) ir.Stmt {
	pos, cursors := l.result.rowPos(l), l.result.insert.next
	return l.eachRow(rows, func(p, at *ir.Var) (before, each, after []ir.Stmt) {
		begin := l.Index("begin")
		count := l.Index("count")
		return []ir.Stmt{ir.Declare(begin, ir.IndexAt(pos, p))}, []ir.Stmt{
			ir.Let(count, ir.IndexAt(cursors, at)),
			ir.Put(cursors, at, begin),
			ir.Increase(begin, count),
		}, nil
	})
}

// eachRow visits the cursors of every row, in the order of the parts.
func (l *lowerer) eachRow(rows *ir.Var, visit func(p, at *ir.Var) (before, each, after []ir.Stmt)) ir.Stmt {
	p, at := l.Index("p"), l.Index("at")
	part := l.Index("part")
	before, each, after := visit(p, at)
	each = append([]ir.Stmt{ir.Let(at, ir.Add(ir.Mul(part, rows), p))}, each...)
	loop := ir.Count(part, l.result.insert.parts, each...)
	body := slices.Concat(before, []ir.Stmt{loop}, after)
	return l.several([]ir.Stmt{&ir.For{
		Var: p, Lo: ir.Const(0), Hi: rows, Step: 1, Kind: ir.Shared, Chunk: l.chunk(ir.Shared, rows), Body: ir.Do(body...),
	}})
}

// insertEntry counts or stores one element.
func (r *result) insertEntry(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	t := a.LHS.Tensor
	g := r.insert.group
	var row ir.Expr
	if r.insert.rows != nil {
		row = coordOf(a.LHS, 0, e)
	} else {
		row = l.position(a.LHS, g.First-1, e).Lo
	}
	cursor := row
	if r.insert.row != nil {
		cursor = ir.Add(r.insert.row, row)
	}
	if l.phase == counting {
		one := &ir.Int{Value: 1, T: t.Index}
		if r.insert.row != nil {
			return []ir.Stmt{&ir.Store{Array: r.insert.next, Index: cursor, Reduce: dtype.Add, Value: one}}
		}
		return []ir.Stmt{&ir.Store{Array: r.pos(l, g), Index: ir.Next(row), Reduce: dtype.Add, Value: one}}
	}
	at := l.Index("p" + t.Name)
	out := []ir.Stmt{ir.Let(at, ir.IndexAt(r.insert.next, cursor))}
	for level := g.First; level <= g.Last; level++ {
		crd := l.slots.storage(t, level, nil).Crd
		out = append(out, ir.Put(crd, at, coordOf(a.LHS, level, e)))
	}
	return append(out,
		l.put(a, at, e),
		ir.Put(r.insert.next, cursor, ir.Next(at)))
}

// rowVars are the variables that the levels of the rows of a result store.
func rowVars(p *cin.Program) []index.Var {
	lhs := p.Source.LHS
	rows, _ := lhs.Tensor.Format.Inserted()
	var out []index.Var
	for _, m := range rows.ModeOrder[:rows.Groups()[0].First] {
		out = append(out, lhs.Vars[m])
	}
	return out
}
