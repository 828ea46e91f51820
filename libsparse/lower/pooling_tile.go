package lower

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// tile is the lowering of the tiles of a group of rows.
type tile struct {
	*tiles
	group, first, stop *ir.Var
	found, most        *ir.Var   // the number of blocks, and of those at which tiles are full enough
	rows               []ir.Expr // the coordinates of the rows; the last one stands for those that are missing
	position           func(i ir.Expr) ir.Expr
}

// eachRow is the loop over n rows of the group, by number.
func (t tile) eachRow(n ir.Expr, body func(r ir.Expr) []ir.Stmt) ir.Stmt {
	r := t.Index("r")
	return ir.Count(r, n, body(r)...)
}

// lanes is a loop in lanes.
func (t tile) lanes(n int64, body func(c ir.Expr) []ir.Stmt) ir.Stmt {
	c := t.Index("c")
	loop := ir.Count(c, ir.Const(n), body(c)...)
	loop.Kind = ir.Simd
	return loop
}

// marks lists the blocks that have entries, and notes which elements of their tiles have, and the values of matrices there. It ends early
// where tiles are not full enough.
func (t tile) marks() ir.Stmt {
	return t.eachRow(ir.Sub(t.stop, t.first), func(r ir.Expr) []ir.Stmt {
		i, p, j := t.Index(string(t.i)), t.Index("p"), t.Index(string(t.j))
		block, place, at := t.Index("block"), t.Index("place"), t.Index("at")
		stmts := []ir.Stmt{
			ir.Let(j, ir.IndexAt(t.storage(t.entries, 1, env{}).Crd, p)),
			ir.Let(block, ir.Div(j, ir.Const(tileColumns))),
			ir.When(ir.Is(ir.IndexAt(t.place, block), ir.Eq, ir.Const(0)),
				t.lanes(t.count*tileColumns, func(c ir.Expr) []ir.Stmt {
					return []ir.Stmt{ir.Put(t.held, ir.Add(t.element(t.found, ir.Const(0)), c), zero(t.elem))}
				}),
				ir.Put(t.list, t.found, block), ir.Increment(t.found), ir.Put(t.place, block, t.found)),
			ir.Let(place, ir.Sub(ir.IndexAt(t.place, block), ir.Const(1))),
			ir.Let(at, ir.Add(t.element(place, r), ir.Remainder(j, block, ir.Const(tileColumns)))),
			ir.Put(t.held, at, ir.Number(1, t.elem)),
		}
		for _, k := range t.kept {
			stmts = append(stmts, ir.Put(k.array, at, t.valueOf(k, p, env{})))
		}
		return []ir.Stmt{ir.When(ir.Is(t.found, ir.Le, t.most),
			ir.Let(i, ir.Add(t.first, r)), ir.Loop(p, t.position(i), t.position(ir.Next(i)), stmts...))}
	})
}

// element is the first element of a row in the tile with that number.
func (t tile) element(place, r ir.Expr) ir.Expr {
	return ir.Mul(ir.Add(ir.Mul(place, ir.Const(t.count)), r), ir.Const(tileColumns))
}

// matrices computes the rows of the group, for the outer coordinates from lo to before hi where the values are finite.
func (t tile) matrices(lo, hi ir.Expr) []ir.Stmt {
	matrix, e := t.Index("matrix"), env{phase: computing}
	stmts := t.decode(matrix, t.outer(), &e)
	body := append(t.compute(e), ir.Put(t.computed, ir.Add(ir.Mul(matrix, t.groups), t.group), ir.Number(1, dtype.U8)))
	k, sum := t.Index("k"), t.Scalar("none", t.elem)
	at := ir.Add(ir.Mul(matrix, t.blocks), ir.IndexAt(t.list, k))
	stmts = append(stmts, ir.Declare(sum, zero(t.elem)), ir.Count(k, t.found, ir.Increase(sum, ir.At(t.finite, at))))
	stmts = append(append(stmts, t.finiteRows(sum, e)...), ir.When(ir.Is(sum, ir.Eq, zero(t.elem)), body...))
	return []ir.Stmt{ir.Loop(matrix, lo, hi, stmts...)}
}

