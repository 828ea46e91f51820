package lower

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Sums over the rows of a matrix, beside those over its columns: rows of the operands that a pooling adds to belong to columns, which many
// rows have. So each thread takes matrices of its own, the values of the outer indices, and visits the rows of all of them in order: sums
// are the same for any number of threads.

// apart divides the matrices among the threads; body computes those from lo to before hi.
func (x pooling) apart(body func(lo, hi ir.Expr) []ir.Stmt) ir.Stmt {
	part, lo, hi, matrices := x.Index("part"), x.Index("lo"), x.Index("hi"), x.product(x.outer())
	end := func(n ir.Expr) ir.Expr { return ir.Div(ir.Mul(matrices, n), x.slots.threads) }
	stmts := append([]ir.Stmt{ir.Let(lo, end(part)), ir.Let(hi, end(ir.Next(part)))}, body(lo, hi)...)
	alloc, free := x.allocate()
	return ir.Do(slices.Concat(alloc, []ir.Stmt{shareEach(ir.Count(part, x.slots.threads, stmts...))}, free)...)
}

// matrices computes all rows of some matrices.
func (x pooling) matrices(lo, hi ir.Expr) []ir.Stmt {
	matrix, i, e := x.Index("matrix"), x.Index(string(x.entries.Vars[0])), env{phase: computing}
	stmts := x.decode(matrix, x.outer(), &e)
	e.bind(x.entries.Vars[0], i)
	return []ir.Stmt{ir.Loop(matrix, lo, hi, append(stmts, ir.Count(i, x.extent(x.entries.Vars[0]), x.row(e)...))...)}
}

// addBeside adds the weighted rows of a block of entries.
func (x pooling) addBeside(block, stop ir.Expr, e env) (out []ir.Stmt) {
	for number, b := range x.Beside {
		weights, k := x.weightsOf(number), b.Columns(x.Pooling)[0]
		out = append(out, x.each(block, stop, e, func(n ir.Expr, e env) []ir.Stmt {
			at := x.Index(string(k))
			e.bind(k, at)
			added := ir.Mul(ir.At(weights, n), x.value(b.Value, x.elem, e))
			loop := ir.Count(at, x.extent(k), ir.Update(x.slots.vals(b.To.Tensor), x.elementAt(b.To, e), dtype.Add, added))
			loop.Kind = ir.Simd
			return []ir.Stmt{loop}
		}))
	}
	return out
}

// weightsOf are the weights of the first sum or the second.
func (x pooling) weightsOf(number int) *ir.Array {
	if number == 0 {
		return x.weights
	}
	return x.factors
}

// matricesApart computes some matrices, group of rows by group: in tiles where those are full enough and all that they read is finite.
func (t *tiles) matricesApart(lo, hi ir.Expr) []ir.Stmt {
	return []ir.Stmt{t.groupOf(lo, hi, func(tile tile) []ir.Stmt {
		matrix, i, e := t.Index("matrix"), t.Index(string(t.i)), env{phase: computing}
		stmts := t.decode(matrix, t.outer(), &e)
		e.bind(t.i, i)
		missing := ir.Is(ir.At(t.computed, ir.Add(ir.Mul(matrix, t.groups), tile.group)), ir.Eq, ir.Number(0, dtype.U8))
		rows := append(stmts, ir.Loop(i, tile.first, tile.stop, t.row(e)...))
		return []ir.Stmt{ir.Loop(matrix, lo, hi, ir.When(missing, rows...))}
	})}
}

// spread adds the weighted rows of the group to the rows of columns: of as many columns of those at a time as have registers.
func (t tile) spread(from, count ir.Expr, e env) (out []ir.Stmt) {
	for number, b := range t.Beside {
		width, some := t.extent(b.Columns(t.Pooling)[0]).(*ir.Int).Value, tileColumns*t.count/4
		for first := int64(0); first < width; first += some {
			out = append(out, t.spreadColumns(number, first, min(some, width-first), from, count, e))
		}
	}
	return out
}

// spreadColumns is spread of size columns from first on, of the sum with that number.
func (t tile) spreadColumns(number int, first, size int64, from, count ir.Expr, e env) ir.Stmt {
	weights, b := []*ir.Array{t.scored, t.given}[number], t.Beside[number]
	column := b.Columns(t.Pooling)[0]
	rows, stmts := t.registers(size)
	block, begin, blockNumber, c := t.Index("block"), t.Index("begin"), t.Index("b"), t.Index("c")
	sum, to := t.Array("sum", t.elem), t.slots.vals(b.To.Tensor)
	bound := func(row, q ir.Expr) env {
		e := e
		e.bind(t.i, row)
		e.bind(t.j, ir.Add(begin, c))
		e.bind(column, ir.Add(ir.Const(first), q))
		return e
	}
	lanes := func(body func(q ir.Expr) ir.Stmt) ir.Stmt {
		return t.lanes(size, func(q ir.Expr) []ir.Stmt { return []ir.Stmt{body(q)} })
	}
	at := func(q ir.Expr) ir.Expr { return t.elementAt(b.To, bound(t.first, q)) }
	body := []ir.Stmt{&ir.Alloc{Array: sum, Size: ir.Const(size)}, lanes(func(q ir.Expr) ir.Stmt { return ir.Put(sum, q, ir.At(to, at(q))) })}
	for r, a := range rows {
		stmts = append(stmts, lanes(func(q ir.Expr) ir.Stmt { return ir.Put(a, q, t.value(b.Value, t.elem, bound(t.rows[r], q))) }))
		weight := ir.At(weights, ir.Add(ir.Add(ir.Const(int64(r)*tileWidth), ir.Mul(blockNumber, ir.Const(tileColumns))), c))
		body = append(body, lanes(func(q ir.Expr) ir.Stmt { return ir.Update(sum, q, dtype.Add, ir.Mul(weight, ir.At(a, q))) }))
	}
	body = append(body, lanes(func(q ir.Expr) ir.Stmt { return ir.Put(to, at(q), ir.At(sum, q)) }))
	return ir.Do(append(stmts, ir.Count(blockNumber, count,
		ir.Let(block, ir.IndexAt(t.list, ir.Add(from, blockNumber))), ir.Let(begin, ir.Mul(block, ir.Const(tileColumns))),
		ir.Count(c, ir.Min(ir.Const(tileColumns), ir.Sub(t.extent(t.j), begin)), body...)))...)
}

// finiteRows adds zero to a sum where all that rows of the group add is finite, else NaN: their weight is zero where they have no entry.
func (t tile) finiteRows(sum *ir.Var, e env) (out []ir.Stmt) {
	for _, b := range t.Beside {
		k := b.Columns(t.Pooling)[0]
		for _, row := range t.rows {
			e.bind(t.i, row)
			at := t.Index(string(k))
			e.bind(k, at)
			value := t.value(b.Value, t.elem, e)
			loop := ir.Count(at, t.extent(k), ir.Increase(sum, ir.Sub(value, value)))
			loop.Kind = ir.Simd
			out = append(out, loop)
		}
	}
	return out
}
