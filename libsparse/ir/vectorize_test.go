package ir_test

import (
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// target has vectors of so many bytes, of everything but booleans.
type target int

func (t target) VectorBytes() int                         { return int(t) }
func (t target) Vectorizes(_ dtype.Op, elem dtype.T) bool { return elem != dtype.Bool }

func TestVectorize(t *testing.T) {
	v, f := iv("v"), fv("f")
	bytes := &ir.Array{Name: "bytes", Elem: dtype.Bool}
	doubles := &ir.Array{Name: "doubles", Elem: dtype.F64}
	accumulate := &ir.Store{Array: y, Index: v, Reduce: dtype.Add, Value: mul(f, at(x, add(mul(n, num(64)), v)))}
	scale := put(y, add(add(n, v), num(1)), mul(f, at(x, add(v, n))))
	same := func(body string) []string { return []string{"for v = 0 .. 16 simd", "  " + body} }
	for _, c := range []struct {
		name  string
		trip  int64
		body  []ir.Stmt
		bytes int
		want  []string
	}{
		{
			"whole vectors", 64,
			[]ir.Stmt{accumulate},
			32,
			[]string{"for v = 0 .. 64 step 8 unrolled", "  y[v :8] += f * x[n * 64 + v :8]"},
		},
		{
			"narrow vectors", 64,
			[]ir.Stmt{accumulate},
			16,
			[]string{"for v = 0 .. 64 step 4 unrolled", "  y[v :4] += f * x[n * 64 + v :4]"},
		},
		{
			"a rest of every width", 7,
			[]ir.Stmt{put(y, v, f32(0))},
			32,
			[]string{"y[0 :4] = 0f32", "y[4 :2] = 0f32", "y[6] = 0f32"},
		},
		{
			"long loop", 1024,
			[]ir.Stmt{accumulate},
			32,
			[]string{"for v = 0 .. 1024 step 8", "  y[v :8] += f * x[n * 64 + v :8]"},
		},
		{"indices in chains", 8, []ir.Stmt{scale}, 32, []string{"y[n + 1 :8] = f * x[n :8]"}},
		{
			"two stores", 4,
			[]ir.Stmt{accumulate, scale},
			32,
			[]string{"y[0 :4] += f * x[n * 64 :4]", "y[n + 1 :4] = f * x[n :4]"},
		},
		{
			"mixed sizes", 8,
			[]ir.Stmt{put(y, v, &ir.Cast{X: mul(&ir.Cast{X: at(x, v), To: dtype.F64}, at(doubles, v)), To: dtype.F32})},
			32,
			[]string{"for v = 0 .. 8 step 4 unrolled", "  y[v :4] = f32(f64(x[v :4]) * doubles[v :4])"},
		},
		{
			"values of comparisons", 10,
			[]ir.Stmt{put(y, v, mul(f, &ir.Cast{X: ir.Is(at(x, v), ir.Le, f), To: dtype.F32}))},
			32,
			[]string{"y[0 :8] = f * le(x[0 :8], f)", "y[8 :2] = f * le(x[8 :2], f)"},
		},
		{
			"a comparison of another size", 4,
			[]ir.Stmt{put(y, v, &ir.Cast{X: ir.Is(at(doubles, v), ir.Eq, ir.Number(0, dtype.F64)), To: dtype.F32})},
			32,
			[]string{"y[0 :4] = f32(eq(doubles[0 :4], 0f64))"},
		},
		{"stride", 16, []ir.Stmt{put(y, mul(v, num(2)), f)}, 32, same("y[v * 2] = f")},
		{"gather", 16, []ir.Stmt{put(y, v, at(x, at(idx, v)))}, 32, same("y[v] = x[idx[v]]")},
		{"its own number", 16, []ir.Stmt{put(idx, v, v)}, 32, same("idx[v] = v")},
		{"booleans", 16, []ir.Stmt{put(bytes, v, truth(1))}, 32, same("bytes[v] = true")},
		{"nowhere", 16, []ir.Stmt{put(y, n, at(x, v))}, 32, same("y[n] = x[v]")},
		{"a sum", 16, []ir.Stmt{&ir.Assign{Var: f, Reduce: dtype.Add, Value: at(x, v)}}, 32, same("f += x[v]")},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := module(loop(ir.Simd, v, num(c.trip), c.body...))
			if got, want := text(ir.Vectorize(m, target(c.bytes))), lines(c.want...); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestVectorizeUpToAnEnd(t *testing.T) {
	v, f := iv("v"), fv("f")
	accumulate := &ir.Store{Array: y, Index: v, Reduce: dtype.Add, Value: mul(f, at(x, v))}
	for _, c := range []struct {
		end  *ir.Var
		body []ir.Stmt
		want []string
	}{
		{
			between(9, 15),
			[]ir.Stmt{accumulate},
			[]string{"let y_lanes: f32x8 = y[0 :8] + f * x[0 :8]", "let y_lanes_2: f32x8 = y[m - 8 :8] + f * x[m - 8 :8]", "y[0 :8] = y_lanes", "y[m - 8 :8] = y_lanes_2"},
		},
		{between(4, 4), []ir.Stmt{put(y, v, f)}, []string{"y[0 :4] = f"}},
		{between(3, 4), []ir.Stmt{put(y, v, at(x, v))}, []string{"let y_lanes: f32x2 = x[0 :2]", "let y_lanes_2: f32x2 = x[m - 2 :2]", "y[0 :2] = y_lanes", "y[m - 2 :2] = y_lanes_2"}},
		{between(9, 20), []ir.Stmt{accumulate}, []string{"for v = 0 .. m simd", "  y[v] += f * x[v]"}},
		{between(9, 15), []ir.Stmt{put(y, v, f)}, []string{"for v = 0 .. m simd", "  y[v] = f"}},
		{between(9, 15), []ir.Stmt{accumulate, put(x, v, f)}, []string{"for v = 0 .. m simd", "  y[v] += f * x[v]", "  x[v] = f"}},
	} {
		m := module(loop(ir.Simd, v, c.end, c.body...))
		if got, want := text(ir.Vectorize(m, target(32))), lines(c.want...); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// TestVectorizeChoices has loops of an unknown length choose among floats on vectors, and others left alone.
func TestVectorizeChoices(t *testing.T) {
	v, f := iv("v"), fv("f")
	for _, c := range []struct {
		cond ir.Expr
		want bool
	}{
		{ir.Is(at(x, v), ir.Lt, f), true},
		{ir.Is(v, ir.Lt, n), false}, // which may say where an arm may be loaded
	} {
		chosen := &ir.Select{Cond: c.cond, Then: f32(0), Else: at(x, v)}
		got := text(ir.Vectorize(module(loop(ir.Serial, v, n, put(y, v, chosen))), target(32)))
		if strings.Contains(got, " :8] = where(") != c.want {
			t.Error(got)
		}
	}
}

func TestVectorizeLeavesOtherLoops(t *testing.T) {
	v := iv("v")
	for _, l := range []*ir.For{
		loop(ir.Serial, v, num(16), put(y, v, f32(0))),
		loop(ir.Simd, v, n, put(y, v, f32(0))),
		{Var: v, Lo: num(1), Hi: num(9), Step: 1, Kind: ir.Simd, Body: block(put(y, v, f32(0)))},
		{Var: v, Lo: num(0), Hi: num(16), Step: 2, Kind: ir.Simd, Body: block(put(y, v, f32(0)))},
	} {
		m := module(l)
		if got := text(ir.Vectorize(m, target(32))); got != text(m) {
			t.Error(got)
		}
	}
}
