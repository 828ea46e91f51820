package ir_test

import (
	"slices"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// rowsInLanes is the sums of rows in slices of four, whose places stand side by side and of which -1 marks those that hold nothing.
func rowsInLanes(turns int64) *ir.Module {
	s, p, k, w := iv("s"), iv("p"), iv("k"), fv("w")
	place := add(mul(k, num(4)), p)
	inside := loop(ir.Serial, k, num(9), ir.When(ir.Is(at(idx, place), ir.Ge, num(0)), &ir.Assign{Var: w, Reduce: dtype.Add, Value: at(x, place)}))
	inside.Ends, inside.Unroll = true, turns
	rows := loop(ir.Simd, p, ir.Min(n, add(mul(s, num(4)), num(4))), mut(w, f32(0)), inside, put(y, p, w))
	rows.Lo, rows.Unroll = mul(s, num(4)), 4
	return module(loop(ir.Serial, s, n, rows))
}

func TestAcross(t *testing.T) {
	want := lines(
		"for s = 0 .. n",
		"  let p: i64 = s * 4", "  let p_end: i64 = min(n, s * 4 + 4)", "  var w_lanes: f32x4 = 0f32",
		"  let k_begin: i64 = 0", "  let k_end: i64 = 9",
		"  if p_end - p >= 4",
		"    var k_2: i64 = k_begin",
		"    while k_2 + 1 <= k_end && min_lanes(idx[k_2 * 4 + p :4]) >= 0",
		"      let k_place: i64 = k_2 * 4 + p", "      w_lanes += x[k_place :4]", "      k_2 += 1",
		"    while k_2 < k_end && max_lanes(idx[k_2 * 4 + p :4]) >= 0",
		"      let k_place_2: i64 = k_2 * 4 + p", "      w_lanes = where(w_lanes + x[k_place_2 :4], idx[k_place_2 :4], w_lanes)", "      k_2 += 1",
		"    y[p :4] = w_lanes",
		"  else",
		"    alloc w_2: f32[4]", "    w_2[0 :4] = w_lanes",
		"    for lane = 0 .. min(4, p_end - p)", "      for k_3 = k_begin .. k_end",
		"        if idx[k_3 * 4 + (p + lane)] >= 0", "          w_2[lane] += x[k_3 * 4 + (p + lane)]",
		"    w_lanes = w_2[0 :4]",
		"    alloc w_3: f32[4]", "    w_3[0 :4] = w_lanes",
		"    for lane_2 = 0 .. min(4, p_end - p)", "      y[p + lane_2] = w_3[lane_2]",
	)
	if got := text(ir.Across(rowsInLanes(1), target(16))); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// What Across makes means what the loops meant, whatever the rows' lengths, and sums in any order are exact here.
func TestAcrossKeepsSums(t *testing.T) {
	for _, turns := range []int64{1, 2, 4} {
		for _, width := range []int{8, 16} {
			m := rowsInLanes(turns)
			for rows := range int64(9) {
				args := func() []ir.Arg {
					out := make([]ir.Arg, len(m.Slots))
					for k, s := range m.Slots {
						if s.Var != nil {
							out[k] = ir.ScalarArg(rows)
							continue
						}
						b := ir.NewBuffer(s.Array.Elem, 400)
						for q := range 400 {
							row, step := q%4, q/4
							if s.Array.Elem == dtype.F32 {
								b.Float[q] = float64(q % 7)
							} else if step >= (row*3+int(turns))%10 {
								b.Int[q] = -1
							}
						}
						out[k] = ir.ArrayArg(b)
					}
					return out
				}
				want, got := args(), args()
				passed := ir.Across(m, target(width))
				if err := ir.Verify(passed); err != nil {
					t.Fatal(err)
				}
				if _, err := ir.Run(m, "f", want); err != nil {
					t.Fatal(err)
				}
				if _, err := ir.Run(passed, "f", got); err != nil {
					t.Fatal(err)
				}
				if found, sums := got[4].Array.Float, want[4].Array.Float; !slices.Equal(found, sums) {
					t.Errorf("%d turns, %d bytes, %d rows: got %v, want %v", turns, width, rows, found[:rows], sums[:rows])
				}
			}
		}
	}
}
