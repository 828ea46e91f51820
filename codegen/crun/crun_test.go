package crun_test

import (
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// TestTransfer copies an array of every type through a compiled function.
func TestTransfer(t *testing.T) {
	i := func(name string) *ir.Var { return &ir.Var{Name: name, T: ir.Index} }
	n, count := i("n"), i("count")
	m := &ir.Module{Slots: []ir.Slot{{Var: n}, {Var: count, Out: true}}}
	args := []ir.Arg{ir.ScalarArg(3), ir.ScalarArg(0)}
	var body []ir.Stmt
	for _, elem := range dtype.All() {
		from := &ir.Array{Name: "from_" + string(elem), Elem: elem, ReadOnly: true}
		to := &ir.Array{Name: "to_" + string(elem), Elem: elem}
		m.Slots = append(m.Slots, ir.Slot{Array: from}, ir.Slot{Array: to})
		values := ir.Ints(elem, 1, 0, -1)
		if elem.IsFloat() {
			values = ir.Floats(elem, 0.1, -2, 1e30)
		}
		if elem.IsComplex() {
			values = ir.NewBuffer(elem, 3)
			values.Complex[1] = complex(2, -3)
		}
		args = append(args, ir.ArrayArg(values), ir.ArrayArg(ir.NewBuffer(elem, 3)))
		v := i("v_" + string(elem))
		body = append(body, &ir.For{
			Var: v, Lo: &ir.Int{T: dtype.I64}, Hi: n, Step: 1,
			Body: &ir.Block{Stmts: []ir.Stmt{&ir.Store{Array: to, Index: v, Value: &ir.Load{Array: from, Index: v}}}},
		})
	}
	body = append(body, &ir.Assign{Var: count, Value: &ir.Int{Value: -5, T: dtype.I64}})
	m.Funcs = []*ir.Func{{Name: "f", Body: &ir.Block{Stmts: body}}}
	if status := crun.Run(t, m, []string{"f"}, args); status != 0 || *args[1].Scalar != -5 {
		t.Fatal(status, *args[1].Scalar)
	}
	for k := 2; k < len(args); k += 2 {
		from, to := args[k].Array, args[k+1].Array
		for e := range 3 {
			if from.At(e) != to.At(e) {
				t.Error(from, to)
			}
		}
	}
}