// compute computes the rows of the group.
func (t tile) compute(e env) []ir.Stmt {
	stmts := []ir.Stmt{&ir.Alloc{Array: t.scored, Size: ir.Const(t.count * tileWidth)}}
	if t.given != nil {
		stmts = append(stmts, &ir.Alloc{Array: t.given, Size: ir.Const(t.count * tileWidth)})
	}
	for _, s := range t.steps {
		if a := t.stepped[s.LHS.Tensor]; a != nil {
			stmts = append(stmts, &ir.Alloc{Array: a, Size: ir.Const(t.count * tileColumns)})
		}
	}
	if t.Normalized() {
		stmts = append(stmts, &ir.Alloc{Array: t.tops, Size: ir.Const(t.count)}, &ir.Alloc{Array: t.totals, Size: ir.Const(t.count)},
			t.eachRow(ir.Const(t.count), func(r ir.Expr) []ir.Stmt {
				return []ir.Stmt{ir.Put(t.tops, r, ir.Number(index.Lowest(t.elem), t.elem)), ir.Put(t.totals, r, zero(t.elem))}
			}))
	}
	size := t.count * t.width()
	stmts = append(stmts, &ir.Alloc{Array: t.pooled, Size: ir.Const(size)}, t.lanes(size, func(c ir.Expr) []ir.Stmt {
		return []ir.Stmt{ir.Put(t.pooled, c, zero(t.elem))}
	}))
	from, to, k := t.Index("from"), t.Index("to"), t.Index("k")
	some := []ir.Stmt{ir.Let(to, ir.Min(ir.Add(from, ir.Const(tileBlocks)), t.found)), ir.Loop(k, from, to, t.scores(k, from, e)...)}
	if t.Normalized() {
		some = append(some, t.weigh(ir.Sub(to, from)))
	}
	some = append(some, t.addUp(from, ir.Sub(to, from), e)...)
	some = append(some, t.spread(from, ir.Sub(to, from), e)...)
	loop := ir.Loop(from, ir.Const(0), t.found, some...)
	loop.Step = tileBlocks
	return append(stmts, loop, t.results(e))
}

// at is e at an element of a tile: of a row that has a number in the group, and of a column that has one in a block.
func (t tile) at(e env, r, row, block, lane ir.Expr, k ir.Expr) env {
	e.bind(t.i, row)
	e.bind(t.j, ir.Add(ir.Mul(block, ir.Const(tileColumns)), lane))
	for _, held := range t.kept {
		e.views = e.views.with(held.access.Tensor, &view{element: func(*lowerer, *index.Access, env) ir.Expr {
			return ir.At(held.array, ir.Add(t.element(k, r), lane))
		}})
	}
	for tensor, array := range t.stepped {
		e.views = e.views.with(tensor, &view{element: func(*lowerer, *index.Access, env) ir.Expr {
			return ir.At(array, ir.Add(ir.Mul(r, ir.Const(tileColumns)), lane))
		}})
	}
	for _, p := range t.operand {
		e.views = e.views.with(p.access.Tensor, &view{element: func(l *lowerer, a *index.Access, e env) ir.Expr {
			p := t.packing(a)
			if p == nil {
				e.views = nil
				return l.element(a, t.elem, e)
			}
			at := ir.Expr(ir.Const(0))
			for _, v := range p.outer {
				at = ir.Add(ir.Mul(at, t.extent(v)), e.coord.get(v))
			}
			at = ir.Add(ir.Mul(at, t.blocks), block)
			for _, v := range p.summed {
				at = ir.Add(ir.Mul(at, t.extent(v)), e.coord.get(v))
			}
			return ir.At(p.array, ir.Add(ir.Mul(at, ir.Const(tileColumns)), lane))
		}})
	}
	return e
}

// scores computes the scores of the tile with number k, which are the weights where nothing normalizes them.
func (t tile) scores(k, from ir.Expr, e env) []ir.Stmt {
	block := t.Index("block")
	stmts := []ir.Stmt{ir.Let(block, ir.IndexAt(t.list, k))}
	offset := ir.Mul(ir.Sub(k, from), ir.Const(tileColumns))
	place := func(r, c ir.Expr) ir.Expr { return ir.Add(ir.Add(ir.Mul(r, ir.Const(tileWidth)), offset), c) }
	last := t.steps[len(t.steps)-1]
	for _, s := range t.steps {
		if len(s.Reduced()) == 0 {
			continue
		}
		to, at := t.stepped[s.LHS.Tensor], func(r, c ir.Expr) ir.Expr { return ir.Add(ir.Mul(r, ir.Const(tileColumns)), c) }
		if s == last {
			to, at = t.scored, place
		}
		stmts = append(stmts, t.sum(s, to, at, block, k, e))
	}
	none := zero(t.elem)
	if t.Normalized() {
		none = &ir.Unary{Op: dtype.Neg, X: infinity(t.elem)}
	}
	return append(stmts, t.eachRow(ir.Const(t.count), func(r ir.Expr) []ir.Stmt {
		var stmts []ir.Stmt
		var row *ir.Var
		element := func(c ir.Expr) ir.Expr { return ir.Add(ir.Mul(r, ir.Const(tileColumns)), c) }
		for _, s := range t.steps {
			if len(s.Reduced()) > 0 {
				continue
			}
			if row == nil {
				row = t.Index(string(t.i))
				stmts = append(stmts, ir.Let(row, ir.Min(ir.Add(t.first, r), ir.Sub(t.stop, ir.Const(1)))))
			}
			to, at := t.stepped[s.LHS.Tensor], element
			if s == last {
				to, at = t.scored, func(c ir.Expr) ir.Expr { return place(r, c) }
			}
			stmts = append(stmts, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt {
				return []ir.Stmt{ir.Put(to, at(c), t.value(s.RHS, t.elem, t.at(e, r, row, block, c, k)))}
			}))
		}
		chosen := func(to *ir.Array, from, none ir.Expr, c ir.Expr) ir.Stmt {
			some := ir.Is(ir.At(t.held, ir.Add(t.element(k, r), c)), ir.Ne, zero(t.elem))
			return ir.Put(to, place(r, c), &ir.Select{Cond: some, Then: from, Else: none})
		}
		return append(stmts, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt {
			some := []ir.Stmt{chosen(t.scored, ir.At(t.scored, place(r, c)), none, c)}
			if t.given != nil {
				some = append(some, chosen(t.given, ir.At(t.stepped[t.factor], element(c)), zero(t.elem), c))
			}
			return some
		}))
	}))
}

