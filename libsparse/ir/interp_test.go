package ir_test

import (
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// run verifies and runs f on the shared arguments.
func run(t *testing.T, opts ir.RunOptions, body ...ir.Stmt) ([]ir.Arg, int64, error) {
	t.Helper()
	m, a := module(body...), args()
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	status, err := ir.RunWith(m, "f", a, opts)
	return a, status, err
}

func TestRunStatements(t *testing.T) {
	v, room := iv("v"), iv("room")
	list := &ir.Array{Name: "list", Elem: dtype.I64}
	perm := &ir.Array{Name: "perm", Elem: dtype.I64}
	copyTo := func(from *ir.Array) ir.Stmt { return loop(ir.Serial, iv("c"), n, put(idx, iv("c"), at(from, iv("c")))) }
	for _, c := range []struct {
		name string
		body []ir.Stmt
		want []int64 // idx afterwards
	}{
		{"sort", []ir.Stmt{&ir.Sort{Array: idx, Lo: num(1), Hi: n}}, []int64{9, 6, 7, 8}},
		{"prefix sum", []ir.Stmt{&ir.PrefixSum{Array: idx, Count: n}}, []int64{9, 16, 24, 30}},
		{"fill", []ir.Stmt{&ir.Fill{Array: idx, Count: num(2), Value: num(5)}}, []int64{5, 5, 8, 6}},
		{"while", []ir.Stmt{mut(v, num(0)), &ir.While{Cond: cmp(ir.Lt, v, num(3)), Body: block(
			put(idx, v, v), &ir.Assign{Var: v, Reduce: dtype.Add, Value: num(1)})}}, []int64{0, 1, 2, 6}},
		{"reduction", []ir.Stmt{&ir.Store{Array: idx, Index: num(0), Reduce: dtype.Max, Value: num(20)}}, []int64{20, 7, 8, 6}},
		{"vector", []ir.Stmt{&ir.Store{
			Array: idx, Index: num(0), Lanes: 4, Reduce: dtype.Add,
			Value: mul(num(10), &ir.Load{Array: idx, Index: num(0), Lanes: 4}),
		}}, []int64{99, 77, 88, 66}},
		{"broadcast", []ir.Stmt{&ir.Store{Array: idx, Index: num(1), Lanes: 2, Value: num(3)}}, []int64{9, 3, 3, 6}},
		{"grow", []ir.Stmt{
			mut(room, num(1)), &ir.Alloc{Array: list, Size: room},
			loop(ir.Serial, v, n, &ir.Grow{Array: list, Capacity: room, Size: add(v, num(1))}, put(list, v, mul(v, v))),
			copyTo(list), &ir.Free{Array: list},
		}, []int64{0, 1, 4, 9}},
		{"sort by two keys", []ir.Stmt{
			&ir.Alloc{Array: perm, Size: n},
			loop(ir.Serial, v, n, put(perm, v, v)),
			&ir.SortBy{Perm: perm, Key: crd, Count: n, Extent: num(4)},
			copyTo(perm), &ir.Free{Array: perm},
		}, []int64{3, 1, 2, 0}},
		{"select", []ir.Stmt{put(idx, num(0), &ir.Select{Cond: cmp(ir.Lt, n, num(0)), Then: at(idx, num(99)), Else: num(1)})}, []int64{1, 7, 8, 6}},
		{"short circuit", []ir.Stmt{&ir.If{
			Cond: cmp(ir.LogAnd, cmp(ir.Lt, n, num(0)), cmp(ir.Eq, at(idx, num(99)), n)),
			Then: block(), Else: block(put(idx, num(0), num(2))),
		}}, []int64{2, 7, 8, 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, status, err := run(t, ir.RunOptions{}, c.body...)
			if err != nil || status != 0 || !slices.Equal(a[5].Array.Int, c.want) {
				t.Error(a[5].Array.Int, status, err)
			}
		})
	}
}

func TestRunFaults(t *testing.T) {
	v := iv("v")
	for _, c := range []struct {
		name string
		body []ir.Stmt
		want string
	}{
		{"load", []ir.Stmt{put(y, num(0), at(x, n))}, "index 4 is outside array x of 4 elements"},
		{"negative", []ir.Stmt{put(y, num(-1), f32(0))}, "index -1 is outside array y"},
		{"vector", []ir.Stmt{&ir.Store{Array: y, Index: num(2), Lanes: 4, Value: f32(0)}}, "range 2:6 is outside array y"},
		{"fill", []ir.Stmt{&ir.Fill{Array: y, Count: num(9), Value: f32(0)}}, "range 0:9"},
		{"negative count", []ir.Stmt{&ir.PrefixSum{Array: idx, Count: num(-2)}}, "range 0:-2"},
		{"division", []ir.Stmt{put(idx, num(0), bin(dtype.Div, n, num(0)))}, "division by zero"},
		{"no end", []ir.Stmt{&ir.While{Cond: truth(1), Body: block()}}, "too many steps"},
		{"no permutation", []ir.Stmt{&ir.SortBy{Perm: idx, Key: crd, Count: n, Extent: num(4)}}, "no permutation"},
		{"chunk", []ir.Stmt{&ir.Parallel{Threads: n, Body: block(&ir.For{
			Var: v, Lo: num(0), Hi: n, Step: 1, Kind: ir.Shared, Chunk: num(0), Body: block(),
		})}}, "chunk of 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := run(t, ir.RunOptions{MaxSteps: 1000}, c.body...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestRunOutScalar(t *testing.T) {
	a, status, err := run(t, ir.RunOptions{}, set(count, num(7)), &ir.Return{Value: num(0)}, set(count, num(8)))
	if *a[1].Scalar != 7 || status != 0 || err != nil {
		t.Error(*a[1].Scalar, status, err)
	}
	a, status, err = run(t, ir.RunOptions{}, set(count, num(7)), loop(ir.Serial, iv("v"), n, &ir.Return{Value: num(2)}))
	if *a[1].Scalar != 0 || status != 2 || err != nil {
		t.Error("a failed function wrote back:", *a[1].Scalar, status, err)
	}
}

// TestRunShuffled finds that iterations depend on one another.
func TestRunShuffled(t *testing.T) {
	v := iv("v")
	race := &ir.Parallel{Threads: n, Body: block(loop(ir.Shared, v, n, put(idx, num(0), v)))}
	last := map[int64]bool{}
	for seed := range uint64(20) {
		a, _, err := run(t, ir.RunOptions{Shuffle: seed}, race)
		if err != nil {
			t.Fatal(err)
		}
		last[a[5].Array.Int[0]] = true
	}
	if len(last) < 2 {
		t.Error("the order never mattered")
	}
}

func TestArithmetic(t *testing.T) {
	in := func(t dtype.T, x int64) ir.Expr { return &ir.Int{Value: x, T: t} }
	for _, c := range []struct {
		e    ir.Expr
		want ir.Expr
	}{
		{add(in(dtype.I8, 127), in(dtype.I8, 1)), in(dtype.I8, -128)},
		{mul(in(dtype.U8, 16), in(dtype.U8, 17)), in(dtype.U8, 16)},
		{add(in(dtype.I32, 1<<31-1), in(dtype.I32, 1)), in(dtype.I32, -1<<31)},
		{add(truth(1), truth(1)), truth(1)},
		{bin(dtype.And, f32(2), f32(3)), f32(1)},
		{bin(dtype.Or, in(dtype.I16, 0), in(dtype.I16, 0)), in(dtype.I16, 0)},
		{add(f32(1<<24), f32(1)), f32(1 << 24)},
		{&ir.Cast{X: in(dtype.I64, 1<<24+1), To: dtype.F32}, f32(1 << 24)},
		{&ir.Cast{X: in(dtype.I16, 300), To: dtype.Bool}, truth(1)},
		{&ir.Unary{Op: dtype.Neg, X: in(dtype.U8, 1)}, in(dtype.U8, 255)},
	} {
		if got, want := ir.ExprText(ir.SimplifyExpr(c.e)), ir.ExprText(c.want); got != want {
			t.Errorf("%s = %s, want %s", ir.ExprText(c.e), got, want)
		}
	}
}
