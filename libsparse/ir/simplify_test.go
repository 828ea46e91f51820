package ir_test

import (
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

func TestSimplifyExpr(t *testing.T) {
	v, f, b := iv("v"), fv("f"), &ir.Var{Name: "b", T: ir.Scalar(dtype.Bool)}
	byteOf := &ir.Var{Name: "byte", T: ir.Scalar(dtype.U8)}
	i8 := func(x int64) ir.Expr { return &ir.Int{Value: x, T: dtype.I8} }
	neg := func(x ir.Expr) ir.Expr { return &ir.Unary{Op: dtype.Neg, X: x} }
	sub := func(x, y ir.Expr) ir.Expr { return bin(dtype.Sub, x, y) }
	for _, c := range []struct {
		e    ir.Expr
		want string
	}{
		{add(v, num(0)), "v"},
		{add(num(0), v), "v"},
		{sub(v, num(0)), "v"},
		{sub(num(0), v), "0 - v"},
		{mul(v, num(1)), "v"},
		{mul(num(0), v), "0"},
		{mul(num(3), num(4)), "12"},
		{add(add(v, num(3)), num(4)), "v + 7"},
		{sub(add(v, num(3)), num(3)), "v"},
		{sub(add(v, num(3)), num(4)), "v - 1"},
		{bin(dtype.Min, num(3), num(4)), "3"},
		{bin(dtype.Div, num(3), num(0)), "3 / 0"},
		{add(i8(127), i8(1)), "-128i8"},
		{neg(i8(-128)), "-128i8"},
		{add(f, f32(0)), "f + 0f32"},
		{mul(f, f32(1)), "f"},
		{mul(f, f32(0)), "f * 0f32"},
		{add(add(f, f32(1)), f32(2)), "f + 1f32 + 2f32"},
		{add(f32(1), f32(2)), "3f32"},
		{cmp(ir.Lt, num(1), num(2)), "true"},
		{cmp(ir.LogAnd, truth(1), b), "b"},
		{cmp(ir.LogAnd, b, truth(0)), "false"},
		{cmp(ir.LogOr, truth(0), b), "b"},
		{cmp(ir.Eq, v, v), "true"},
		{cmp(ir.Lt, byteOf, &ir.Int{T: dtype.U8}), "false"},
		{cmp(ir.Ge, &ir.Cast{X: byteOf, To: dtype.I64}, num(0)), "true"},
		{cmp(ir.Gt, &ir.Cast{X: byteOf, To: dtype.I64}, num(255)), "false"},
		{cmp(ir.Eq, &ir.Cast{X: byteOf, To: dtype.I64}, num(256)), "false"},
		{cmp(ir.Ne, b, truth(0)), "b != false"},
		{cmp(ir.Lt, v, num(0)), "v < 0"},
		{cmp(ir.Eq, f, f), "f == f"},
		{&ir.Select{Cond: truth(0), Then: v, Else: num(2)}, "2"},
		{&ir.Cast{X: v, To: dtype.I64}, "v"},
		{&ir.Cast{X: num(300), To: dtype.U8}, "44u8"},
		{&ir.Cast{X: num(3), To: dtype.F32}, "3f32"},
		{&ir.Cast{X: f32(3), To: dtype.I8}, "i8(3f32)"},
	} {
		if got := ir.ExprText(ir.SimplifyExpr(c.e)); got != c.want {
			t.Errorf("%s became %s, want %s", ir.ExprText(c.e), got, c.want)
		}
	}
}

func TestSimplifyStmt(t *testing.T) {
	v, w := iv("v"), iv("w")
	store := put(y, num(0), f32(1))
	for _, c := range []struct {
		name string
		body []ir.Stmt
		want []string
	}{
		{"if true", []ir.Stmt{&ir.If{Cond: truth(1), Then: block(store)}}, []string{"y[0] = 1f32"}},
		{"if false", []ir.Stmt{&ir.If{Cond: truth(0), Then: block(store)}}, nil},
		{"else of if false", []ir.Stmt{&ir.If{Cond: cmp(ir.Lt, num(2), num(1)), Then: block(), Else: block(store)}}, []string{"y[0] = 1f32"}},
		{"empty if", []ir.Stmt{&ir.If{Cond: cmp(ir.Lt, n, num(1)), Then: block(), Else: block()}}, nil},
		{"empty then", []ir.Stmt{&ir.If{Cond: cmp(ir.Lt, n, num(1)), Then: block(), Else: block(store)}}, []string{"if n >= 1", "  y[0] = 1f32"}},
		{"empty loop", []ir.Stmt{loop(ir.Serial, v, n, &ir.Comment{Text: "nothing"})}, nil},
		{"loop without iterations", []ir.Stmt{loop(ir.Serial, v, num(0), store)}, nil},
		{"loop of one iteration", []ir.Stmt{loop(ir.Serial, v, num(1), put(y, add(v, n), f32(1)))}, []string{"y[n] = 1f32"}},
		{"while false", []ir.Stmt{&ir.While{Cond: truth(0), Body: block(store)}}, nil},
		{"nested blocks", []ir.Stmt{block(block(store), store)}, []string{"y[0] = 1f32", "y[0] = 1f32"}},
		{"unused chain", []ir.Stmt{let(v, n), mut(w, v), set(w, v)}, nil},
		{"used", []ir.Stmt{let(v, n), set(count, v)}, []string{"let v: i64 = n", "count = v"}},
		{"team without work", []ir.Stmt{&ir.Parallel{Threads: n, Body: block(loop(ir.Shared, v, n))}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := text(ir.Simplify(module(c.body...)))
			want := lines(c.want...)
			if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestSimplifyLeavesItsInput(t *testing.T) {
	m := module(loop(ir.Serial, iv("v"), num(1), put(y, add(num(1), num(1)), f32(1))), &ir.If{Cond: truth(1), Then: block()})
	before := m.String()
	ir.Simplify(m)
	ir.Vectorize(m, target(32))
	if m.String() != before {
		t.Error("the module was changed")
	}
}
