package schedule

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/diag"
)

// TestRoundTrip reads what it prints.
func TestRoundTrip(t *testing.T) {
	const text = "reorder(i, k, j); split(k, k0, k1, 64); split(k1, a, b, 8, tail=4); split(b, c, d, 8, tail=8, joined); divide(i, i0, i1, 4); fuse(i, j, f); pos(f, p, A); " +
		"bound(k, 16); bound(i, 9, 15); precompute(all, w, at=1); precompute(B(j,k) * sin(x(j)), v, at=0, array); precompute(Q*K, u, at=2, tile); " +
		"precompute(all, t, at=0, rename=i:iw); precompute(all, s, at=0, hash, rename=i:iw j:jw); " +
		"unroll(j, 4); prefetch(j, 16); prefetch(j, 8, begin); ahead(j, A, 512); adjacent(j); gather(j); vectorize(k); parallelize(i, threads); parallelize(p, threads, atomics); parallelize(p, threads, temporary); " +
		"assemble(insert); assemble(append); assemble(bounded); convert(A, ds:1,0); convert(A, ds:1,0, values); convert(A, dl(8), values); mergeby(j, gallop); mergeby(j, twofinger)"
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if s.String() != text {
		t.Errorf("printed as\n%s, want\n%s", s, text)
	}
	loose, err := Parse(" # rows ; first\nreorder( i,k ,j )\n\n;split(k,k0,k1,64)  # strips\n parallelize(i);;")
	if want := "reorder(i, k, j); split(k, k0, k1, 64); parallelize(i, threads)"; err != nil || loose.String() != want {
		t.Errorf("%v, %v; want %s", loose, err, want)
	}
}

// A command is in all tables of its text or in none.
func TestTablesOfCommands(t *testing.T) {
	want := slices.Sorted(slices.Values(names))
	if got := slices.Sorted(maps.Keys(usages)); !slices.Equal(got, want) {
		t.Errorf("usages has %v, names %v", got, want)
	}
	if got := slices.Sorted(maps.Keys(readers)); !slices.Equal(got, want) {
		t.Errorf("readers has %v, names %v", got, want)
	}
}

// TestSpans finds where in the text an error is, whether the text is wrong or what it asks for.
func TestSpans(t *testing.T) {
	for _, c := range []struct{ text, at, want string }{
		{"reorder(i, j, k); splice(k)", "splice(k)", `there is no command "splice"`},
		{"split(k, k0, k1)", "split(k, k0, k1)", "the factor is missing; expected split("},
		{"split(k, k0, k1, x)", "split(k, k0, k1, x)", `"x" is no integer`},
		{"split(k, k0, k1, 4, 5)", "split(k, k0, k1, 4, 5)", "too many arguments"},
		{"split(k, k0, k1, 8, tail=8, apart)", "split(k, k0, k1, 8, tail=8, apart)", `"apart" is none of joined`},
		{"split(k, k0, k1, 8, joined)", "split(k, k0, k1, 8, joined)", "too many arguments"},
		{"split(k, k0, k1, 8, tail=0)", "split(k, k0, k1, 8, tail=0)", "a tail is at least 1"},
		{"fuse(i, 2, f)", "fuse(i, 2, f)", `"2" is no variable`},
		{"vectorize k", "vectorize k", `there is no command "vectorize k"`},
		{"vectorize(k", "vectorize(k", "expected vectorize(i)"},
		{"parallelize(i, blocks)", "parallelize(i, blocks)", `"blocks" is none of threads`},
		{"precompute(all, w)", "precompute(all, w)", "at is missing"},
		{"precompute(all, w, at=0, heap)", "precompute(all, w, at=0, heap)", `"heap" is none of tile`},
		{"precompute(all, w, at=0, rename=)", "precompute(all, w, at=0, rename=)", "what to rename is missing"},
		{"precompute(all, w, at=0, rename=i)", "precompute(all, w, at=0, rename=i)", `"i" is no pair of names`},
		{"precompute(all, w, at=0, rename=i:2)", "precompute(all, w, at=0, rename=i:2)", `"i:2" is no pair of names`},
		{"precompute(all, w, at=0, rename=i:u, k:v)", "precompute(all, w, at=0, rename=i:u, k:v)", "too many arguments"},
		{"precompute(all, w, at=0, rename=i:u, tile)", "precompute(all, w, at=0, rename=i:u, tile)", "too many arguments"},
		{"unroll(k, 2); precompute(all, w, at=0, rename=l:lw)", "precompute(all, w, at=0, rename=l:lw)", "there is no variable l to rename"},
		{"precompute(all, w, at=0, rename=i:iw); unroll(k, 2); pos(i, p, A)", "pos(i, p, A)", "i is dense in A"},
		{"mergeby(i)", "mergeby(i)", "how is missing"},
		{"mergeby(i, jump)", "mergeby(i, jump)", `"jump" is none of gallop`},
		{"reorder(i, j, k); mergeby(k, gallop)", "mergeby(k, gallop)", "visits every coordinate, so there is nothing to skip"},
		{"reorder(i, j, k); mergeby(j, gallop)", "mergeby(j, gallop)", "visits what one level stores, {A.2}"},
		{"assemble()", "assemble()", "how is missing"},
		{"reorder(i, j, k);\n  unroll(q, 4); vectorize(k)", "unroll(q, 4)", "there is no loop over q"},
		{"parallelize(j, threads); reorder(i, j, k)", "parallelize(j, threads)", "write the same elements"},
		{"bound(k, 8); reorder(j, i)", "reorder(j, i)", "contradict the order"},
	} {
		s, err := Parse(c.text)
		if err == nil {
			_, err = s.Apply(program(t, spmm, map[string]string{"A": "ds"}))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.text, err, c.want)
			continue
		}
		span := diag.From(err).Span
		if span == nil || c.text[span.Start:span.End] != c.at {
			t.Errorf("%s: located at %v, want %q", c.text, span, c.at)
		}
	}
}
