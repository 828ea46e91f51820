package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"libsparse/codegen"
	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// sliced is the shape of rows in slices: of the last there are fewer than a slice has.
var sliced = struct{ rows, height, steps int64 }{19, 8, 10}

// reductions is a module of many loops that reduce into an element of out each: of every operator, from zero and from elsewhere, to literals and
// to bounds known at run time, of neighbouring elements and gathered ones; such loops inside of an unrolled one; and rows in slices, whose places stand side
// by side.
func reductions(t dtype.T, r *rand.Rand) (*ir.Module, []ir.Arg) {
	x, crd, pos, result := in("x", t), in("crd", dtype.I32), in("pos", dtype.I32), out("out", t)
	n := iv("n")
	const size, rows = 240, 7
	held := in("held", dtype.I32)
	places := ir.NewBuffer(dtype.I32, size)
	values, coords, bounds := ir.NewBuffer(t, size), ir.NewBuffer(dtype.I32, size), ir.NewBuffer(dtype.I32, rows+1)
	for k := range size {
		small := int64(r.IntN(5) - 1)
		coords.Int[k] = int64(r.IntN(size))
		if t.IsFloat() {
			values.Float[k] = float64(small)
		} else {
			values.Int[k] = max(small, 0)
		}
	}
	for row := range sliced.rows {
		length := r.Int64N(sliced.steps + 1)
		for k := range sliced.steps {
			place := (row/sliced.height*sliced.steps+k)*sliced.height + row%sliced.height
			if places.Int[place] = -1; k < length {
				places.Int[place] = int64(r.IntN(size))
			}
		}
	}
	for k := range rows {
		bounds.Int[k+1] = bounds.Int[k] + int64(r.IntN(12))
	}
	var body []ir.Stmt
	count := int64(0)
	reduce := func(op dtype.Op, v *ir.Var, lo, hi, value ir.Expr, before ...ir.Stmt) (stmts []ir.Stmt, sum *ir.Var) {
		sum = &ir.Var{Name: fmt.Sprintf("w%d", count), T: ir.Scalar(t)}
		first, _ := op.Identity()
		inner := loop(v, lo, hi, ir.Simd, append(before, &ir.Assign{Var: sum, Reduce: op, Value: value})...)
		inner.Within = wide(ir.At(pos, num(rows)))
		return []ir.Stmt{variable(sum, ir.Number(first, t)), inner}, sum
	}
	emit := func(stmts []ir.Stmt, sum *ir.Var) {
		body = append(body, ir.Do(append(stmts, put(result, num(count), sum))...))
		count++
	}
	for _, op := range []dtype.Op{dtype.Add, dtype.Mul, dtype.Min, dtype.Max} {
		for _, trips := range []int64{1, 3, 8, 13, 47} {
			v := iv(fmt.Sprintf("v%d", count))
			emit(reduce(op, v, num(0), num(trips), ir.At(x, add(v, num(3)))))
			v = iv(fmt.Sprintf("v%d", count))
			emit(reduce(op, v, num(0), sub(n, num(70-trips)), ir.At(x, v)))
		}
		for row := range int64(rows) {
			v, j := iv(fmt.Sprintf("p%d", count)), iv(fmt.Sprintf("j%d", count))
			gathered := ir.Apply(dtype.Min, ir.At(x, v), ir.At(x, j))
			emit(reduce(op, v, wide(ir.At(pos, num(row))), wide(ir.At(pos, num(row+1))), gathered, let(j, wide(ir.At(crd, v)))))
		}
	}
	for _, unroll := range []int64{2, 4} {
		for _, hi := range []ir.Expr{num(13), sub(n, num(7)), sub(n, num(67))} {
			p, k := iv(fmt.Sprintf("p%d", count)), iv(fmt.Sprintf("k%d", count))
			j := iv(fmt.Sprintf("j%d", count))
			stmts, sum := reduce(dtype.Add, k, num(0), hi, ir.Apply(dtype.Max, ir.At(x, k), ir.At(x, add(k, minOf(j, num(9))))))
			outer := loop(p, num(1), num(12), ir.Serial, append(append([]ir.Stmt{let(j, wide(ir.At(crd, p)))}, stmts...),
				put(result, add(p, num(count)), ir.Apply(dtype.Max, sum, ir.Apply(dtype.Min, ir.At(x, p), ir.At(x, j)))))...)
			outer.Unroll = unroll
			body = append(body, outer)
			count += 12
		}
	}
	for _, op := range []dtype.Op{dtype.Add, dtype.Mul, dtype.Min, dtype.Max} {
		for _, turns := range []int64{1, 4} {
			s, p, k, j := iv(fmt.Sprintf("s%d", count)), iv(fmt.Sprintf("p%d", count)), iv(fmt.Sprintf("k%d", count)), iv(fmt.Sprintf("j%d", count))
			place := add(mul(add(mul(s, num(sliced.steps)), k), num(sliced.height)), sub(p, mul(s, num(sliced.height))))
			stmts, sum := reduce(op, k, num(0), num(sliced.steps), ir.Apply(dtype.Min, ir.At(x, place), ir.At(x, j)), let(j, wide(ir.At(held, place))))
			steps := stmts[1].(*ir.For)
			steps.Kind, steps.Ends, steps.Unroll, steps.Within = ir.Serial, true, turns, nil
			steps.Body = block(ir.When(ir.Is(ir.At(held, place), ir.Ge, ir.Number(0, dtype.I32)), steps.Body.Stmts...))
			slice := loop(p, mul(s, num(sliced.height)), minOf(num(sliced.rows), mul(add(s, num(1)), num(sliced.height))), ir.Simd,
				append(stmts, put(result, add(p, num(count)), sum))...)
			slice.Unroll = sliced.height
			body = append(body, loop(s, num(0), num((sliced.rows+sliced.height-1)/sliced.height), ir.Serial, slice))
			count += sliced.rows
		}
	}
	m := &ir.Module{
		Slots: append(vars(n), arrays(x, crd, pos, held, result)...),
		Funcs: []*ir.Func{{Name: "f", Body: block(body...)}},
	}
	return m, []ir.Arg{ir.ScalarArg(70), ir.ArrayArg(values), ir.ArrayArg(coords), ir.ArrayArg(bounds), ir.ArrayArg(places), ir.ArrayArg(ir.NewBuffer(t, int(count)))}
}

