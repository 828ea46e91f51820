package lattice

import (
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// parse reads an expression over vectors: lower-case names are dense, upper-case ones compressed.
func parse(t *testing.T, text string) bind.Assignment {
	t.Helper()
	compressed := map[string]string{}
	for _, name := range strings.Split("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "") {
		compressed[name] = "s"
	}
	return bindtest.Parse(t, "y(i) = "+text, compressed)
}

func TestBuild(t *testing.T) {
	for text, want := range map[string]string{
		"B(i)":                    "{B.1}",
		"b(i)":                    "{all}",
		"B(i) * C(i)":             "{B.1 C.1}",
		"B(i) + C(i)":             "{B.1 C.1} > {B.1} > {C.1}",
		"B(i) - C(i)":             "{B.1 C.1} > {B.1} > {C.1}",
		"B(i) * c(i)":             "{B.1}",
		"B(i) + c(i)":             "{all B.1} > {all}",
		"B(i) * alpha":            "{B.1}",
		"B(i) + 2":                "{all B.1} > {all}",
		"B(i) * C(i) + D(i)":      "{B.1 C.1 D.1} > {B.1 C.1} > {D.1}",
		"(B(i) + C(i)) * D(i)":    "{B.1 C.1 D.1} > {B.1 D.1} > {C.1 D.1}",
		"(B(i) + C(i)) * d(i)":    "{B.1 C.1} > {B.1} > {C.1}",
		"B(i) + C(i) + D(i)":      "{B.1 C.1 D.1} > {B.1 C.1} > {B.1 D.1} > {C.1 D.1} > {B.1} > {C.1} > {D.1}",
		"-B(i) * min(C(i),D(i))":  "{B.1 C.1 D.1} > {B.1 C.1} > {B.1 D.1}",
		"B(i) / C(i)":             "{B.1 C.1} > {B.1}",
		"B(i) * b(i) + c(i)":      "{all B.1} > {all}",
		"mul[0 & ~1](B(i), C(i))": "{B.1 C.1} > {B.1}",
		"add[0 ^ 1](B(i), C(i))":  "{B.1 C.1} > {B.1} > {C.1}",
		"add[~0](B(i), C(i))":     "{all B.1 C.1} > {all B.1} > {all C.1} > {all}",
		"add[~0 & 1](B(i), C(i))": "{C.1 B.1} > {C.1}",
		"B(i(2:8)) * B(i)":        "{B.1 B.1}",
	} {
		a := parse(t, text)
		got := Build(a.Table, a.RHS, "i").String()
		if len(got) != len(want) || got != want && text != "B(i) + C(i) + D(i)" {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestPointsPrecedeWhatIsBelow(t *testing.T) {
	a := parse(t, "B(i) + C(i) * D(i) + E(i)")
	l := Build(a.Table, a.RHS, "i")
	for k, p := range l.Points {
		for _, q := range l.Points[:k] {
			if p.below(q) && !q.below(p) {
				t.Errorf("%s comes before %s, which has more iterators", q, p)
			}
		}
	}
}

func TestRestrict(t *testing.T) {
	only := func(name string) Point { return Point{Iterators: []Iterator{{Key: name + ",i"}}} }
	for _, c := range []struct{ text, has, want string }{
		{"B(i) + C(i)", "B", "B(i)"},
		{"B(i) + C(i)", "C", "C(i)"},
		{"B(i) - C(i)", "C", "-C(i)"},
		{"B(i) * C(i)", "B", ""},
		{"B(i) * C(i) + D(i)", "D", "D(i)"},
		{"B(i) + 2", "C", "2"},
		{"(B(i) + C(i)) * d(i)", "C", "C(i) * d(i)"},
	} {
		got := ""
		a := parse(t, c.text)
		if e := restrict(a.Table, a.RHS, "i", only(c.has), func(index.Var) bool { return false }); e != nil {
			got = index.String(e)
		}
		if got != c.want {
			t.Errorf("%s where only %s is stored: got %q, want %q", c.text, c.has, got, c.want)
		}
	}
}

// TestLoopsThatRestrictLeaves asks for the inner loop of a union of matrices where both have the row, and where one has.
func TestLoopsThatRestrictLeaves(t *testing.T) {
	p := cin.Concretize(bindtest.Parse(t, "y(i,j) = B(i,j) + C(i,j)", map[string]string{"B": "ss", "C": "ss"}))
	table := Of(p)
	outer := table.Body.(*cin.Forall)
	if outer != p.Body {
		t.Errorf("nothing has no value, and the loops are others: %v", outer)
	}
	for k, want := range []string{"{B.2 C.2} > {B.2} > {C.2}", "{B.2}", "{C.2}"} {
		body := table.Restrict(outer, table.Loop(outer).Points[k], func(v index.Var) bool { return v == "i" })
		if got := table.Loop(body.(*cin.Forall)).String(); got != want {
			t.Errorf("at point %d: got %s, want %s", k, got, want)
		}
		if same := body == outer.Body; same != (k == 0) {
			t.Errorf("at point %d: the same statement: %v", k, same)
		}
	}
}
