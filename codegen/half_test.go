package codegen_test

import (
	"fmt"
	"math"
	"testing"

	"libsparse/codegen"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// conversions converts arrays of n elements in three ways: element by element, in a loop for the C compiler to make
// vector code of, and with explicit vectors.
func conversions(from, to dtype.T, n int64) *ir.Module {
	source := in("source", from)
	m := &ir.Module{Slots: arrays(source), Funcs: []*ir.Func{{Name: "f", Body: block()}}}
	for i, hi := range []ir.Expr{num(n), iv("n"), num(n)} {
		target, v := out(fmt.Sprint("target", i), to), iv(fmt.Sprint("v", i))
		kind := []ir.LoopKind{ir.Serial, ir.Simd, ir.Simd}[i]
		convert := put(target, v, &ir.Cast{X: &ir.Load{Array: source, Index: v}, To: to})
		m.Slots = append(m.Slots, ir.Slot{Array: target})
		m.Funcs[0].Body.Stmts = append(m.Funcs[0].Body.Stmts, loop(v, num(0), hi, kind, convert))
	}
	m.Slots = append(m.Slots, vars(iv("n"))...)
	return m
}

// TestHalves converts every half to float, and floats at and around every half and every tie back, with the
// instructions of this machine and without.
func TestHalves(t *testing.T) {
	for _, half := range []dtype.T{dtype.F16, dtype.BF16} {
		every, near := ir.NewBuffer(half, 1<<16), ir.NewBuffer(dtype.F32, 5<<16)
		for bits := range 1 << 16 {
			x := dtype.FromHalfBits(half, uint16(bits))
			every.Float[bits] = float64(x)
			tie := math.Float32bits(x) + 1<<(map[dtype.T]int{dtype.F16: 12, dtype.BF16: 15}[half])
			if abs := math.Abs(float64(x)); half == dtype.F16 && abs < 0x1p-14 {
				tie = math.Float32bits(float32(math.Copysign(abs+0x1p-25, float64(x))))
			}
			floats := []uint32{math.Float32bits(x), tie - 1, tie, tie + 1, math.Float32bits(x) + 1}
			for k, f := range floats {
				near.Float[5*bits+k] = float64(math.Float32frombits(f))
			}
		}
		for _, c := range []struct {
			from, to dtype.T
			source   *ir.Buffer
		}{{half, dtype.F32, every}, {dtype.F32, half, near}} {
			sameInAllWays(t, c.from, c.to, c.source)
		}
	}
}

// TestNarrowIntegers converts integers of one and two bytes to wider types, twofold at a time where there are vectors.
func TestNarrowIntegers(t *testing.T) {
	for _, from := range []dtype.T{dtype.I8, dtype.U8, dtype.I16} {
		source := ir.NewBuffer(from, 300)
		for n := range source.Int {
			source.Int[n] = int64(n % 128)
			if from != dtype.U8 && n%2 == 1 {
				source.Int[n] -= 128
			}
		}
		for _, to := range []dtype.T{dtype.I32, dtype.I64, dtype.F32, dtype.F64} {
			sameInAllWays(t, from, to, source)
		}
	}
}

// sameInAllWays compares conversions of arrays, with the instructions of this machine and without, with the interpreter's.
func sameInAllWays(t *testing.T, from, to dtype.T, source *ir.Buffer) {
	t.Helper()
	n := source.Len()
	m := conversions(from, to, int64(n))
	args := []ir.Arg{ir.ArrayArg(source)}
	for range 3 {
		args = append(args, ir.ArrayArg(ir.NewBuffer(to, n)))
	}
	args = append(args, ir.ScalarArg(int64(n)))
	want := ir.CloneArgs(args)
	if _, err := ir.Run(m, "f", want); err != nil {
		t.Fatal(err)
	}
	for _, width := range []codegen.Target{16, 32, 64} {
		for _, plain := range []bool{false, true} {
			got := ir.CloneArgs(args)
			crun.Compile(t, ir.Vectorize(m, width), crun.Options{Warnings: true, Optimize: true, Plain: plain}).Run(t, []string{"f"}, got)
			sameArgs(t, m, got, want)
		}
	}
}
