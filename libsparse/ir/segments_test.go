package ir_test

import (
	"testing"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

func TestSegments(t *testing.T) {
	i, p, q, first, last := iv("i"), iv("p"), iv("q"), iv("first"), iv("last")
	pos, below := &ir.Array{Name: "pos", Elem: dtype.I32}, &ir.Array{Name: "below", Elem: dtype.I32}
	begin := func(a *ir.Array, at ir.Expr) ir.Expr { return ir.IndexAt(a, at) }
	segment := func(v *ir.Var, a *ir.Array, of *ir.Var, body ir.Stmt) ir.Stmt {
		return ir.Loop(v, begin(a, of), begin(a, ir.Next(of)), body)
	}
	length := func(a *ir.Array, of *ir.Var) ir.Expr { return ir.Sub(begin(a, ir.Next(of)), begin(a, of)) }
	count := func(at ir.Expr) ir.Stmt { return put(y, at, f32(1)) }
	for _, c := range []struct {
		name string
		body ir.Stmt
		want []string
	}{
		{
			"of a matrix", ir.Count(i, last, segment(p, pos, i, count(ir.IndexAt(idx, p)))),
			[]string{"for p = i64(pos[0]) .. i64(pos[last])", "  y[idx[p]] = 1f32"},
		},
		{
			"if there are any", ir.Loop(i, first, last, segment(p, pos, i, count(p))),
			[]string{"if first < last", "  for p = i64(pos[first]) .. i64(pos[last])", "    y[p] = 1f32"},
		},
		{
			"of a tensor", ir.Count(i, last, segment(p, pos, i, segment(q, below, p, count(q)))),
			[]string{"for i = 0 .. last", "  if i64(pos[i]) < i64(pos[i + 1])", "    for q = i64(below[i64(pos[i])]) .. i64(below[i64(pos[i + 1])])", "      y[q] = 1f32"},
		},
		{
			"which one matters", ir.Loop(i, first, last, segment(p, pos, i, count(i))),
			[]string{"for i = first .. last", "  for p = i64(pos[i]) .. i64(pos[i + 1])", "    y[i] = 1f32"},
		},
		{
			"positions that change", ir.Loop(i, first, last, segment(p, pos, i, ir.Put(pos, p, p))),
			[]string{"for i = first .. last", "  for p = i64(pos[i]) .. i64(pos[i + 1])", "    pos[p] = i32(p)"},
		},
		{
			"an end that moves", ir.Loop(i, first, last, segment(p, pos, i, set(last, p))),
			[]string{"for i = first .. last", "  for p = i64(pos[i]) .. i64(pos[i + 1])", "    last = p"},
		},
		{
			"others between them", ir.Loop(i, first, last, ir.Loop(p, begin(pos, i), begin(below, ir.Next(i)), count(p))),
			[]string{"for i = first .. last", "  for p = i64(pos[i]) .. i64(below[i + 1])", "    y[p] = 1f32"},
		},
		{
			"in a team", loop(ir.Shared, i, last, segment(p, pos, i, count(p))),
			[]string{"for i = 0 .. last shared", "  for p = i64(pos[i]) .. i64(pos[i + 1])", "    y[p] = 1f32"},
		},
		{
			"their lengths", ir.Loop(i, first, last, ir.Increase(q, ir.Add(length(pos, i), length(below, i)))),
			[]string{"if first < last", "  q += i64(pos[last]) - i64(pos[first]) + (i64(below[last]) - i64(below[first]))"},
		},
		{
			"the shorter ones", ir.Count(i, last, ir.Increase(q, ir.Min(length(pos, i), length(below, i)))),
			[]string{"for i = 0 .. last", "  q += min(i64(pos[i + 1]) - i64(pos[i]), i64(below[i + 1]) - i64(below[i]))"},
		},
		{
			"lengths and a number", ir.Count(i, last, ir.Increase(q, ir.Add(length(pos, i), ir.Const(1)))),
			[]string{"for i = 0 .. last", "  q += i64(pos[i + 1]) - i64(pos[i]) + 1"},
		},
		{
			"an end that lengths move", ir.Count(i, last, ir.Increase(last, length(pos, i))),
			[]string{"for i = 0 .. last", "  last += i64(pos[i + 1]) - i64(pos[i])"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := text(ir.Segments(module(c.body))), lines(c.want...); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
