package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/ir"
)

// Results with a compressed level of rows, such as DCSC, are inserted into as if that level were dense: both functions count
// what each row gets, and rows with entries are stored. Where rows begin is an array of the kernel's own.

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
	out := []ir.Stmt{&ir.Alloc{Array: in.rows, Size: ir.Next(in.rowCount(l)), Heap: true, Zero: true}}
	out = append(out, in.insertParts(l, f, e)...)
	if e.phase == counting {
		out = append(out, in.countRows(l)...)
	}
	return append(out, &ir.Free{Array: in.rows})
}

// countRows says how many rows have entries, and how many entries there are.
func (in inserted) countRows(l *lowerer) []ir.Stmt {
	p, used, total := l.Index("p"), l.Index("used"), l.Index("total")
	length := ir.IndexAt(in.rows, ir.Next(p))
	out := []ir.Stmt{
		ir.Declare(used, ir.Const(0)), ir.Declare(total, ir.Const(0)),
		ir.Count(p, in.rowCount(l),
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
