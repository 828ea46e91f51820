package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/ir"
)

// Results with a compressed level of rows, such as DCSC, are inserted into as if that level were dense: both functions count
// what each row gets, and those that get something are what is stored. The rows' positions are an array of the kernel's own.

// frameCompressed is what holds where nothing is inserted.
func (r *result) frameCompressed(l *lowerer) (before []ir.Stmt) {
	if l.phase == counting {
		for _, g := range r.groups {
			before = append(before, ir.Set(l.slots.counts[g.First], ir.Const(0)))
		}
		return before
	}
	for _, g := range r.groups {
		before = append(before, ir.Put(r.pos(l, g), ir.Const(0), ir.Const(0)))
	}
	return append(before, ir.Put(r.pos(l, r.groups[0]), ir.Const(1), ir.Const(0)))
}

// insertCompressed lowers the outermost loop.
func (l *lowerer) insertCompressed(f *cin.Forall, e env) []ir.Stmt {
	in, count := l.result.insert, l.result.rowCount(l)
	out := []ir.Stmt{&ir.Alloc{Array: in.rows, Size: ir.Next(count), Heap: true, Zero: true}}
	out = append(out, l.insertParts(f, e)...)
	if l.phase == counting {
		out = append(out, l.result.countRows(l)...)
	}
	return append(out, &ir.Free{Array: in.rows})
}

// countRows says how many rows have entries, and how many entries there are.
func (r *result) countRows(l *lowerer) []ir.Stmt {
	p := l.Index("p")
	used, total := l.Index("used"), l.Index("total")
	length := ir.IndexAt(r.insert.rows, ir.Next(p))
	out := []ir.Stmt{
		ir.Declare(used, ir.Const(0)), ir.Declare(total, ir.Const(0)),
		&ir.For{Var: p, Lo: ir.Const(0), Hi: r.rowCount(l), Step: 1, Body: ir.Do(
			ir.Increase(total, length),
			ir.When(ir.Is(length, ir.Gt, ir.Const(0)), ir.Increment(used)),
		)},
	}
	return append(append(out, r.countOut(l, r.groups[0], used)...), r.countOut(l, r.groups[1], total)...)
}

// compress turns the lengths of all rows into positions, and stores those that have entries.
func (r *result) compress(l *lowerer, rows *ir.Var) []ir.Stmt {
	p, used := l.Index("p"), l.Index("used")
	top := l.slots.storage(r.access.Tensor, 0, nil)
	end := ir.IndexAt(r.insert.rows, ir.Next(p))
	return []ir.Stmt{
		&ir.PrefixSum{Array: r.insert.rows, Count: ir.Next(rows)},
		ir.Declare(used, ir.Const(0)),
		&ir.For{Var: p, Lo: ir.Const(0), Hi: rows, Step: 1, Body: ir.Do(
			&ir.If{Cond: ir.Is(end, ir.Gt, ir.IndexAt(r.insert.rows, p)), Then: ir.Do(
				ir.Put(top.Crd, used, p),
				ir.Increment(used),
				ir.Put(r.pos(l, r.groups[1]), used, end),
			)},
		)},
		ir.Put(top.Pos, ir.Const(1), used),
	}
}
