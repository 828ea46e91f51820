package ir_test

import (
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// rowsInLanes is the sums of rows in slices of four, whose places stand side by side and of which -1 marks those that hold nothing.
func rowsInLanes(turns int64, of func(place ir.Expr) ir.Expr) *ir.Module {
	s, p, k, w := iv("s"), iv("p"), iv("k"), fv("w")
	place := add(mul(k, num(4)), p)
	inside := loop(ir.Serial, k, num(9), ir.When(ir.Is(at(idx, place), ir.Ge, num(0)), &ir.Assign{Var: w, Reduce: dtype.Add, Value: of(place)}))
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
		"    if k_2 < k_end && min_lanes(idx[(k_end - 1) * 4 + p :4]) >= 0",
		"      while k_2 + 1 <= k_end",
		"        let k_place: i64 = k_2 * 4 + p", "        w_lanes += x[k_place :4]", "        k_2 += 1",
		"    else",
		"      while k_2 + 1 <= k_end && min_lanes(idx[k_2 * 4 + p :4]) >= 0",
		"        let k_place_2: i64 = k_2 * 4 + p", "        w_lanes += x[k_place_2 :4]", "        k_2 += 1",
		"      while k_2 < k_end && max_lanes(idx[k_2 * 4 + p :4]) >= 0",
		"        let k_place_3: i64 = k_2 * 4 + p", "        w_lanes = where(w_lanes + x[k_place_3 :4], idx[k_place_3 :4], w_lanes)", "        k_2 += 1",
		"    y[p :4] = w_lanes",
		"  else",
		"    alloc w_2: f32[4]", "    w_2[0 :4] = w_lanes",
		"    for lane = 0 .. min(4, p_end - p)", "      for k_3 = k_begin .. k_end",
		"        if idx[k_3 * 4 + (p + lane)] >= 0", "          w_2[lane] += x[k_3 * 4 + (p + lane)]",
		"    w_lanes = w_2[0 :4]",
		"    alloc w_3: f32[4]", "    w_3[0 :4] = w_lanes",
		"    for lane_2 = 0 .. min(4, p_end - p)", "      y[p + lane_2] = w_3[lane_2]",
	)
	rows := rowsInLanes(1, func(place ir.Expr) ir.Expr { return at(x, place) })
	if got := text(ir.Across(rows, target(16))); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Where the loop inside says that coordinates are adjacent, vectors of what they tell say so, too: only as long as all lanes have something to sum.
func TestAcrossAdjacent(t *testing.T) {
	m := rowsInLanes(1, gathered)
	adjacent := ir.MapStmt(m.Funcs[0].Body, func(e ir.Expr) ir.Expr { return e }, func(s ir.Stmt) ir.Stmt {
		if loop, ok := s.(*ir.For); ok && loop.Ends {
			loop.Adjacent = true
		}
		return s
	})
	m.Funcs[0].Body = adjacent.(*ir.Block)
	if got := text(ir.Across(m, target(16))); strings.Count(got, "adjacent {crd[idx[") != 2 {
		t.Errorf("got\n%s", got)
	}
}

// gathered is a product of an element and of one at its coordinate.
func gathered(place ir.Expr) ir.Expr {
	return mul(at(x, place), &ir.Cast{X: at(crd, at(idx, place)), To: dtype.F32})
}

// inSlices runs rowsInLanes of some rows, with lengths by row and as many elements to gather, and returns the sums.
func inSlices(t *testing.T, m *ir.Module, rows, elements int64, length func(row int64) int64) []float64 {
	t.Helper()
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	args := make([]ir.Arg, len(m.Slots))
	for k, s := range m.Slots {
		switch {
		case s.Var != nil:
			args[k] = ir.ScalarArg(rows)
		case s.Array == crd:
			b := ir.NewBuffer(dtype.I32, int(elements))
			for q := range elements {
				b.Int[q] = q % 5
			}
			args[k] = ir.ArrayArg(b)
		default:
			b := ir.NewBuffer(s.Array.Elem, 400)
			for q := range int64(400) {
				row, step := q%4, q/4
				switch {
				case s.Array.Elem == dtype.F32:
					b.Float[q] = float64(q % 7)
				case step < length(row):
					b.Int[q] = q % elements
				default:
					b.Int[q] = -1
				}
			}
			args[k] = ir.ArrayArg(b)
		}
	}
	if _, err := ir.Run(m, "f", args); err != nil {
		t.Fatal(err)
	}
	return args[4].Array.Float[:rows]
}

// What Across makes means what the loops meant, whatever the rows' lengths, and sums in any order are exact here. The interpreter fails where a coordinate
// that marks padding is used as one.
func TestAcrossKeepsSums(t *testing.T) {
	for _, turns := range []int64{1, 2, 4} {
		m := rowsInLanes(turns, gathered)
		for _, width := range []int{8, 16} {
			passed := ir.Across(m, target(width))
			for rows := range int64(9) {
				length := func(row int64) int64 { return (row*3 + turns) % 10 }
				if got, want := inSlices(t, passed, rows, 30, length), inSlices(t, m, rows, 30, length); !slices.Equal(got, want) {
					t.Errorf("%d turns, %d bytes, %d rows: got %v, want %v", turns, width, rows, got, want)
				}
			}
		}
	}
}

// Slices of places that all hold nothing read no element: there may be none.
func TestAcrossReadsNothingOfEmptySlices(t *testing.T) {
	for _, turns := range []int64{1, 4} {
		m := ir.Across(rowsInLanes(turns, gathered), target(16))
		if got := inSlices(t, m, 8, 0, func(int64) int64 { return 0 }); !slices.Equal(got, make([]float64, 8)) {
			t.Errorf("%d turns: got %v", turns, got)
		}
	}
}
