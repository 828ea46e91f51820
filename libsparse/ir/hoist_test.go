package ir_test

import (
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

func TestHoist(t *testing.T) {
	i, k, known := iv("i"), iv("k"), &ir.Var{Name: "known", T: ir.Scalar(dtype.Bool)}
	bytes := &ir.Array{Name: "bytes", Elem: dtype.Bool}
	mark := func(at ir.Expr) ir.Stmt { return put(bytes, at, truth(1)) }
	raise, value := set(known, truth(1)), put(y, k, f32(2))
	for _, c := range []struct {
		name string
		body ir.Stmt
		want []string
	}{
		{
			"a row that is there", loop(ir.Simd, k, n, mark(i), value),
			[]string{"if 0 < n", "  bytes[i] = true", "for k = 0 .. n simd", "  y[k] = 2f32"},
		},
		{
			"out of two loops", loop(ir.Serial, i, n, loop(ir.Serial, k, n, raise, value)),
			[]string{"if 0 < n", "  if 0 < n", "    known = true", "for i = 0 .. n", "  for k = 0 .. n", "    y[k] = 2f32"},
		},
		{"each element", loop(ir.Serial, k, n, mark(k)), []string{"for k = 0 .. n", "  bytes[k] = true"}},
		{"a place to be looked up", loop(ir.Serial, k, n, mark(at(idx, i))), []string{"for k = 0 .. n", "  bytes[idx[i]] = true"}},
		{"in a team", loop(ir.Shared, k, n, mark(i)), []string{"for k = 0 .. n shared", "  bytes[i] = true"}},
		{
			"what is read", loop(ir.Serial, k, n, &ir.If{Cond: known, Then: block(value)}, raise),
			[]string{"for k = 0 .. n", "  if known", "    y[k] = 2f32", "  known = true"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := text(ir.Hoist(module(c.body))), lines(c.want...); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