func infinity(elem dtype.T) ir.Expr {
	e, _ := dtype.Min.Identity()
	return ir.Number(e, elem)
}

// registers are arrays that stay in registers, one for each row.
func (t tile) registers(size int64) (arrays []*ir.Array, allocs []ir.Stmt) {
	for range t.count {
		a := t.Array("sums", t.elem)
		arrays, allocs = append(arrays, a), append(allocs, &ir.Alloc{Array: a, Size: ir.Const(size)})
	}
	return arrays, allocs
}

// sum computes a step for all elements of a tile.
func (t tile) sum(s *index.Assignment, to *ir.Array, at func(r, c ir.Expr) ir.Expr, block, k ir.Expr, e env) ir.Stmt {
	sums, stmts := t.registers(tileColumns)
	loops, e := t.loops(s.Reduced(), e)
	var clear, body, store []ir.Stmt
	for r, a := range sums {
		number := ir.Const(int64(r))
		clear = append(clear, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt { return []ir.Stmt{ir.Put(a, c, zero(t.elem))} }))
		body = append(body, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt {
			return []ir.Stmt{ir.Update(a, c, dtype.Add, t.value(s.RHS, t.elem, t.at(e, number, t.rows[r], block, c, k)))}
		}))
		store = append(store, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt { return []ir.Stmt{ir.Put(to, at(number, c), ir.At(a, c))} }))
	}
	return ir.Do(slices.Concat(stmts, clear, []ir.Stmt{within(loops, body...)}, store)...)
}

// weigh makes weights of the scores of several tiles.
func (t tile) weigh(count ir.Expr) ir.Stmt {
	maxima := t.Array("maxima", t.elem)
	each := t.eachRow(ir.Const(t.count), func(r ir.Expr) []ir.Stmt {
		parts, b := t.Array("parts", t.elem), t.Index("b")
		greatest, total, shrink := t.Scalar("greatest", t.elem), t.Scalar("total", t.elem), t.Scalar("shrink", t.elem)
		rescaled := []ir.Stmt{ir.Let(shrink, exp(ir.Sub(ir.At(t.tops, r), greatest))), ir.Update(t.totals, r, dtype.Mul, shrink)}
		rescaled = append(rescaled, t.lanes(t.width(), func(c ir.Expr) []ir.Stmt {
			return []ir.Stmt{ir.Update(t.pooled, ir.Add(ir.Mul(r, ir.Const(t.width())), c), dtype.Mul, shrink)}
		}), ir.Put(t.tops, r, greatest))
		return []ir.Stmt{
			ir.Declare(greatest, ir.Number(index.Lowest(t.elem), t.elem)),
			t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt {
				most := ir.At(maxima, ir.Add(ir.Mul(r, ir.Const(tileColumns)), c))
				return []ir.Stmt{&ir.Assign{Var: greatest, Reduce: dtype.Max, Value: most}}
			}),
			ir.When(ir.Is(greatest, ir.Gt, ir.At(t.tops, r)), rescaled...),
			&ir.Alloc{Array: parts, Size: ir.Const(tileColumns)},
			t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt { return []ir.Stmt{ir.Put(parts, c, zero(t.elem))} }),
			ir.Count(b, count, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt {
				weight := exp(ir.Sub(ir.At(t.scored, placed(r, b, c)), ir.At(t.tops, r)))
				return []ir.Stmt{ir.Put(t.scored, placed(r, b, c), weight), ir.Update(parts, c, dtype.Add, ir.At(t.scored, placed(r, b, c)))}
			})),
			ir.Declare(total, zero(t.elem)),
			t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt { return []ir.Stmt{ir.Increase(total, ir.At(parts, c))} }),
			ir.Update(t.totals, r, dtype.Add, total),
		}
	})
	return ir.Do(append(t.maxima(maxima, count), each)...)
}

