package ir_test

import (
	"testing"

	"libsparse/libsparse/ir"
)

// TestAhead has loops ask for entries that walk them and read their coordinates, and no others.
func TestAhead(t *testing.T) {
	i, p, sum := iv("i"), iv("p"), fv("sum")
	more := func(e ir.Expr) ir.Stmt { return &ir.Assign{Var: sum, Reduce: "add", Value: e} }
	term := func(place ir.Expr) ir.Stmt { return more(bin("mul", at(x, place), at(idx, at(crd, place)))) }
	fours := func(body ...ir.Stmt) ir.Stmt {
		return ir.Repeat(cmp(ir.Lt, p, n), append(body, ir.Increase(p, num(4)))...)
	}
	for _, c := range []struct {
		name string
		body ir.Stmt
		want []string // nil where nothing changes
	}{
		{
			"several places at a time", fours(term(p), term(add(p, num(3)))),
			[]string{
				"while p < n", "  prefetch crd[p + 100 :4]", "  prefetch x[p + 100 :4]", "  sum += x[p] * idx[crd[p]]",
				"  sum += x[p + 3] * idx[crd[p + 3]]", "  p += 4",
			},
		},
		{
			"single places", loop(ir.Serial, i, n, term(i)),
			[]string{
				"var i_strip: i64 = 0", "let i_end: i64 = n", "while i_strip < i_end", "  prefetch crd[i_strip + 100 :16]", "  prefetch x[i_strip + 100 :16]",
				"  for i = i_strip .. min(i_strip + 16, i_end)", "    sum += x[i] * idx[crd[i]]", "  i_strip += 16",
			},
		},
		{
			"what several leave", block(fours(term(p)), loop(ir.Serial, i, n, term(i))),
			[]string{
				"while p < n", "  prefetch crd[p + 100 :4]", "  prefetch x[p + 100 :4]", "  sum += x[p] * idx[crd[p]]", "  p += 4",
				"for i = 0 .. n", "  sum += x[i] * idx[crd[i]]",
			},
		},
		{"no coordinates", fours(more(at(x, p))), nil},
		{"what is searched", ir.Repeat(cmp(ir.Lt, p, n), term(p), set(p, at(crd, p))), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := module(c.body)
			m.Slots[2].Walk = &ir.Walk{Arrays: []*ir.Array{crd, x}, Distance: 100}
			want := text(m)
			if c.want != nil {
				want = lines(c.want...)
			}
			if got := text(ir.Ahead(m)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
