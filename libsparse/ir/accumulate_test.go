package ir_test

import (
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// between is a variable that holds a number between two.
func between(least, most int64) *ir.Var {
	return &ir.Var{Name: "m", T: ir.Index, Least: least, Most: most}
}

func TestAccumulate(t *testing.T) {
	v, f, p, j := iv("v"), fv("f"), iv("p"), iv("j")
	sum := func(value ir.Expr) ir.Stmt { return &ir.Assign{Var: f, Reduce: dtype.Add, Value: value} }
	row := &ir.For{Var: p, Lo: n, Hi: add(n, num(9)), Step: 1, Kind: ir.Simd, Within: num(99), Body: block(
		let(j, at(idx, p)), sum(mul(at(x, p), at(x, j))),
	)}
	shifted := &ir.For{Var: p, Lo: n, Hi: add(n, num(9)), Step: 1, Kind: ir.Simd, Within: num(99), Body: block(sum(at(x, add(p, at(idx, n)))))}
	turns := &ir.For{Var: p, Lo: n, Hi: add(n, num(9)), Step: 1, Kind: ir.Simd, Within: num(99), Unroll: 2, Body: block(sum(at(x, p)))}
	for _, c := range []struct {
		name string
		loop *ir.For
		want []string
	}{
		{
			"whole vectors", loop(ir.Simd, v, num(32), sum(mul(at(x, v), at(y, v)))),
			[]string{"var f_lanes: f32x8 = 0f32", "for v_2 = 0 .. 32 step 8 unrolled", "  f_lanes += x[v_2 :8] * y[v_2 :8]", "f += add_lanes(f_lanes)"},
		},
		{
			"a rest", loop(ir.Simd, v, num(9), sum(at(x, v))),
			[]string{"var f_lanes: f32x8 = 0f32", "for v_2 = 0 .. 8 step 8 unrolled", "  f_lanes += x[v_2 :8]", "f_lanes = tail(f_lanes + x[1 :8], 1, f_lanes)", "f += add_lanes(f_lanes)"},
		},
		{
			"an end between multiples of a vector", loop(ir.Simd, v, between(9, 15), sum(at(x, v))),
			[]string{"var f_lanes: f32x8 = 0f32", "f_lanes += x[0 :8]", "f_lanes = tail(f_lanes + x[m - 8 :8], m - 8, f_lanes)", "f += add_lanes(f_lanes)"},
		},
		{
			"an end that may fill no vector", loop(ir.Simd, v, between(0, 2), sum(at(x, v))),
			[]string{
				"var f_lanes: f32x2 = 0f32", "var v_2: i64 = 0", "let v_end: i64 = m", "while v_2 + 2 < v_end", "  f_lanes += x[v_2 :2]", "  v_2 += 2",
				"if v_end >= 2", "  f_lanes = tail(f_lanes + x[v_end - 2 :2], v_end - v_2, f_lanes)", "else", "  alloc f_lanes_2: f32[2]", "  f_lanes_2[0 :2] = f_lanes",
				"  for v_3 = v_2 .. v_end", "    f_lanes_2[v_3 - v_end + 2] += x[v_3]", "  f_lanes = f_lanes_2[0 :2]", "f += add_lanes(f_lanes)",
			},
		},
		{
			"an end of a number of vectors", loop(ir.Simd, v, between(8, 20), sum(at(x, v))),
			[]string{
				"var f_lanes: f32x8 = 0f32", "var v_2: i64 = 0", "let v_end: i64 = m", "while v_2 + 8 < v_end", "  f_lanes += x[v_2 :8]", "  v_2 += 8",
				"f_lanes = tail(f_lanes + x[v_end - 8 :8], v_end - v_2, f_lanes)", "f += add_lanes(f_lanes)",
			},
		},
		{
			"a row", row,
			[]string{
				"var f_lanes: f32x4 = 0f32", "var p_2: i64 = n", "let p_end: i64 = n + 9", "while p_2 + 4 < p_end",
				"  f_lanes += x[p_2 :4] * {x[idx[p_2]], x[idx[p_2 + 1]], x[idx[p_2 + 2]], x[idx[p_2 + 3]]}", "  p_2 += 4",
				"if p_2 + 4 <= 99",
				"  f_lanes = head(f_lanes + x[p_2 :4] * {x[idx[p_2]], x[idx[p_2 + 1]], x[idx[p_2 + 2]], x[idx[p_2 + 3]]}, p_end - p_2, f_lanes)",
				"else", "  alloc f_lanes_2: f32[4]", "  f_lanes_2[0 :4] = f_lanes",
				"  for p_3 = p_2 .. p_end", "    f_lanes_2[p_3 - p_2] += x[p_3] * x[idx[p_3]]", "  f_lanes = f_lanes_2[0 :4]", "f += add_lanes(f_lanes)",
			},
		},
		{
			"a row that another array is read beside", shifted,
			[]string{
				"var f_lanes: f32x4 = 0f32", "var p_2: i64 = n", "let p_end: i64 = n + 9", "while p_2 + 4 <= p_end",
				"  f_lanes += x[p_2 + idx[n] :4]", "  p_2 += 4",
				"alloc f_lanes_2: f32[4]", "f_lanes_2[0 :4] = f_lanes",
				"for p_3 = p_2 .. p_end", "  f_lanes_2[p_3 - p_2] += x[p_3 + idx[n]]", "f_lanes = f_lanes_2[0 :4]", "f += add_lanes(f_lanes)",
			},
		},
		{
			"vectors in turn", turns,
			[]string{
				"var f_lanes: f32x4 = 0f32", "var f_lanes_2: f32x4 = 0f32", "var p_2: i64 = n", "let p_end: i64 = n + 9", "while p_2 + 8 < p_end",
				"  f_lanes += x[p_2 :4]", "  f_lanes_2 += x[p_2 + 4 :4]", "  p_2 += 8",
				"if p_2 + 8 <= 99",
				"  f_lanes = head(f_lanes + x[p_2 :4], p_end - p_2, f_lanes)",
				"  f_lanes_2 = head(f_lanes_2 + x[p_2 + 4 :4], p_end - (p_2 + 4), f_lanes_2)",
				"else", "  alloc f_lanes_3: f32[8]", "  f_lanes_3[0 :4] = f_lanes", "  f_lanes_3[4 :4] = f_lanes_2",
				"  for p_3 = p_2 .. p_end", "    f_lanes_3[p_3 - p_2] += x[p_3]",
				"  f_lanes = f_lanes_3[0 :4]", "  f_lanes_2 = f_lanes_3[4 :4]", "f += add_lanes(f_lanes + f_lanes_2)",
			},
		},
		{"the sum itself", loop(ir.Simd, v, num(32), sum(mul(f, at(x, v)))), []string{"for v = 0 .. 32 simd", "  f += f * x[v]"}},
		{"nothing that varies", loop(ir.Simd, v, num(32), sum(at(x, n))), []string{"for v = 0 .. 32 simd", "  f += x[n]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := module(c.loop)
			if got, want := text(ir.Accumulate(m, target(32))), lines(c.want...); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestJam(t *testing.T) {
	p, k, w := iv("p"), iv("k"), fv("w")
	outer := loop(ir.Serial, p, n,
		mut(w, f32(0)),
		loop(ir.Simd, k, num(8), &ir.Assign{Var: w, Reduce: dtype.Add, Value: mul(at(x, k), at(x, add(mul(p, num(8)), k)))}),
		put(y, p, mul(w, at(x, p))))
	outer.Unroll = 4
	want := lines(
		"let p_end: i64 = n", "let p_rest: i64 = 0 + (p_end - 0) / 4 * 4",
		"for p = 0 .. p_rest step 4",
		"  var w_lanes: f32x8 = 0f32", "  var w_lanes_2: f32x8 = 0f32", "  var w_lanes_3: f32x8 = 0f32", "  var w_lanes_4: f32x8 = 0f32",
		"  for k_2 = 0 .. 8 step 8 unrolled",
		"    w_lanes += x[k_2 :8] * x[p * 8 + k_2 :8]", "    w_lanes_2 += x[k_2 :8] * x[(p + 1) * 8 + k_2 :8]",
		"    w_lanes_3 += x[k_2 :8] * x[(p + 2) * 8 + k_2 :8]", "    w_lanes_4 += x[k_2 :8] * x[(p + 3) * 8 + k_2 :8]",
		"  let w_2: f32x4 = add_lanes(w_lanes, w_lanes_2, w_lanes_3, w_lanes_4)",
		"  y[p :4] = w_2 * x[p :4]",
		"for p_2 = p_rest .. p_end",
		"  var w_lanes_5: f32x8 = 0f32", "  for k_3 = 0 .. 8 step 8 unrolled", "    w_lanes_5 += x[k_3 :8] * x[p_2 * 8 + k_3 :8]",
		"  var w: f32 = add_lanes(w_lanes_5)", "  y[p_2] = w * x[p_2]",
	)
	if got := text(ir.Jam(module(outer), target(32))); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Rows of different lengths are summed one after the other, and their lanes reduced together.
func TestJamOfRows(t *testing.T) {
	p, k, w := iv("p"), iv("k"), fv("w")
	row := loop(ir.Simd, k, num(0), &ir.Assign{Var: w, Reduce: dtype.Add, Value: at(x, k)})
	row.Lo, row.Hi = at(idx, p), at(idx, add(p, num(1)))
	outer := loop(ir.Serial, p, n, mut(w, f32(0)), row, put(y, p, w))
	outer.Unroll = 2
	got := text(ir.Jam(module(outer), target(32)))
	for _, want := range []string{
		"  let k_end: i64 = idx[p + 1]", "  let k_end_2: i64 = idx[p + 1 + 1]",
		"  let w_2: f32x2 = add_lanes(w_lanes, w_lanes_3)", "  y[p :2] = w_2", "for p_2 = p_rest .. p_end",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%swithout %q", got, want)
		}
	}
}

func TestInterleave(t *testing.T) {
	p, k, q, j := iv("p"), iv("k"), iv("q"), iv("j")
	w := &ir.Array{Name: "w", Elem: dtype.F32}
	add8 := loop(ir.Simd, k, num(8), &ir.Store{Array: w, Index: k, Reduce: dtype.Add, Value: mul(at(x, p), at(x, add(mul(j, num(8)), k)))})
	outer := loop(ir.Serial, p, n, &ir.Prefetch{Array: x, Index: add(p, num(9)), Count: 1}, let(j, at(idx, p)), add8)
	outer.Unroll = 2
	m := module(&ir.Alloc{Array: w, Size: num(8)}, loop(ir.Simd, q, num(8), put(w, q, f32(0))), outer, put(y, num(0), at(w, num(0))))
	want := lines(
		"alloc w: f32[8]", "for q = 0 .. 8 simd", "  w[q] = 0f32",
		"let p_begin: i64 = 0", "let p_end: i64 = n", "var p_rest: i64 = p_begin",
		"if p_end - p_begin >= 16",
		"  alloc w_2: f32[8]", "  for k_3 = 0 .. 8 simd", "    w_2[k_3] = 0f32",
		"  p_rest = p_begin + (p_end - p_begin) / 2 * 2",
		"  for p = p_begin .. p_rest step 2",
		"    prefetch x[p + 9]", "    let j_2: i64 = idx[p]", "    for k_2 = 0 .. 8 simd", "      w[k_2] += x[p] * x[j_2 * 8 + k_2]",
		"    prefetch x[p + 10]", "    let j_3: i64 = idx[p + 1]", "    for k_4 = 0 .. 8 simd", "      w_2[k_4] += x[p + 1] * x[j_3 * 8 + k_4]",
		"  for k_5 = 0 .. 8 simd", "    w[k_5] += w_2[k_5]",
		"for p_2 = p_rest .. p_end",
		"  prefetch x[p_2 + 9]", "  let j: i64 = idx[p_2]", "  for k = 0 .. 8 simd", "    w[k] += x[p_2] * x[j * 8 + k]",
		"y[0] = w[0]",
	)
	if got := text(ir.Interleave(m)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
