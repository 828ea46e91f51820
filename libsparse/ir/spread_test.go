package ir_test

import (
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// TestSpread sums the columns of whole blocks in lanes, and those of others as before.
func TestSpread(t *testing.T) {
	i, b, w, first := iv("i"), iv("b"), fv("w"), iv("first")
	columns := func(name string, count ir.Expr) ir.Stmt {
		j, from := iv(name), iv(name+"_from")
		return loop(ir.Unrolled, from, count, let(j, add(first, from)), &ir.Assign{Var: w, Reduce: dtype.Add, Value: at(x, j)})
	}
	rows := func(width int64) *ir.Module {
		fits := ir.When(ir.Is(add(first, num(width)), ir.Le, count), columns("j", num(width)))
		fits.Else = block(columns("k", ir.Sub(count, first)))
		blocks := loop(ir.Serial, b, n, let(first, mul(b, num(width))), fits)
		return module(loop(ir.Serial, i, n, mut(w, f32(0)), blocks, put(y, i, w)))
	}
	want := lines(
		"for i = 0 .. n", "  var w: f32 = 0f32", "  alloc w_part: f32[4]", "  for q = 0 .. 4 simd", "    w_part[q] = 0f32",
		"  for b = 0 .. n", "    let first: i64 = b * 4",
		"    if first + 4 <= count", "      for j_from = 0 .. 4 simd", "        w_part[j_from] += x[first + j_from]",
		"    else", "      for k_from = 0 .. count - first unrolled", "        let k: i64 = first + k_from", "        w += x[k]",
		"  w += add_lanes(w_part[0 :4])", "  y[i] = w",
	)
	if got := text(ir.Spread(rows(4), target(16))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, width := range []int64{3, 8} { // no vector, or none of this target
		if m := rows(width); text(ir.Spread(m, target(16))) != text(m) {
			t.Errorf("columns of blocks %d wide were spread over a vector", width)
		}
	}
}
