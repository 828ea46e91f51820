package ir_test

import (
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

func TestVerify(t *testing.T) {
	v, w := iv("v"), iv("w")
	heap := &ir.Array{Name: "heap", Elem: dtype.F32}
	team := func(body ...ir.Stmt) ir.Stmt { return &ir.Parallel{Threads: n, Body: block(body...)} }
	for _, c := range []struct {
		name string
		body []ir.Stmt
		want string // a part of the error, or "" for none
	}{
		{"empty", nil, ""},
		{"widths of integers", []ir.Stmt{let(v, at(crd, n)), put(idx, v, at(crd, v))}, ""},
		{"undeclared", []ir.Stmt{put(y, v, f32(0))}, "variable v: i64 is not in scope"},
		{"out of its block", []ir.Stmt{block(let(v, n)), set(count, v)}, "variable v: i64 is not in scope"},
		{"loop variable after its loop", []ir.Stmt{loop(ir.Serial, v, n, set(count, v)), set(count, v)}, "not in scope"},
		{"declared twice", []ir.Stmt{block(let(v, n)), block(let(v, n))}, "v is declared twice"},
		{"used in its own declaration", []ir.Stmt{let(v, v)}, "not in scope"},
		{"constant", []ir.Stmt{let(v, n), set(v, n)}, "v is constant"},
		{"slot", []ir.Stmt{set(n, num(1))}, "n is constant"},
		{"loop variable", []ir.Stmt{loop(ir.Serial, v, n, set(v, n))}, "v is constant"},
		{"read-only array", []ir.Stmt{put(x, n, f32(0))}, "array x is read-only"},
		{"read-only array sorted", []ir.Stmt{&ir.Sort{Array: crd, Lo: num(0), Hi: n}}, "read-only"},
		{"unknown array", []ir.Stmt{put(heap, n, f32(0))}, "array heap: f32[] is not in scope"},
		{"mixed operands", []ir.Stmt{put(idx, n, add(at(crd, n), n))}, "operands i32 and i64"},
		{"float to integer", []ir.Stmt{put(idx, n, f32(1))}, "expected i64"},
		{"float index", []ir.Stmt{put(y, f32(1), f32(1))}, "expected an integer"},
		{"integer condition", []ir.Stmt{&ir.If{Cond: n, Then: block()}}, "expected a boolean"},
		{"reduction by sub of booleans", []ir.Stmt{
			mut(&ir.Var{Name: "b", T: ir.Scalar(dtype.Bool)}, truth(0)),
			&ir.Assign{Var: &ir.Var{Name: "b", T: ir.Scalar(dtype.Bool)}, Reduce: dtype.Sub, Value: truth(1)},
		}, "sub does not apply to bool"},
		{"first", []ir.Stmt{put(idx, n, bin(dtype.First, n, n))}, "no binary operator"},
		{"wide literal", []ir.Stmt{put(idx, n, &ir.Int{Value: 200, T: dtype.I8})}, "does not fit i8"},
		{"step 0", []ir.Stmt{&ir.For{Var: v, Lo: num(0), Hi: n, Body: block()}}, "step of loop v is 0"},
		{"shared alone", []ir.Stmt{loop(ir.Shared, v, n)}, "not directly in a parallel region"},
		{"shared in shared", []ir.Stmt{team(loop(ir.Shared, v, n, loop(ir.Shared, w, n)))}, "not directly"},
		{"shared", []ir.Stmt{team(loop(ir.Shared, v, n))}, ""},
		{"region in region", []ir.Stmt{team(team())}, "inside another"},
		{"return from a region", []ir.Stmt{team(&ir.Return{Value: num(0)})}, "return inside"},
		{"race on an outer variable", []ir.Stmt{mut(v, num(0)), team(set(v, n))}, "declared outside"},
		{"private variable", []ir.Stmt{team(mut(v, num(0)), set(v, n))}, ""},
		{"never freed", []ir.Stmt{&ir.Alloc{Array: heap, Size: n}}, "heap is not freed"},
		{"freed by return", []ir.Stmt{&ir.Alloc{Array: heap, Size: n}, &ir.Return{Value: num(1)}}, ""},
		{"freed in another block", []ir.Stmt{&ir.Alloc{Array: heap, Size: n}, block(&ir.Free{Array: heap})}, "not a heap array of this block"},
		{"used after free", []ir.Stmt{&ir.Alloc{Array: heap, Size: n}, &ir.Free{Array: heap}, put(heap, n, f32(0))}, "after it is freed"},
		{"lanes by numbers", []ir.Stmt{&ir.Store{Array: y, Index: n, Value: &ir.Where{
			X: &ir.Load{Array: y, Index: n, Lanes: 4}, Of: &ir.Load{Array: x, Index: n, Lanes: 4}, Else: &ir.Load{Array: y, Index: n, Lanes: 4},
		}}}, "chooses lanes by f32x4"},
		{"lanes of different vectors", []ir.Stmt{&ir.Store{Array: y, Index: n, Value: &ir.Head{
			X: &ir.Load{Array: y, Index: n, Lanes: 4}, Count: n, Else: &ir.Load{Array: y, Index: n, Lanes: 8},
		}}}, "has a vector of f32x4 and f32x8"},
		{"grown stack array", []ir.Stmt{mut(v, num(4)), &ir.Alloc{Array: heap, Size: num(4)}, &ir.Grow{Array: heap, Capacity: v, Size: n}}, "not a heap array"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := ir.Verify(module(c.body...))
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "func f")):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
