package codegen_test

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Short names for building modules by hand.

func iv(name string) *ir.Var            { return &ir.Var{Name: name, T: ir.Index} }
func num(x int64) *ir.Int               { return &ir.Int{Value: x, T: dtype.I64} }
func wide(x ir.Expr) ir.Expr            { return &ir.Cast{X: x, To: dtype.I64} }
func add(x, y ir.Expr) ir.Expr          { return &ir.Binary{Op: dtype.Add, X: x, Y: y} }
func sub(x, y ir.Expr) ir.Expr          { return &ir.Binary{Op: dtype.Sub, X: x, Y: y} }
func mul(x, y ir.Expr) ir.Expr          { return &ir.Binary{Op: dtype.Mul, X: x, Y: y} }
func minOf(x, y ir.Expr) ir.Expr        { return &ir.Binary{Op: dtype.Min, X: x, Y: y} }
func lt(x, y ir.Expr) ir.Expr           { return &ir.Compare{Op: ir.Lt, X: x, Y: y} }
func eq(x, y ir.Expr) ir.Expr           { return &ir.Compare{Op: ir.Eq, X: x, Y: y} }
func and(x, y ir.Expr) ir.Expr          { return &ir.Compare{Op: ir.LogAnd, X: x, Y: y} }
func block(s ...ir.Stmt) *ir.Block      { return &ir.Block{Stmts: s} }
func let(v *ir.Var, e ir.Expr) *ir.Decl { return &ir.Decl{Var: v, Init: e, Const: true} }
func variable(v *ir.Var, e ir.Expr) *ir.Decl {
	return &ir.Decl{Var: v, Init: e}
}

func at(a *ir.Array, i ir.Expr) ir.Expr {
	if a.Elem == dtype.I32 {
		return wide(&ir.Load{Array: a, Index: i})
	}
	return &ir.Load{Array: a, Index: i}
}

func put(a *ir.Array, i, x ir.Expr) ir.Stmt { return &ir.Store{Array: a, Index: i, Value: x} }
func putAdd(a *ir.Array, i, x ir.Expr) ir.Stmt {
	return &ir.Store{Array: a, Index: i, Value: x, Reduce: dtype.Add}
}
func inc(v *ir.Var, x ir.Expr) ir.Stmt { return &ir.Assign{Var: v, Value: x, Reduce: dtype.Add} }

func loop(v *ir.Var, lo, hi ir.Expr, kind ir.LoopKind, body ...ir.Stmt) *ir.For {
	return &ir.For{Var: v, Lo: lo, Hi: hi, Step: 1, Kind: kind, Body: block(body...)}
}

func in(name string, t dtype.T) *ir.Array  { return &ir.Array{Name: name, Elem: t, ReadOnly: true} }
func out(name string, t dtype.T) *ir.Array { return &ir.Array{Name: name, Elem: t} }
func vars(list ...*ir.Var) (slots []ir.Slot) {
	for _, v := range list {
		slots = append(slots, ir.Slot{Var: v})
	}
	return slots
}

func arrays(list ...*ir.Array) (slots []ir.Slot) {
	for _, a := range list {
		slots = append(slots, ir.Slot{Array: a})
	}
	return slots
}