// placed is where the score of a row is kept, in the tile with number b.
func placed(r, b, c ir.Expr) ir.Expr {
	return ir.Add(ir.Add(ir.Mul(r, ir.Const(tileWidth)), ir.Mul(b, ir.Const(tileColumns))), c)
}

// maxima finds the greatest score so far in each lane of a row: of all rows at once, which don't wait for each other.
func (t tile) maxima(to *ir.Array, count ir.Expr) []ir.Stmt {
	most, stmts := t.registers(tileColumns)
	b := t.Index("b")
	var body, store []ir.Stmt
	for n, a := range most {
		r := ir.Const(int64(n))
		stmts = append(stmts, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt { return []ir.Stmt{ir.Put(a, c, ir.At(t.tops, r))} }))
		body = append(body, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt {
			return []ir.Stmt{ir.Update(a, c, dtype.Max, ir.At(t.scored, placed(r, b, c)))}
		}))
		store = append(store, t.lanes(tileColumns, func(c ir.Expr) []ir.Stmt {
			return []ir.Stmt{ir.Put(to, ir.Add(ir.Mul(r, ir.Const(tileColumns)), c), ir.At(a, c))}
		}))
	}
	stmts = append(stmts, &ir.Alloc{Array: to, Size: ir.Const(t.count * tileColumns)}, ir.Count(b, count, body...))
	return append(stmts, store...)
}

// addUp adds the weighted values of several tiles to the sums: of as many columns at a time as have registers.
func (t tile) addUp(from, count ir.Expr, e env) (out []ir.Stmt) {
	some := tileColumns * t.count / 4 // more rows are taken together where there are more and wider registers
	for first := int64(0); first < t.width(); first += some {
		size := min(some, t.width()-first)
		sums, stmts := t.registers(size)
		b, c, block, begin := t.Index("b"), t.Index("c"), t.Index("block"), t.Index("begin")
		e.bind(t.j, ir.Add(begin, c))
		var load, body, store []ir.Stmt
		for r, a := range sums {
			row := int64(r)
			all := func(q ir.Expr) ir.Expr { return ir.Add(ir.Const(row*t.width()+first), q) }
			load = append(load, t.lanes(size, func(q ir.Expr) []ir.Stmt { return []ir.Stmt{ir.Put(a, q, ir.At(t.pooled, all(q)))} }))
			weight := ir.At(t.scored, ir.Add(ir.Add(ir.Const(row*tileWidth), ir.Mul(b, ir.Const(tileColumns))), c))
			body = append(body, t.lanes(size, func(q ir.Expr) []ir.Stmt {
				e.bind(t.Columns[0], ir.Add(ir.Const(first), q))
				return []ir.Stmt{ir.Update(a, q, dtype.Add, ir.Mul(weight, t.value(t.Value, t.elem, e)))}
			}))
			store = append(store, t.lanes(size, func(q ir.Expr) []ir.Stmt { return []ir.Stmt{ir.Put(t.pooled, all(q), ir.At(a, q))} }))
		}
		add := ir.Count(b, count,
			ir.Let(block, ir.IndexAt(t.list, ir.Add(from, b))), ir.Let(begin, ir.Mul(block, ir.Const(tileColumns))),
			ir.Count(c, ir.Min(ir.Const(tileColumns), ir.Sub(t.extent(t.j), begin)), body...))
		out = append(out, ir.Do(slices.Concat(stmts, load, []ir.Stmt{add}, store)...))
	}
	return out
}

// results writes the rows of the result.
func (t tile) results(e env) ir.Stmt {
	return t.eachRow(ir.Sub(t.stop, t.first), func(r ir.Expr) []ir.Stmt {
		i := t.Index(string(t.i))
		e.bind(t.i, i)
		some := ir.Is(t.position(i), ir.Lt, t.position(ir.Next(i)))
		stmts := []ir.Stmt{ir.Let(i, ir.Add(t.first, r))}
		result := t.program.Source.LHS
		stmts = append(stmts, t.store(e, some, ir.At(t.tops, r), ir.At(t.totals, r))...)
		return append(stmts, t.lanes(t.width(), func(c ir.Expr) []ir.Stmt {
			e.bind(t.Columns[0], c)
			value := ir.At(t.pooled, ir.Add(ir.Mul(r, ir.Const(t.width())), c))
			if !t.Normalized() {
				return []ir.Stmt{t.write(result, e, nil, value)}
			}
			return []ir.Stmt{t.write(result, e, some, ir.Div(value, ir.At(t.totals, r)))}
		}))
	})
}
