package codegen_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// TestSort sorts ranges of every integer type: short and long ones, in order, reversed, equal, and with the extremes.
func TestSort(t *testing.T) {
	n := iv("n")
	m := &ir.Module{Slots: vars(n), Funcs: []*ir.Func{{Name: "f", Body: block()}}}
	types := []dtype.T{dtype.U8, dtype.I16, dtype.I32, dtype.I64}
	for _, elem := range types {
		a := out("a_"+string(elem), elem)
		m.Slots = append(m.Slots, ir.Slot{Array: a})
		m.Funcs[0].Body.Stmts = append(m.Funcs[0].Body.Stmts, &ir.Sort{Array: a, Lo: num(0), Hi: n})
	}
	p := crun.Compile(t, m, crun.Options{Sanitize: true, Warnings: true})
	rng := rand.New(rand.NewPCG(5, 6))
	for _, length := range []int{0, 1, 2, 24, 25, 500} {
		for name, value := range map[string]func(i int) int64{
			"random":    func(int) int64 { return rng.Int64() },
			"few":       func(int) int64 { return rng.Int64N(3) - 1 },
			"ascending": func(i int) int64 { return int64(i / 4) },
			"falling":   func(i int) int64 { return int64(-i / 4) },
			"skewed":    func(i int) int64 { return math.MinInt64 >> (i % 64) },
			"extremes":  func(i int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0}[i%3] },
		} {
			args := []ir.Arg{ir.ScalarArg(int64(length))}
			var want [][]int64
			for _, elem := range types {
				values := make([]int64, length)
				for i := range values {
					values[i] = value(i)
				}
				b := ir.Ints(elem, values...)
				args = append(args, ir.ArrayArg(b))
				want = append(want, slices.Sorted(slices.Values(b.Int)))
			}
			p.Run(t, []string{"f"}, args)
			for i, elem := range types {
				if !slices.Equal(args[i+1].Array.Int, want[i]) {
					t.Errorf("%s, %d of %s: got %v", name, length, elem, args[i+1].Array.Int)
				}
			}
		}
	}
}

// TestEmptyBranch writes only the branch that does something, and compares NaN right.
func TestEmptyBranch(t *testing.T) {
	x, y, got := in("x", dtype.F32), in("k", dtype.I32), out("got", dtype.I32)
	yes := &ir.Int{Value: 1, T: dtype.I32}
	zero := &ir.Int{T: dtype.I32}
	less := &ir.Compare{Op: ir.Lt, X: &ir.Load{Array: x, Index: num(0)}, Y: &ir.Float{T: dtype.F32}}
	small := &ir.Compare{Op: ir.Lt, X: &ir.Load{Array: y, Index: num(0)}, Y: &ir.Int{Value: 5, T: dtype.I32}}
	either := &ir.Compare{Op: ir.LogOr, X: less, Y: small}
	var stmts []ir.Stmt
	for i, c := range []ir.Expr{less, small, either, and(less, small)} {
		stmts = append(stmts, put(got, num(int64(i)), zero), &ir.If{Cond: c, Then: block(), Else: block(put(got, num(int64(i)), yes))})
	}
	stmts = append(stmts, put(got, num(4), zero), &ir.If{Cond: small, Then: block(), Else: &ir.If{Cond: less, Then: block(), Else: block(put(got, num(4), yes))}})
	m := &ir.Module{Slots: arrays(x, y, got), Funcs: []*ir.Func{{Name: "f", Body: block(stmts...)}}}
	p := crun.Compile(t, m, crun.Options{Warnings: true})
	for _, number := range []float64{math.NaN(), -1, 0, 1} {
		for _, k := range []int64{4, 5} {
			args := []ir.Arg{ir.ArrayArg(ir.Floats(dtype.F32, number)), ir.ArrayArg(ir.Ints(dtype.I32, k)), ir.ArrayArg(ir.NewBuffer(dtype.I32, 5))}
			want := ir.CloneArgs(args)
			if _, err := ir.Run(m, "f", want); err != nil {
				t.Fatal(err)
			}
			p.Run(t, []string{"f"}, args)
			sameArgs(t, m, args, want)
		}
	}
	golden(t, "testdata/branches.c", emitted(t, m))
}
