package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// inserted fills rows in any order, each through a cursor of its own. For fixed other coordinates the loops visit a row's
// coordinates in ascending order, so rows come out sorted.
//
// Threads that don't own rows cut the outermost loop into parts and give each part a cursor of its own in every row: first
// they count what each part puts there, then the cursors of a row follow from the counts, in the order of the parts. So
// entries stand where one thread would have put them.
type inserted struct {
	pattern
	// next is the cursors of the rows, those of one part behind those of the other.
	next *ir.Array
	// group is the levels below the rows.
	group format.Group
	// rows is where each row begins, for a result with a compressed level of rows, such as DCSC: both functions count what
	// each row gets as if that level were dense, and rows with entries are stored.
	rows *ir.Array
	// begins is rows, or the positions of the level below dense rows, and count the number of rows.
	begins *ir.Array
	count  ir.Expr
}

func newInserted(l *lowerer) assembly {
	t := l.program.Source.LHS.Tensor
	in := inserted{pattern: newPattern(l), next: l.Array(t.Name+"_next", l.of(t).Index)}
	dense, _ := l.format(t).Inserted()
	in.group = dense.Groups()[0]
	if l.format(t).Rowwise() {
		in.begins, in.count = in.pos(l, in.group), in.parents(l, in.group)
	} else {
		in.rows = l.Array(t.Name+"_rows", l.of(t).Index)
		in.begins, in.count = in.rows, l.modeExtent(in.access, 0)
	}
	return in
}

// sharedRows reports whether several threads may insert into the same row.
func sharedRows(p *cin.Program) bool {
	f, ok := p.Body.(*cin.Forall)
	return ok && f.Unit == cin.Threads && !p.Covers(rowVars(p), f.Var)
}

// rowVars are the variables that the levels of the rows of a result store.
func rowVars(p *cin.Program) []index.Var {
	lhs := p.Source.LHS
	rows, _ := p.Source.Result().Format.Inserted()
	var out []index.Var
	for _, m := range rows.ModeOrder[:rows.Groups()[0].First] {
		out = append(out, lhs.Vars[m])
	}
	return out
}

// frame sets the cursors to where the rows begin, unless the parts do so.
func (in inserted) frame(l *lowerer, e *env) (before, after []ir.Stmt) {
	switch {
	case in.rows != nil:
		return in.frameEmpty(l, *e), nil
	case e.phase == counting:
		return in.countRows(l, in.group)
	case sharedRows(l.program):
		return nil, nil
	}
	p := l.Index("p")
	return []ir.Stmt{
		ir.NewArray(in.next, ir.AtLeastOne(in.count)),
		ir.Count(p, in.count, ir.Put(in.next, p, ir.At(in.begins, p))),
	}, []ir.Stmt{&ir.Free{Array: in.next}}
}

func (in inserted) divide(l *lowerer, f *cin.Forall, e env) ([]ir.Stmt, bool) {
	switch {
	case in.rows != nil && e.row == nil:
		return in.insertCompressed(l, f, e), true
	case in.rows != nil:
		return in.pattern.divide(l, f, e)
	case f.Unit == cin.Threads && e.row == nil && sharedRows(l.program):
		return in.insertParts(l, f, e), true
	default:
		return nil, false
	}
}

func (in inserted) ordered(l *lowerer, f *cin.Forall) bool {
	return cin.Written(f.Body).Tensor == in.access.Tensor && !l.program.Covers(rowVars(l.program), f.Var)
}

func (inserted) visit(l *lowerer, _ *cin.Forall, body cin.Stmt, e env) []ir.Stmt {
	return l.stmt(body, e)
}

