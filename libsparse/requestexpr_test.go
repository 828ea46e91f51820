package libsparse

import (
	"strings"
	"testing"

	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lower"
)

func one(text, body, region string) Function {
	name, params, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	return Function{Name: name, Params: strings.Split(params, ","), Cases: []index.CaseText{{Body: body, Region: region}}}
}

// TestRequestsThatMeanNothing are refused with a message that says what is wrong.
func TestRequestsThatMeanNothing(t *testing.T) {
	vector := func(name string) Operand {
		return Operand{Name: name, Format: "s", Dtype: "f32", Shape: []int64{64}, NNZ: 8}
	}
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{Expr: "y(i) = f(a(i))", Functions: []Function{one("sqrt(x)", "x", "")}}, "can't be called \"sqrt\""},
		{Request{Expr: "y(i) = f(a(i))", Functions: []Function{one("f(x,x)", "x", "")}}, "a parameter of f"},
		{Request{Expr: "y(i) = f(a(i))", Functions: []Function{one("f(x)", "x + z", "")}}, "z is neither a parameter nor a function"},
		{Request{Expr: "y(i) = f(a(i))", Functions: []Function{one("f(x)", "f(x)", "")}}, "f is neither a parameter"},
		{Request{Expr: "y(i) = f(a(i))", Functions: []Function{one("f(x)", "x", "x & w")}}, "expected an argument"},
		{Request{Expr: "y(i) = f(a(i))", Functions: []Function{one("f(a,b,c,d,e,g,h)", "a", "")}}, "7 parameters"},
		{Request{Expr: "y(i) = f(a(i), 1)", Functions: []Function{one("f(x)", "x", "")}}, "f takes 1 arguments"},
		{Request{Expr: "y(i) = f(a(i))", Functions: []Function{{Name: "f", Params: []string{"x"}}}}, "no body"},
		{Request{Expr: "y(i) = a(i(8:2))"}, "no range"},
		{Request{Expr: "y(i) = a(i(0:8:0))"}, "no range"},
		{Request{Expr: "y(i(0:4)) = a(i(0:8))"}, "has 8 coordinates"},
		{Request{Expr: "y(i) mod= a(i)"}, "a reduction such as"},
		{Request{Expr: "y(i) = a(i)", Reduce: "pow"}, "no reduction \"pow\""},
		{Request{Expr: "y(i) = a(i)", Combine: "sqrt"}, "no operator \"sqrt\""},
		{Request{Expr: "t(i) = a(i); y(i) = t(i) * t(i)"}, "read twice"},
	} {
		c.r.Operands = []Operand{vector("a")}
		if _, err := Lower(&c.r, avx2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: got %v, want %q", c.r.Expr, c.r.Functions, err, c.want)
		}
	}
}

// TestWindowsAreGuarded runs a kernel on a tensor that is shorter than its window.
func TestWindowsAreGuarded(t *testing.T) {
	r := &Request{Expr: "y(i) = a(i(2:40))", Operands: []Operand{{Name: "a", Format: "d", Dtype: "f32", Shape: []int64{33}}}}
	s, err := Lower(r, avx2)
	if err != nil {
		t.Fatal(err)
	}
	for extent, want := range map[int64]int64{39: lower.WrongSize, 40: ir.OK} {
		args := make([]ir.Arg, len(s.Nests[0].Kernel.Layout))
		for i, slot := range s.Nests[0].Kernel.Layout {
			switch slot.Kind {
			case "threads":
				args[i] = ir.ScalarArg(1)
			case "extent":
				args[i] = ir.ScalarArg(38)
			case "mode":
				args[i] = ir.ScalarArg(extent)
			default:
				args[i] = ir.ArrayArg(ir.NewBuffer(s.Nests[0].Kernel.Module.Slots[i].Array.Elem, 40))
			}
		}
		if status, err := ir.Run(s.Nests[0].Loops, lower.ComputeName, args); err != nil || status != want {
			t.Errorf("a has %d elements: status %d (%v), want %d", extent, status, err, want)
		}
	}
}
