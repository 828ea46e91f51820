package index

import (
	"strings"
	"testing"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

func dense(name string, _ int) *Tensor {
	return &Tensor{Name: name, Elem: dtype.F64}
}

func lookup(name string, order int, _ bool) (*Tensor, error) { return dense(name, order), nil }

func TestParseAssignment(t *testing.T) {
	for text, want := range map[string]string{
		"y(i) = A(i,j) * x(j)":          "y(i) = A(i,j) * x(j)",
		"a=b+c*d":                       "a = b + c * d",
		"a = (b + c) * d":               "a = (b + c) * d",
		"a = b - (c - d)":               "a = b - (c - d)",
		"a = b - c - d":                 "a = b - c - d",
		"a(i) = -b(i) * 2.5e-1":         "a(i) = -b(i) * 0.25",
		"a(i) = min(b(i), c(i)) / d(i)": "a(i) = min(b(i), c(i)) / d(i)",
		"alpha() = b ( i , j )":         "alpha = b(i,j)",
	} {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if a.String() != want {
			t.Errorf("%s: got %s, want %s", text, a, want)
		}
		again, err := ParseAssignment(a.String(), lookup)
		if err != nil || again.String() != want {
			t.Errorf("%s: printed as %s, which reads as %v (%v)", text, a, again, err)
		}
	}
}

func TestParseAssignmentErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "expected the name of the result at column 1, found the end",
		"y":                                `expected "=" or a reduction such as "+=" at column 2`,
		"y(i":                              `expected "," at column 4, found the end`,
		"y(i) = ":                          "expected a tensor, a number or a parenthesis at column 8",
		"y(i) = A(i) *":                    "found the end",
		"y(i) = (A(i)":                     `expected ")"`,
		"y(i) = A(i) x":                    `expected the end at column 13, found "x"`,
		"y(i) = min(a)":                    "min takes 2 arguments, not 1",
		"y(1) = a":                         "expected an index variable",
		"y(i) = 1.2.3":                     "expected a number",
		"y(i) = a(i) @ b":                  `found "@"`,
		"y(i) = a(i(2))":                   `expected ":" at column 13`,
		"y(i) = a(i(:2))":                  "expected a whole number",
		"y(i) -= a(i)":                     `expected "=" or a reduction`,
		"y = a; y = b":                     "y is assigned twice",
		"y = a; ; z = b":                   "expected the name of the result",
		"y(i) = add[0 & 2](a(i), b(i))":    "expected an argument",
		"y(i) = add[0 &(a(i), b(i))":       `expected a region and "]"`,
		"y(i) = sqrt(a(i), 2)":             "sqrt takes 1 arguments, not 2",
		"y = " + strings.Repeat("(", 5000): "nested too deeply",
		"y = " + strings.Repeat("square(", 20) + "a" + strings.Repeat(")", 20): "too large",
	} {
		_, err := ParseAssignment(text, lookup)
		e := diag.From(err)
		if err == nil || e.Kind != diag.Syntax && e.Kind != diag.Unsupported || !strings.Contains(e.Message, want) {
			t.Errorf("%q: got %v, want a syntax error with %q", text, err, want)
		}
	}
}

func FuzzParseAssignment(f *testing.F) {
	f.Add("y(i) = A(i,j) * x(j) + min(b(i), 2)")
	f.Add("y(i(2:8:3)) max= add[0 & ~1](A(i,j(1:3)), -square(b(j)))")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			return
		}
		if again, err := ParseAssignment(a.String(), lookup); err != nil || again.String() != a.String() {
			t.Errorf("%q prints as %q, which reads as %v (%v)", text, a, again, err)
		}
	})
}

func TestParseEinsum(t *testing.T) {
	two := []*Tensor{dense("A", 2), dense("B", 2)}
	for _, c := range []struct{ spec, want, fault string }{
		{"ij,jk->ik", "out(i,k) = A(i,j) * B(j,k)", ""},
		{" i j , j k -> i k ", "out(i,k) = A(i,j) * B(j,k)", ""},
		{"ij,jk", "out(i,k) = A(i,j) * B(j,k)", ""},
		{"kj,ji", "out(i,k) = A(k,j) * B(j,i)", ""},
		{"ij,ij->", "out = A(i,j) * B(i,j)", ""},
		{"ij,jk->iz", "", `the output index "z" is in no operand`},
		{"ij,jk->ii", "", `the output repeats index "i"`},
		{"ij->i", "", "1 terms and 2 operands"},
		{"i1,jk->i", "", `"1" is no index`},
	} {
		a, err := ParseEinsum(c.spec, two, dense("out", 0), dtype.Mul, dtype.Add)
		switch {
		case c.fault == "" && (err != nil || a.String() != c.want):
			t.Errorf("%s: got %v (%v), want %s", c.spec, a, err, c.want)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: got %v, want an error with %q", c.spec, err, c.fault)
		}
	}
}
