package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Results with a compressed level of rows, such as DCSC, are inserted into as if that level were dense: both functions count
// what each row gets, and those that get something are what is stored. The rows' positions are an array of the kernel's own.

// frameCompressed is what holds where nothing is inserted.
func (r *result) frameCompressed(l *lowerer) (before []ir.Stmt) {
	if l.phase == counting {
		for _, g := range r.groups {
			before = append(before, set(l.slots.counts[g.First], integer(0)))
		}
		return before
	}
	for _, g := range r.groups {
		before = append(before, store(r.pos(l, g), integer(0), integer(0)))
	}
	return append(before, store(r.pos(l, r.groups[0]), integer(1), integer(0)))
}

// insertCompressed lowers the outermost loop.
func (l *lowerer) insertCompressed(f *cin.Forall, e env) []ir.Stmt {
	in, count := l.result.insert, l.result.rowCount(l)
	out := []ir.Stmt{&ir.Alloc{Array: in.rows, Size: next(count), Heap: true, Zero: true}}
	out = append(out, l.insertParts(f, e)...)
	if l.phase == counting {
		out = append(out, l.result.countRows(l)...)
	}
	return append(out, &ir.Free{Array: in.rows})
}

// countRows says how many rows have entries, and how many entries there are.
func (r *result) countRows(l *lowerer) []ir.Stmt {
	p := &ir.Var{Name: l.names.fresh("p"), T: ir.Index}
	used, total := &ir.Var{Name: l.names.fresh("used"), T: ir.Index}, &ir.Var{Name: l.names.fresh("total"), T: ir.Index}
	length := loadIndex(r.insert.rows, next(p))
	out := []ir.Stmt{
		declare(used, integer(0)), declare(total, integer(0)),
		&ir.For{Var: p, Lo: integer(0), Hi: r.rowCount(l), Step: 1, Body: block(
			&ir.Assign{Var: total, Reduce: dtype.Add, Value: length},
			&ir.If{Cond: compare(ir.Gt, length, integer(0)), Then: block(increment(used))},
		)},
	}
	return append(append(out, r.countOut(l, r.groups[0], used)...), r.countOut(l, r.groups[1], total)...)
}

// compress turns the lengths of all rows into positions, and stores those that have entries.
func (r *result) compress(l *lowerer, rows *ir.Var) []ir.Stmt {
	p, used := &ir.Var{Name: l.names.fresh("p"), T: ir.Index}, &ir.Var{Name: l.names.fresh("used"), T: ir.Index}
	top := l.slots.storage(r.access.Tensor, 0, nil)
	end := loadIndex(r.insert.rows, next(p))
	return []ir.Stmt{
		&ir.PrefixSum{Array: r.insert.rows, Count: next(rows)},
		declare(used, integer(0)),
		&ir.For{Var: p, Lo: integer(0), Hi: rows, Step: 1, Body: block(
			&ir.If{Cond: compare(ir.Gt, end, loadIndex(r.insert.rows, p)), Then: block(
				store(top.Crd, used, p),
				increment(used),
				store(r.pos(l, r.groups[1]), used, end),
			)},
		)},
		store(top.Pos, integer(1), used),
	}
}
