package ir_test

import (
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// TestTogether runs rows of a block at once: sums of their own, loops and what doesn't depend on the row in common. Rows whose loops differ run one after
// the other.
func TestTogether(t *testing.T) {
	i, g, b, j, w := iv("i"), iv("g"), iv("b"), iv("j"), fv("w")
	rows := func(inside ir.Stmt) *ir.For {
		out := loop(ir.Simd, i, ir.Min(n, add(mul(g, num(2)), num(2))), mut(w, f32(0)), inside, put(y, i, w))
		out.Lo, out.Unroll = mul(g, num(2)), 2
		return out
	}
	sum := &ir.Assign{Var: w, Reduce: dtype.Add, Value: at(x, add(i, j))}
	of := func(hi ir.Expr) ir.Stmt { return loop(ir.Serial, b, hi, let(j, mul(b, num(2))), sum) }
	one := func(margin, hi string) (out []string) {
		for _, line := range []string{"var w: f32 = 0f32", "for b = 0 .. " + hi, "  let j: i64 = b * 2", "  w += x[i + j]", "y[i] = w"} {
			out = append(out, margin+line)
		}
		return out
	}
	for _, c := range []struct {
		name string
		body ir.Stmt
		want []string
	}{
		{"a block", rows(of(n)), append([]string{
			"let i_first: i64 = g * 2", "let i_end: i64 = min(n, g * 2 + 2)",
			"if i_end - i_first == 2",
			"  var w_2: f32 = 0f32", "  var w_3: f32 = 0f32",
			"  for b_2 = 0 .. n", "    let j_2: i64 = b_2 * 2", "    w_2 += x[i_first + j_2]", "    w_3 += x[i_first + 1 + j_2]",
			"  y[i_first] = w_2", "  y[i_first + 1] = w_3",
			"else", "  for i = i_first .. i_end",
		}, one("    ", "n")...)},
		{"rows of different lengths", rows(of(i)), append([]string{"for i = g * 2 .. min(n, g * 2 + 2)"}, one("  ", "i")...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := module(loop(ir.Serial, g, n, c.body))
			want := lines(strings.Split("for g = 0 .. n\n  "+strings.Join(c.want, "\n  "), "\n")...)
			if got := text(ir.Together(m)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if err := ir.Verify(ir.Together(m)); err != nil {
				t.Error(err)
			}
		})
	}
}
