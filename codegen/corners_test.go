package codegen_test

import (
	"math"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// corners uses what the other kernels don't: scalars of floating types in slots, names that C reserves, bounds that
// change in their loop, vectors in variables, extreme literals, a computed status with arrays alive.
func corners() *ir.Module {
	n, limit := iv("for"), iv("limit")
	alpha, beta := &ir.Var{Name: "alpha", T: ir.Scalar(dtype.F32)}, &ir.Var{Name: "beta", T: ir.Scalar(dtype.F64)}
	x, big, heap := out("double", dtype.F32), out("big", dtype.I64), out("heap", dtype.I64)
	end, v, w, i := iv("end"), iv("v"), iv("w"), iv("int")
	lanes := &ir.Var{Name: "lanes", T: ir.Type{Elem: dtype.F32, Lanes: 4}}
	grow := &ir.Assign{Var: end, Reduce: dtype.Add, Value: num(1)}
	load4 := &ir.Load{Array: x, Index: num(0), Lanes: 4}
	tooLong := &ir.Select{Cond: lt(limit, at(heap, num(0))), Then: num(2), Else: num(0)}
	return &ir.Module{
		Slots: append(append(vars(n, limit, alpha), ir.Slot{Var: beta, Out: true}), arrays(x, big)...),
		Funcs: []*ir.Func{{Name: "f", Body: block(
			&ir.Comment{Text: "a comment that */ ends /* early \\"},
			&ir.If{Cond: lt(n, num(0)), Then: block(&ir.Return{Value: num(7)})},
			variable(end, n),
			loop(v, num(0), end, ir.Serial, grow, putAdd(big, num(0), v)),
			loop(w, num(0), end, ir.Simd, grow, put(big, add(w, num(1)), end)),
			put(big, num(20), num(math.MinInt64)), put(big, num(21), num(math.MaxInt64)),
			put(big, num(22), mul(num(1<<20), num(1<<20))),
			put(big, num(23), &ir.Unary{Op: dtype.Neg, X: num(-5)}),
			variable(lanes, &ir.Binary{Op: dtype.Max, X: load4, Y: alpha}),
			&ir.Assign{Var: lanes, Reduce: dtype.Min, Value: &ir.Binary{Op: dtype.Sub, X: alpha, Y: load4}},
			&ir.Store{Array: x, Index: num(4), Value: lanes},
			put(x, num(8), &ir.Float{Value: math.Inf(-1), T: dtype.F32}),
			&ir.Assign{Var: beta, Reduce: dtype.Mul, Value: &ir.Float{Value: 1e-3, T: dtype.F64}},
			&ir.Alloc{Array: heap, Size: n},
			loop(i, num(0), n, ir.Serial, put(heap, i, add(i, num(10)))),
			&ir.Sort{Array: heap, Lo: num(0), Hi: n},
			&ir.Return{Value: tooLong},
		)}},
	}
}

func TestCorners(t *testing.T) {
	m := corners()
	p := crun.Compile(t, m, crun.Options{Sanitize: true, Warnings: true})
	for _, c := range []struct{ n, limit, status int64 }{{4, 100, 0}, {4, 0, 2}, {-1, 0, 7}} {
		args := []ir.Arg{
			ir.ScalarArg(c.n), ir.ScalarArg(c.limit), ir.ScalarArg(int64(math.Float32bits(1.5))),
			ir.ScalarArg(int64(math.Float64bits(3))),
			ir.ArrayArg(ir.Floats(dtype.F32, 1, 2, math.NaN(), -1, 0, 0, 0, 0, 0)), ir.ArrayArg(ir.NewBuffer(dtype.I64, 24)),
		}
		want := ir.CloneArgs(args)
		status, err := ir.Run(m, "f", want)
		if status != c.status || err != nil {
			t.Fatal(status, err)
		}
		if got := p.Run(t, []string{"f"}, args); got != status {
			t.Error("status", got, "want", status)
		}
		sameArgs(t, m, args, want)
	}
}

// TestSharedLoopsInside puts shared loops, which every thread must reach, in loops and branches of the region.
func TestSharedLoopsInside(t *testing.T) {
	threads, n := iv("threads"), iv("n")
	a, tmp, mine := out("a", dtype.I64), out("tmp", dtype.I64), out("mine", dtype.I64)
	round, k, i, j := iv("round"), iv("k"), iv("i"), iv("j")
	m := &ir.Module{
		Slots: append(vars(threads, n), arrays(a, tmp)...),
		Funcs: []*ir.Func{{Name: "f", Body: block(&ir.Parallel{Threads: threads, Body: block(
			&ir.Alloc{Array: mine, Size: n},
			variable(k, num(0)),
			loop(round, num(0), num(3), ir.Serial,
				&ir.If{Cond: lt(round, num(2)), Then: block(
					loop(i, num(0), n, ir.Shared, put(tmp, i, add(at(a, sub(sub(n, i), num(1))), round))),
				), Else: block(&ir.Comment{Text: "the last round only copies"}, put(mine, num(0), num(0)))},
				loop(j, num(0), n, ir.Shared, put(mine, j, at(tmp, j)), put(a, j, add(at(mine, j), k))),
				inc(k, num(1)),
			),
			&ir.Free{Array: mine},
		)})}},
	}
	args := []ir.Arg{ir.ScalarArg(2), ir.ScalarArg(50), ir.ArrayArg(ir.NewBuffer(dtype.I64, 50)), ir.ArrayArg(ir.NewBuffer(dtype.I64, 50))}
	for i := range 50 {
		args[2].Array.Int[i] = int64(i * i)
	}
	want := ir.CloneArgs(args)
	if _, err := ir.Run(m, "f", want); err != nil {
		t.Fatal(err)
	}
	crun.Compile(t, m, crun.Options{Warnings: true}).Run(t, []string{"f"}, args)
	sameArgs(t, m, args, want)
}