// spmm is C = A @ B with A in CSR and 64+7 columns of B, accumulated in a stack array.
func spmm(columns int64) *ir.Module {
	threads, rows := iv("threads"), iv("n_i")
	pos, crd, vals := in("A2_pos", dtype.I32), in("A2_crd", dtype.I32), in("A_vals", dtype.F32)
	b, c, w := in("B_vals", dtype.F32), out("C_vals", dtype.F32), out("w", dtype.F32)
	i, p, j, k, k2 := iv("i"), iv("pA"), iv("j"), iv("k"), iv("k2")
	a := &ir.Var{Name: "a", T: ir.Scalar(dtype.F32)}
	n := num(columns)
	row := loop(i, num(0), rows, ir.Shared,
		&ir.Alloc{Array: w, Size: n, Zero: true},
		loop(p, at(pos, i), at(pos, add(i, num(1))), ir.Serial,
			let(j, at(crd, p)),
			let(a, at(vals, p)),
			loop(k, num(0), n, ir.Simd, putAdd(w, k, mul(a, at(b, add(mul(j, n), k))))),
		),
		loop(k2, num(0), n, ir.Simd, put(c, add(mul(i, n), k2), at(w, k2))),
	)
	row.Chunk = num(16)
	return &ir.Module{
		Doc:   []string{"C(i,k) = A(i,j) * B(j,k)", "A: ds, B: dd, C: dd", "parallel over i: rows of C are independent"},
		Slots: append(vars(threads, rows), arrays(pos, crd, vals, b, c)...),
		Funcs: []*ir.Func{{Name: "kernel_compute", Body: block(
			&ir.Comment{Text: "one row of C at a time"},
			&ir.Parallel{Threads: threads, Cond: lt(num(1), threads), Body: block(row)},
			&ir.Return{Value: num(0)},
		)}},
	}
}

// union is y(i) = a(i) + b(i) of two sparse vectors; it counts the coordinates of y.
func union() *ir.Module {
	count := iv("count")
	aPos, aCrd, aVals := in("a1_pos", dtype.I32), in("a1_crd", dtype.I32), in("a_vals", dtype.F64)
	bPos, bCrd, bVals := in("b1_pos", dtype.I32), in("b1_crd", dtype.I32), in("b_vals", dtype.F64)
	crd, vals := out("y1_crd", dtype.I32), out("y_vals", dtype.F64)
	pa, pb, ea, eb, py := iv("pa"), iv("pb"), iv("pa_end"), iv("pb_end"), iv("py")
	ia, ib, i := iv("ia"), iv("ib"), iv("i")
	store := func(x ir.Expr) *ir.Block { return block(put(vals, py, x)) }
	tail := func(p, end *ir.Var, c, v *ir.Array) ir.Stmt {
		return &ir.While{Cond: lt(p, end), Body: block(
			put(crd, py, at(c, p)), put(vals, py, at(v, p)), inc(p, num(1)), inc(py, num(1)),
		)}
	}
	merge := &ir.While{Cond: and(lt(pa, ea), lt(pb, eb)), Body: block(
		let(ia, at(aCrd, pa)), let(ib, at(bCrd, pb)), let(i, minOf(ia, ib)),
		put(crd, py, i),
		&ir.If{
			Cond: and(eq(ia, i), eq(ib, i)), Then: store(add(at(aVals, pa), at(bVals, pb))),
			Else: &ir.If{Cond: eq(ia, i), Then: store(at(aVals, pa)), Else: store(at(bVals, pb))},
		},
		inc(pa, wide(eq(ia, i))), inc(pb, wide(eq(ib, i))), inc(py, num(1)),
	)}
	return &ir.Module{
		Doc: []string{"y(i) = a(i) + b(i)"},
		Slots: append([]ir.Slot{{Var: count, Out: true}},
			arrays(aPos, aCrd, aVals, bPos, bCrd, bVals, crd, vals)...),
		Funcs: []*ir.Func{{Name: "kernel_compute", Body: block(
			variable(pa, at(aPos, num(0))), let(ea, at(aPos, num(1))),
			variable(pb, at(bPos, num(0))), let(eb, at(bPos, num(1))),
			variable(py, num(0)),
			merge, tail(pa, ea, aCrd, aVals), tail(pb, eb, bCrd, bVals),
			&ir.Assign{Var: count, Value: py},
		)}},
	}
}

