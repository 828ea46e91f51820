package ir_test

import (
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// TestFuse has two strips read the entries of a row in one loop, and leaves lists alone whose loops differ.
func TestFuse(t *testing.T) {
	crd := &ir.Array{Name: "crd", Elem: dtype.I64}
	x := &ir.Array{Name: "x", Elem: dtype.F64}
	strip := func(name string, begin, hi ir.Expr) []ir.Stmt {
		p, j := &ir.Var{Name: name + "_p", T: ir.Type{Elem: dtype.I64}}, &ir.Var{Name: name + "_j", T: ir.Type{Elem: dtype.I64}}
		w := &ir.Array{Name: name, Elem: dtype.F64}
		return []ir.Stmt{
			ir.Put(w, ir.Const(0), ir.Number(0, dtype.F64)),
			ir.Do(ir.Loop(p, ir.Const(0), hi,
				ir.Let(j, ir.At(crd, p)),
				ir.Update(w, ir.Const(0), dtype.Add, ir.At(x, ir.Add(j, begin))))),
			ir.Put(x, begin, ir.At(w, ir.Const(0))),
		}
	}
	both, ok := ir.Fuse(strip("a", ir.Const(0), ir.Const(9)), strip("b", ir.Const(5), ir.Const(9)))
	if !ok {
		t.Fatal("strips with one loop are not fused")
	}
	const want = `block
  a[0] = 0f64
  b[0] = 0f64
  for a_p = 0 .. 9
    let a_j: i64 = crd[a_p]
    a[0] += x[a_j + 0]
    b[0] += x[a_j + 5]
  x[0] = a[0]
  x[5] = b[0]
`
	if got := ir.StmtText(ir.Do(both...)); got != want {
		t.Errorf("fused as\n%s, want\n%s", got, want)
	}
	if _, ok := ir.Fuse(strip("a", ir.Const(0), ir.Const(9)), strip("b", ir.Const(5), ir.Const(8))); ok {
		t.Error("loops with other bounds are fused")
	}
}
