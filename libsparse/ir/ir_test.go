package ir_test

import (
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Short names for building modules by hand.

func iv(name string) *ir.Var       { return &ir.Var{Name: name, T: ir.Index} }
func fv(name string) *ir.Var       { return &ir.Var{Name: name, T: ir.Scalar(dtype.F32)} }
func num(x int64) *ir.Int          { return &ir.Int{Value: x, T: dtype.I64} }
func f32(x float64) *ir.Float      { return &ir.Float{Value: x, T: dtype.F32} }
func truth(x int64) *ir.Int        { return &ir.Int{Value: x, T: dtype.Bool} }
func block(s ...ir.Stmt) *ir.Block { return &ir.Block{Stmts: s} }

func bin(op dtype.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y} }
func add(x, y ir.Expr) ir.Expr              { return bin(dtype.Add, x, y) }
func mul(x, y ir.Expr) ir.Expr              { return bin(dtype.Mul, x, y) }
func cmp(op ir.Cmp, x, y ir.Expr) ir.Expr   { return &ir.Compare{Op: op, X: x, Y: y} }
func at(a *ir.Array, i ir.Expr) ir.Expr     { return &ir.Load{Array: a, Index: i} }
func put(a *ir.Array, i, x ir.Expr) ir.Stmt { return &ir.Store{Array: a, Index: i, Value: x} }
func set(v *ir.Var, x ir.Expr) ir.Stmt      { return &ir.Assign{Var: v, Value: x} }
func let(v *ir.Var, x ir.Expr) ir.Stmt      { return &ir.Decl{Var: v, Init: x, Const: true} }
func mut(v *ir.Var, x ir.Expr) ir.Stmt      { return &ir.Decl{Var: v, Init: x} }

func loop(kind ir.LoopKind, v *ir.Var, hi ir.Expr, body ...ir.Stmt) *ir.For {
	return &ir.For{Var: v, Lo: num(0), Hi: hi, Step: 1, Kind: kind, Body: block(body...)}
}

// Slots that the tests share.
var (
	n     = iv("n")
	count = iv("count")
	crd   = &ir.Array{Name: "crd", Elem: dtype.I32, ReadOnly: true}
	x     = &ir.Array{Name: "x", Elem: dtype.F32, ReadOnly: true}
	y     = &ir.Array{Name: "y", Elem: dtype.F32}
	idx   = &ir.Array{Name: "idx", Elem: dtype.I64}
)

// module has the shared slots and one function f of the given statements.
func module(body ...ir.Stmt) *ir.Module {
	return &ir.Module{
		Slots: []ir.Slot{{Var: n}, {Var: count, Out: true}, {Array: crd}, {Array: x}, {Array: y}, {Array: idx}},
		Funcs: []*ir.Func{{Name: "f", Body: block(body...)}},
	}
}

func args() []ir.Arg {
	return []ir.Arg{
		ir.ScalarArg(4), ir.ScalarArg(0),
		ir.ArrayArg(ir.Ints(dtype.I32, 3, 1, 2, 0)), ir.ArrayArg(ir.Floats(dtype.F32, 0.5, 1.5, 2.5, 3.5)),
		ir.ArrayArg(ir.NewBuffer(dtype.F32, 4)), ir.ArrayArg(ir.Ints(dtype.I64, 9, 7, 8, 6)),
	}
}

// text is the body of f in m.
func text(m *ir.Module) string {
	_, body, _ := strings.Cut(m.Funcs[0].String(), "\n")
	return body
}

// lines is want without the indentation of the Go source, as text prints it.
func lines(want ...string) string {
	if len(want) == 0 {
		return ""
	}
	return "  " + strings.Join(want, "\n  ") + "\n"
}

func TestExprText(t *testing.T) {
	a, b, c := iv("a"), iv("b"), iv("c")
	for _, e := range []struct {
		e    ir.Expr
		want string
	}{
		{add(add(a, b), c), "a + b + c"},
		{add(a, add(b, c)), "a + (b + c)"},
		{mul(add(a, b), c), "(a + b) * c"},
		{bin(dtype.Min, a, mul(b, c)), "min(a, b * c)"},
		{&ir.Unary{Op: dtype.Neg, X: add(a, b)}, "-(a + b)"},
		{cmp(ir.LogOr, cmp(ir.LogAnd, cmp(ir.Lt, a, b), truth(1)), truth(0)), "a < b && true || false"},
		{&ir.Select{Cond: cmp(ir.Eq, a, b), Then: num(1), Else: num(-2)}, "a == b ? 1 : -2"},
		{&ir.Cast{X: at(crd, a), To: dtype.I64}, "i64(crd[a])"},
		{&ir.Load{Array: x, Index: a, Lanes: 8}, "x[a :8]"},
		{&ir.Head{X: &ir.Load{Array: x, Index: a, Lanes: 4}, Count: b, Else: &ir.Load{Array: y, Index: a, Lanes: 4}}, "head(x[a :4], b, y[a :4])"},
		{&ir.Where{X: &ir.Load{Array: x, Index: a, Lanes: 4}, Of: &ir.Load{Array: crd, Index: a, Lanes: 4}, Else: &ir.Load{Array: y, Index: a, Lanes: 4}}, "where(x[a :4], crd[a :4], y[a :4])"},
		{f32(1.5), "1.5f32"},
	} {
		if got := ir.ExprText(e.e); got != e.want {
			t.Errorf("%q, want %q", got, e.want)
		}
	}
}
