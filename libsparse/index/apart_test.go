package index

import (
	"strings"
	"testing"
)

func TestSumsApart(t *testing.T) {
	for text, want := range map[string]string{
		"y(i) = A(i,j) * x(j) + z(j)":                       "t1 = z(j); y(i) = A(i,j) * x(j) + t1",
		"y(i) = A(i,j) * x(j) - 2 * z(j) * b(i)":            "t1 = z(j); y(i) = A(i,j) * x(j) - t1 * 2 * b(i)",
		"y(i) = A(i,j) * x(j) + sum(-z(j))":                 "t1 = z(j); y(i) = A(i,j) * x(j) + -t1",
		"y(i) = A(i,j) * x(j) - z(j) / b(i)":                "t1 = z(j); y(i) = A(i,j) * x(j) - t1 / b(i)",
		"y(i,j) = A(i,j) - sum(A(i,k)) * B(i,j)":            "t1(i) = A(i,k); y(i,j) = A(i,j) - t1(i) * B(i,j)",
		"y(i,k) = b(i) * (A(i,j) * x(j) + B(i,j) * C(j,k))": "t1(i) = A(i,j) * x(j); y(i,k) = b(i) * (t1(i) + B(i,j) * C(j,k))",
		"y(i) = A(i,j) * (z(j) + B(j,k) * u(k) + u(k))":     "t1(j) = B(j,k) * u(k); t2 = u(k); y(i) = A(i,j) * (z(j) + t1(j) + t2)",
		"y(i) = A(i,j) * x(j) + B(i,j) * z(j)":              "y(i) = A(i,j) * x(j) + B(i,j) * z(j)",
		"y(i) = A(i,j) * x(j)":                              "y(i) = A(i,j) * x(j)",
		"y(i) = A(i,j) * x(j) + b(i) + 1":                   "y(i) = A(i,j) * x(j) + b(i) + 1",
		"y(i) = max(A(i,j) * x(j) + z(j), 0)":               "y(i) = max(A(i,j) * x(j) + z(j), 0)",
		"y(i) max= A(i,j) + z(j)":                           "y(i) max= A(i,j) + z(j)",
		"y(i) mean= A(i,j) + z(j)":                          "y(i) mean= A(i,j) + z(j)",
		"y(i) = A(i,j) * x(j) + z(j(0:2))":                  "t1 = z(j(0:2)); y(i) = A(i,j) * x(j) + t1",
		"y = A(i,j) * x(j) + z(j)":                          "y = A(i,j) * x(j) + z(j)",
	} {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			t.Fatal(err)
		}
		steps, rest := a.Apart(Names([]*Assignment{a}))
		var got []string
		for _, s := range append(steps, rest) {
			got = append(got, s.String())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, "; "), want)
		}
	}
}

func TestDistributed(t *testing.T) {
	for text, want := range map[string]string{
		"y(i,k) = (A(i,j) + u(j)) * C(j,k)":            "y(i,k) = A(i,j) * C(j,k) + u(j) * C(j,k)",
		"y(i,k) = (A(i,j) - b(i)) * C(j,k)":            "y(i,k) = A(i,j) * C(j,k) + -b(i) * C(j,k)",
		"y(i,k) = b(i) * (A(i,j) - u(j)) * C(j,k) + 1": "y(i,k) = b(i) * (A(i,j) * C(j,k) + -u(j) * C(j,k)) + 1",
		"y(i,k) = (A(i,j) + u(j) + B(i,j)) * C(j,k)":   "y(i,k) = (A(i,j) + B(i,j)) * C(j,k) + u(j) * C(j,k)",
		"y(i,k) = (A(i,j) + B(i,j)) * C(j,k)":          "y(i,k) = (A(i,j) + B(i,j)) * C(j,k)",
		"y(i,j) = (A(i,j) + u(j)) * C(i,j)":            "y(i,j) = (A(i,j) + u(j)) * C(i,j)",
		"y(i,k) = max(A(i,j) + u(j), 0) * C(j,k)":      "y(i,k) = max(A(i,j) + u(j), 0) * C(j,k)",
		"y(i) = A(i,j) + u(j)":                         "y(i) = A(i,j) + u(j)",
		"y(i) max= (A(i,j) + u(j)) * z(j)":             "y(i) max= (A(i,j) + u(j)) * z(j)",
	} {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Distributed(func(Expr, []Expr) bool { return true }).String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
		if got := a.Distributed(func(Expr, []Expr) bool { return false }); got != a {
			t.Errorf("%s became %s", text, got)
		}
	}
}
