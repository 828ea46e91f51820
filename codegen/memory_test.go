package codegen_test

import (
	"fmt"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// greedy allocates in every kind of place: outside and inside a region, in an iteration, in a loop of the iteration,
// in a serial statement of the region, and by sorting.
func greedy() *ir.Module {
	threads, n := iv("threads"), iv("n")
	key, result := in("key", dtype.I32), out("result", dtype.I64)
	outer, perm, mine, row, cell, late := out("outer", dtype.I64), out("perm", dtype.I64), out("mine", dtype.I64),
		out("row", dtype.I64), out("cell", dtype.I64), out("late", dtype.I64)
	i, j, k, room, first := iv("i"), iv("j"), iv("k"), iv("room"), iv("first")
	return &ir.Module{
		Slots: append(vars(threads, n), arrays(key, result)...),
		Funcs: []*ir.Func{{Name: "f", Body: block(
			&ir.Alloc{Array: outer, Size: n, Zero: true},
			&ir.Alloc{Array: perm, Size: n},
			loop(i, num(0), n, ir.Serial, put(perm, i, sub(sub(n, num(1)), i))),
			&ir.SortBy{Perm: perm, Key: key, Count: n, Extent: num(1000)},
			&ir.Parallel{Threads: threads, Body: block(
				variable(room, num(1)),
				&ir.Alloc{Array: mine, Size: room, Zero: true},
				let(first, at(mine, num(0))),
				&ir.If{Cond: lt(num(0), n), Then: block(&ir.Alloc{Array: late, Size: n}, put(late, num(0), num(1)), &ir.Free{Array: late})},
				loop(j, num(0), n, ir.Shared,
					&ir.Alloc{Array: row, Size: n},
					put(row, j, add(j, first)),
					&ir.Grow{Array: mine, Capacity: room, Size: add(j, num(1))},
					put(mine, j, at(row, j)),
					loop(k, num(0), num(2), ir.Serial,
						&ir.Alloc{Array: cell, Size: n, Zero: true},
						put(cell, j, at(mine, j)),
						put(result, j, add(at(cell, j), add(at(perm, j), at(outer, j)))),
						&ir.Free{Array: cell},
					),
					&ir.Free{Array: row},
				),
				&ir.Free{Array: mine},
			)},
			&ir.Free{Array: perm}, &ir.Free{Array: outer},
		)}},
	}
}

// TestEveryAllocationFails makes each allocation fail in turn: the status must be NoMemory, without a leak, a crash
// or a deadlock of the team.
func TestEveryAllocationFails(t *testing.T) {
	m := ir.Simplify(greedy())
	args := []ir.Arg{
		ir.ScalarArg(2), ir.ScalarArg(4), ir.ArrayArg(ir.Ints(dtype.I32, 5, 900, 5, 2)), ir.ArrayArg(ir.NewBuffer(dtype.I64, 4)),
	}
	want := ir.CloneArgs(args)
	if status, err := ir.Run(m, "f", want); status != 0 || err != nil {
		t.Fatal(status, err)
	}
	p := crun.Compile(t, m, crun.Options{Sanitize: true, Warnings: true, FailingMalloc: true})
	for nth := 1; ; nth++ {
		got := ir.CloneArgs(args)
		status := p.RunFailing(t, nth, []string{"f"}, got)
		if status == ir.OK {
			if nth < 15 {
				t.Error("only", nth, "allocations")
			}
			sameArgs(t, m, got, want)
			return
		}
		if status != ir.NoMemory {
			t.Fatal(fmt.Sprint("allocation ", nth, ": status ", status))
		}
	}
}

// TestReductions compares Simd loops that reduce into scalars, compiled as kernels are, on values without rounding.
func TestReductions(t *testing.T) {
	n, count := iv("n"), iv("count")
	x, k := in("x", dtype.F32), in("k", dtype.I32)
	sums, least := out("sums", dtype.F32), out("least", dtype.I32)
	s, p, top := &ir.Var{Name: "s", T: ir.Scalar(dtype.F32)}, &ir.Var{Name: "p", T: ir.Scalar(dtype.F32)}, &ir.Var{Name: "top", T: ir.Scalar(dtype.F32)}
	low, any := &ir.Var{Name: "low", T: ir.Scalar(dtype.I32)}, &ir.Var{Name: "any", T: ir.Scalar(dtype.Bool)}
	v, w := iv("v"), iv("w")
	f := func(x float64) ir.Expr { return &ir.Float{Value: x, T: dtype.F32} }
	reduce := func(v *ir.Var, op dtype.Op, x ir.Expr) ir.Stmt { return &ir.Assign{Var: v, Reduce: op, Value: x} }
	load := func(a *ir.Array, i ir.Expr) ir.Expr { return &ir.Load{Array: a, Index: i} }
	m := &ir.Module{
		Slots: append(append(vars(n), ir.Slot{Var: count, Out: true}), arrays(x, k, sums, least)...),
		Funcs: []*ir.Func{{Name: "f", Body: block(
			variable(s, f(0)), variable(p, f(1)), variable(top, f(-100)),
			variable(low, &ir.Int{Value: 1 << 30, T: dtype.I32}), variable(any, &ir.Int{T: dtype.Bool}),
			loop(v, num(0), n, ir.Simd,
				reduce(s, dtype.Add, mul(load(x, v), load(x, v))),
				reduce(p, dtype.Mul, f(2)),
				reduce(low, dtype.Min, load(k, v)),
				reduce(any, dtype.Or, eq(load(k, v), num(3))),
				&ir.Assign{Var: count, Reduce: dtype.Add, Value: wide(lt(load(k, v), num(5)))},
			),
			loop(w, num(0), n, ir.Simd, reduce(top, dtype.Max, load(x, w))),
			put(sums, num(0), s), put(sums, num(1), p), put(sums, num(2), top), put(least, num(0), low),
			put(least, num(1), &ir.Cast{X: any, To: dtype.I32}),
		)}},
	}
	args := []ir.Arg{
		ir.ScalarArg(19), ir.ScalarArg(0), ir.ArrayArg(ir.NewBuffer(dtype.F32, 19)), ir.ArrayArg(ir.NewBuffer(dtype.I32, 19)),
		ir.ArrayArg(ir.NewBuffer(dtype.F32, 3)), ir.ArrayArg(ir.NewBuffer(dtype.I32, 2)),
	}
	for i := range 19 {
		args[2].Array.Float[i], args[3].Array.Int[i] = float64(i%7), int64(19-i)
	}
	want := ir.CloneArgs(args)
	if _, err := ir.Run(m, "f", want); err != nil {
		t.Fatal(err)
	}
	program := crun.Compile(t, m, crun.Options{Optimize: true, Warnings: true})
	golden(t, "testdata/reductions.c", emitted(t, m))
	program.Run(t, []string{"f"}, args)
	sameArgs(t, m, args, want)
}