// insertParts lowers the outermost loop, part by part.
func (in inserted) insertParts(l *lowerer, f *cin.Forall, e env) []ir.Stmt {
	rows, parts := l.Index("rows"), l.Index("parts")
	several := ir.Expr(ir.Const(1))
	if f.Unit == cin.Threads { // each part reads its entries twice, and its cursors take a pass over the rows
		least := ir.Max(ir.Next(rows), ir.Const(l.program.Team.Shared))
		several = ir.AtLeastOne(ir.Min(l.slots.threads, ir.Div(l.work(), least)))
	}
	out := []ir.Stmt{
		ir.Let(rows, in.count),
		ir.Let(parts, several),
		ir.NewArray(in.next, ir.AtLeastOne(ir.Mul(parts, rows))),
	}
	counts := e
	counts.phase = counting
	clear, count := in.clear(l, rows, parts), in.pass(l, f, rows, parts, counts)
	switch {
	case e.phase == counting:
		return append(out, clear, count, in.sumParts(l, rows, parts), &ir.Free{Array: in.next})
	case in.rows != nil:
		out = append(out, clear, count, in.sumParts(l, rows, parts))
		out = append(out, in.compress(l, rows)...)
	default:
		out = append(out, clear, ir.When(ir.Is(parts, ir.Gt, ir.Const(1)), count))
	}
	return append(out, in.placeParts(l, rows, parts), in.pass(l, f, rows, parts, e), &ir.Free{Array: in.next})
}

// pass runs the loop once for every part.
func (in inserted) pass(l *lowerer, f *cin.Forall, rows, parts *ir.Var, e env) ir.Stmt {
	part := l.Index("part")
	e.row = ir.Mul(part, rows)
	return l.several(parts, l.inParts(f, e, part, parts, nil, nil)...)
}

// clear sets the cursors of every part to 0, each by a thread: one thread would take as long for all of them as the team for the rest.
func (in inserted) clear(l *lowerer, rows, parts *ir.Var) ir.Stmt {
	part, p := l.Index("part"), l.Index("p")
	each := ir.Count(p, rows, ir.Put(in.next, ir.Add(ir.Mul(part, rows), p), ir.Number(0, in.next.Elem)))
	return l.several(parts, shareEach(ir.Count(part, parts, each)))
}

// several is a region with a team where there are several parts.
func (l *lowerer) several(parts ir.Expr, stmts ...ir.Stmt) ir.Stmt {
	return &ir.Parallel{Threads: l.slots.threads, Cond: ir.Is(parts, ir.Gt, ir.Const(1)), Body: ir.Do(stmts...)}
}

// sumParts sets the length of every row from the counts of its parts.
func (in inserted) sumParts(l *lowerer, rows, parts *ir.Var) ir.Stmt {
	return in.eachRow(l, rows, parts, func(p, at *ir.Var) (before, each, after []ir.Stmt) {
		length := l.Index("length")
		return []ir.Stmt{ir.Declare(length, ir.Const(0))},
			[]ir.Stmt{ir.Increase(length, ir.IndexAt(in.next, at))},
			[]ir.Stmt{ir.Put(in.begins, ir.Next(p), length)}
	})
}

// placeParts turns the counts of the parts of every row into where each begins.
func (in inserted) placeParts(l *lowerer, rows, parts *ir.Var) ir.Stmt {
	return in.eachRow(l, rows, parts, func(p, at *ir.Var) (before, each, after []ir.Stmt) {
		begin, count := l.Index("begin"), l.Index("count")
		return []ir.Stmt{ir.Declare(begin, ir.IndexAt(in.begins, p))}, []ir.Stmt{
			ir.Let(count, ir.IndexAt(in.next, at)),
			ir.Put(in.next, at, begin),
			ir.Increase(begin, count),
		}, nil
	})
}

// eachRow visits the cursors of every row, in the order of the parts.
func (in inserted) eachRow(l *lowerer, rows, parts *ir.Var, visit func(p, at *ir.Var) (before, each, after []ir.Stmt)) ir.Stmt {
	p, at, part := l.Index("p"), l.Index("at"), l.Index("part")
	before, each, after := visit(p, at)
	each = append([]ir.Stmt{ir.Let(at, ir.Add(ir.Mul(part, rows), p))}, each...)
	body := slices.Concat(before, []ir.Stmt{ir.Count(part, parts, each...)}, after)
	return l.several(parts, l.share(ir.Count(p, rows, body...)))
}

