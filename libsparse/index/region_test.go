package index

import (
	"testing"

	"libsparse/libsparse/dtype"
)

func TestRegions(t *testing.T) {
	a, b := Argument(0, 2), Argument(1, 2)
	for text, want := range map[string]Region{
		"every": a.And(b), "some": a.Or(b), "all": Everywhere(2), "0": a, "0 & ~1": a.And(b.Not()), "0 ^ 1": a.Xor(b),
		"~(0 | 1)": a.Or(b).Not(), "0 | 1 & ~0": a.Or(b), "~~1": b,
	} {
		got, err := parseRegion(text, []string{"0", "1"})
		if err != nil || got != want {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
		if again, err := parseRegion(got.String(), []string{"0", "1"}); err != nil || again != got {
			t.Errorf("%s prints as %s, which is %v (%v)", text, got, again, err)
		}
	}
	for _, text := range []string{"", "2", "0 &", "0 1", "(0", "0 + 1"} {
		if r, err := parseRegion(text, []string{"0", "1"}); err == nil {
			t.Errorf("%q is %v, want an error", text, r)
		}
	}
}

// TestFunctionsAreWhatTheySay compares calls of functions with their bodies written out.
func TestFunctionsAreWhatTheySay(t *testing.T) {
	f, err := NewFunction("f", []string{"a", "b"}, []CaseText{
		{Region: "a & b", Body: "a - 2 * b"}, {Region: "a", Body: "square(a)"}, {Region: "~a & ~b", Body: "7"},
	}, Library())
	if err != nil {
		t.Fatal(err)
	}
	x, y := &Tensor{Name: "x", Elem: dtype.F64}, &Tensor{Name: "y", Elem: dtype.F64}
	call := NewFunctionCall(f, &Access{Tensor: x}, &Access{Tensor: y})
	for _, c := range []struct {
		stored  [2]bool
		want    float64
		defined bool
	}{{[2]bool{true, true}, -5, true}, {[2]bool{true, false}, 9, true}, {[2]bool{false, true}, 0, false}, {[2]bool{false, false}, 7, true}} {
		value, defined, _ := Eval(call, dtype.F64, func(a *Access) (dtype.Value, bool) {
			if a.Tensor == x {
				return dtype.Int(dtype.F64, 3), c.stored[0]
			}
			return dtype.Int(dtype.F64, 4), c.stored[1]
		}, nil)
		got := real(value.Num)
		if got != c.want || defined != c.defined {
			t.Errorf("f where %v are stored: got %g (%t), want %g (%t)", c.stored, got, defined, c.want, c.defined)
		}
	}
}