// TestReductionsInLanes compares, on reductions: the interpreter before and after the passes, and compiled C with sanitizers.
func TestReductionsInLanes(t *testing.T) {
	types := []dtype.T{dtype.F32, dtype.F64, dtype.I32, dtype.U8}
	for _, width := range []int{16, 32, 64} {
		var modules []*ir.Module
		var args, wants [][]ir.Arg
		for k, elem := range types {
			m, given := reductions(elem, rand.New(rand.NewPCG(uint64(k), uint64(width))))
			want := ir.CloneArgs(given)
			if _, err := ir.Run(m, "f", want); err != nil {
				t.Fatal(elem, err)
			}
			passed := ir.Optimize(m, codegen.Target(width))
			if err := ir.Verify(passed); err != nil {
				t.Fatal(elem, err)
			}
			got := ir.CloneArgs(given)
			if _, err := ir.Run(passed, "f", got); err != nil {
				t.Fatal(elem, err)
			}
			sameArgs(t, m, got, want)
			modules, args, wants = append(modules, passed), append(args, given), append(wants, want)
		}
		unit := crun.CompileUnit(t, modules, crun.Options{Warnings: true, Quick: true, Sanitize: width == 32})
		for k, m := range modules {
			got := ir.CloneArgs(args[k])
			if _, err := unit.Runner(t, k)("f", got); err != nil {
				t.Fatal(err)
			}
			sameArgs(t, m, got, wants[k])
		}
		if err := unit.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