// gustavson is C = A @ B, all in CSR, rows of C sorted: two functions, dense workspaces per thread.
func gustavson() *ir.Module {
	threads, rows, cols, count := iv("threads"), iv("n_i"), iv("n_k"), iv("count")
	aPos, aCrd, aVals := in("A2_pos", dtype.I32), in("A2_crd", dtype.I32), in("A_vals", dtype.F32)
	bPos, bCrd, bVals := in("B2_pos", dtype.I32), in("B2_crd", dtype.I32), in("B_vals", dtype.F32)
	cPos, cCrd, cVals := out("C2_pos", dtype.I32), out("C2_crd", dtype.I32), out("C_vals", dtype.F32)
	seen, w := out("seen", dtype.Bool), out("w", dtype.F32)
	yes, no := &ir.Int{Value: 1, T: dtype.Bool}, &ir.Int{Value: 0, T: dtype.Bool}
	i, pa, pb, j, k, n := iv("i"), iv("pa"), iv("pb"), iv("j"), iv("k"), iv("n")
	room, list := iv("room"), out("list", dtype.I32)
	each := func(inner ...ir.Stmt) ir.Stmt {
		return loop(pa, at(aPos, i), at(aPos, add(i, num(1))), ir.Serial, let(j, at(aCrd, pa)),
			loop(pb, at(bPos, j), at(bPos, add(j, num(1))), ir.Serial, append([]ir.Stmt{let(k, at(bCrd, pb))}, inner...)...))
	}
	isNew := &ir.If{Cond: eq(&ir.Load{Array: seen, Index: k}, no), Then: block(
		put(seen, k, yes),
		&ir.Grow{Array: list, Capacity: room, Size: add(n, num(1))},
		put(list, n, k), inc(n, num(1)),
	)}
	q := iv("q")
	clear := loop(q, num(0), n, ir.Serial, put(seen, at(list, q), no))
	assembleRow := loop(i, num(0), rows, ir.Shared, variable(n, num(0)), each(isNew), clear,
		put(cPos, add(i, num(1)), n))
	assembleRow.Chunk = num(4)
	first, last := iv("first"), iv("last")
	v := iv("v")
	computeRow := loop(i, num(0), rows, ir.Shared,
		let(first, at(cPos, i)), let(last, at(cPos, add(i, num(1)))),
		variable(n, first),
		each(
			&ir.If{Cond: eq(&ir.Load{Array: seen, Index: k}, no), Then: block(
				put(seen, k, yes), put(cCrd, n, k), inc(n, num(1)), put(w, k, &ir.Float{T: dtype.F32}),
			)},
			putAdd(w, k, mul(at(aVals, pa), at(bVals, pb))),
		),
		&ir.Sort{Array: cCrd, Lo: first, Hi: last},
		loop(q, first, last, ir.Serial, let(v, at(cCrd, q)), put(cVals, q, at(w, v)), put(seen, v, no)),
	)
	return &ir.Module{
		Doc: []string{"C(i,k) = A(i,j) * B(j,k)"},
		Slots: append(append(vars(threads, rows, cols), ir.Slot{Var: count, Out: true}),
			arrays(aPos, aCrd, aVals, bPos, bCrd, bVals, cPos, cCrd, cVals)...),
		Funcs: []*ir.Func{
			{Name: "kernel_assemble", Body: block(
				put(cPos, num(0), num(0)),
				&ir.Parallel{Threads: threads, Body: block(
					variable(room, num(1)),
					&ir.Alloc{Array: seen, Size: cols, Zero: true},
					&ir.Alloc{Array: list, Size: room},
					assembleRow,
					&ir.Free{Array: list}, &ir.Free{Array: seen},
				)},
				&ir.PrefixSum{Array: cPos, Count: add(rows, num(1))},
				&ir.Assign{Var: count, Value: at(cPos, rows)},
				&ir.Return{Value: num(0)},
			)},
			{Name: "kernel_compute", Body: block(
				&ir.Parallel{Threads: threads, Body: block(
					&ir.Alloc{Array: seen, Size: cols},
					&ir.Fill{Array: seen, Count: cols, Value: no},
					&ir.Alloc{Array: w, Size: cols},
					computeRow,
					&ir.Free{Array: w}, &ir.Free{Array: seen},
				)},
				&ir.Return{Value: num(0)},
			)},
		},
	}
}