// assign counts or stores one element.
func (in inserted) assign(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	row := l.coordOf(in.access, 0, e)
	if in.rows == nil {
		row = l.position(in.access, in.group.First-1, e).Lo
	}
	one := ir.Number(1, in.storage.Index)
	cursor := row
	if e.row != nil {
		cursor = ir.Add(e.row, row)
	}
	switch {
	case e.phase == counting && e.row == nil:
		return []ir.Stmt{ir.Update(in.begins, ir.Next(row), dtype.Add, one)}
	case e.phase == counting:
		return []ir.Stmt{ir.Update(in.next, cursor, dtype.Add, one)}
	}
	at := l.Index(in.access.Tensor.Name + "_p")
	out := append(l.mark(a.LHS, e), ir.Let(at, ir.IndexAt(in.next, cursor)))
	out = append(out, in.coordinates(l, in.group, at, e)...)
	return append(out, l.put(a, at, e), ir.Put(in.next, cursor, ir.Next(at)))
}

// frameEmpty is what holds where nothing is inserted.
func (in inserted) frameEmpty(l *lowerer, e env) (before []ir.Stmt) {
	for _, g := range in.groups {
		if e.phase == counting {
			before = append(before, ir.Set(l.slots.counts[g.First], ir.Const(0)))
		} else {
			before = append(before, ir.Put(in.pos(l, g), ir.Const(0), ir.Const(0)))
		}
	}
	if e.phase == computing {
		before = append(before, ir.Put(in.pos(l, in.groups[0]), ir.Const(1), ir.Const(0)))
	}
	return before
}

// insertCompressed lowers the outermost loop.
func (in inserted) insertCompressed(l *lowerer, f *cin.Forall, e env) []ir.Stmt {
	out := []ir.Stmt{&ir.Alloc{Array: in.rows, Size: ir.Next(in.count), Heap: true, Zero: true}}
	out = append(out, in.insertParts(l, f, e)...)
	if e.phase == counting {
		out = append(out, in.countCompressed(l)...)
	}
	return append(out, &ir.Free{Array: in.rows})
}

// countCompressed says how many rows have entries, and how many entries there are.
func (in inserted) countCompressed(l *lowerer) []ir.Stmt {
	p, used, total := l.Index("p"), l.Index("used"), l.Index("total")
	length := ir.IndexAt(in.rows, ir.Next(p))
	out := []ir.Stmt{
		ir.Declare(used, ir.Const(0)), ir.Declare(total, ir.Const(0)),
		ir.Count(p, in.count,
			ir.Increase(total, length),
			ir.When(ir.Is(length, ir.Gt, ir.Const(0)), ir.Increment(used))),
	}
	return append(append(out, in.countOut(l, in.groups[0], used)...), in.countOut(l, in.groups[1], total)...)
}

// compress turns the lengths of all rows into positions, and stores rows that have entries.
func (in inserted) compress(l *lowerer, rows *ir.Var) []ir.Stmt {
	p, used := l.Index("p"), l.Index("used")
	top := l.slots.storage(in.access.Tensor, 0, nil)
	end := ir.IndexAt(in.rows, ir.Next(p))
	return []ir.Stmt{
		&ir.PrefixSum{Array: in.rows, Count: ir.Next(rows)},
		ir.Declare(used, ir.Const(0)),
		ir.Count(p, rows, ir.When(ir.Is(end, ir.Gt, ir.IndexAt(in.rows, p)),
			ir.Put(top.Crd, used, p),
			ir.Increment(used),
			ir.Put(in.pos(l, in.groups[1]), used, end))),
		ir.Put(top.Pos, ir.Const(1), used),
	}
}
