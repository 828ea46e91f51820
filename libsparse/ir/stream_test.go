package ir_test

import (
	"testing"

	"libsparse/libsparse/ir"
)

// lanes16 is a target with vectors of four floats.
type lanes16 struct{ ir.Target }

func (lanes16) VectorBytes() int { return 16 }

// TestStream sends rows past the caches that are written in whole vectors at aligned places, and nothing else.
func TestStream(t *testing.T) {
	i, k, large := iv("i"), iv("k"), iv("large")
	row := func(width int64, stores ...ir.Stmt) ir.Stmt {
		return &ir.For{Var: k, Lo: num(0), Hi: num(width), Step: 4, Kind: ir.Unrolled, Body: block(stores...)}
	}
	four := func(at ir.Expr) *ir.Store { return &ir.Store{Array: y, Index: at, Value: f32(2), Lanes: 4} }
	whole := four(add(mul(i, num(8)), k))
	streaming := []string{
		"let y_past: bool = large != 0 && aligned(y, 16)",
		"for i = 0 .. n", "  if y_past", "    for k_2 = 0 .. 8 step 4 unrolled", "      stream y[i * 8 + k_2 :4] = 2f32",
		"  else", "    for k = 0 .. 8 step 4 unrolled", "      y[i * 8 + k :4] = 2f32",
	}
	for _, c := range []struct {
		name string
		body ir.Stmt
		want []string // nil where nothing changes
	}{
		{"rows", loop(ir.Serial, i, n, row(8, whole)), append(streaming, "drain if y_past")},
		{"rows of another length", loop(ir.Serial, i, n, row(6, four(add(mul(i, num(6)), k)))), nil},
		{"single elements", loop(ir.Serial, i, n, put(y, i, f32(2))), nil},
		{"sums", loop(ir.Serial, i, n, row(8, &ir.Store{Array: y, Index: whole.Index, Reduce: "add", Value: f32(2), Lanes: 4})), nil},
		{"what is read", block(loop(ir.Serial, i, n, row(8, whole)), put(x, num(0), at(y, num(0)))), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := module(c.body)
			m.Slots = append(m.Slots, ir.Slot{Var: large, Streams: y})
			want := text(m)
			if c.want != nil {
				want = lines(c.want...)
			}
			if got := text(ir.Stream(m, lanes16{})); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
