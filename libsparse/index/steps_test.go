package index

import (
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	for text, want := range map[string]string{
		"y(i) = A(i,j) * x(j)":                           "y(i) = A(i,j) * x(j)",
		"y(i) = A(i,j) * x(j) + b(i)":                    "t1(i) = A(i,j) * x(j); y(i) = t1(i) + b(i)",
		"r(i) = b(i) - A(i,j) * x(j)":                    "t1(i) = A(i,j) * x(j); r(i) = b(i) - t1(i)",
		"y(i) = alpha * (B(i,j) + C(i,j)) * d(j)":        "y(i) = alpha * (B(i,j) + C(i,j)) * d(j)",
		"y(i) = 2 * B(i,j) * c(j) + 3":                   "t1(i) = 2 * B(i,j) * c(j); y(i) = t1(i) + 3",
		"a = b(i) + c(i)":                                "a = b(i) + c(i)",
		"a = b(i) * c(i) + d(j)":                         "t1 = b(i) * c(i); t2 = d(j); a = t1 + t2",
		"y(i) = x(i) * (A(i,j) * z(j) + b(i))":           "t1(i) = A(i,j) * z(j); y(i) = x(i) * (t1(i) + b(i))",
		"y(i) = A(i,j) * (z(j) + B(j,k) * u(k))":         "t1(j) = B(j,k) * u(k); y(i) = A(i,j) * (z(j) + t1(j))",
		"y(i) = A(i,j) * x(j) + B(i,j) * z(j)":           "y(i) = A(i,j) * x(j) + B(i,j) * z(j)",
		"y(i) = A(i,j) * x(j) + B(i,k) * z(k)":           "t1(i) = A(i,j) * x(j); t2(i) = B(i,k) * z(k); y(i) = t1(i) + t2(i)",
		"y(i) = max(A(i,j) * x(j), b(i))":                "y(i) = max(A(i,j) * x(j), b(i))",
		"y(i) = max(A(i,j) * x(j) + b(i), 0)":            "y(i) = max(A(i,j) * x(j) + b(i), 0)",
		"y(i) = max(sum(A(i,j) * x(j)) + b(i), 0)":       "t1(i) = A(i,j) * x(j); y(i) = max(t1(i) + b(i), 0)",
		"y(i) = sum(A(i,j) * x(j))":                      "y(i) = A(i,j) * x(j)",
		"y(i) = exp(A(i,j) - sum(B(i,k)))":               "t1(i) = B(i,k); y(i) = exp(A(i,j) - t1(i))",
		"y(i) = sum(exp(sum(A(i,j))) * B(i,k) + 1) ":     "t1(i) = A(i,j); t2(i) = exp(t1(i)) * B(i,k); y(i) = t2(i) + 1",
		"y(i) max= abs(sum(B(i,k)) + A(i,j))":            "t1(i) = B(i,k); y(i) max= abs(t1(i) + A(i,j))",
		"y(i) = A(i,j) / sum(i)":                         "y(i) = A(i,j) / sum(i)",
		"y(i) = pow(A(i,j), 2) - gt(b(i), 0)":            "t1(i) = pow(A(i,j), 2); y(i) = t1(i) - gt(b(i), 0)",
		"y(i) mean= A(i,j) * x(j)":                       "t1(i) = A(i,j) * x(j); t2(i) = stored(A(i,j) * x(j)); y(i) = t1(i) / max(t2(i), 1)",
		"y(i) |= A(i,j)":                                 "y(i) or= truth(A(i,j))",
		"y(i) min= A(i,j) + B(i,k)":                      "y(i) min= A(i,j) + B(i,k)",
		"t1(i) = A(i,j) * x(j) + b(i)":                   "t2(i) = A(i,j) * x(j); t1(i) = t2(i) + b(i)",
		"y(i) = -(A(i,j) * x(j) + b(i))":                 "t1(i) = A(i,j) * x(j); y(i) = -(t1(i) + b(i))",
		"y(i) = (A(i,j) * x(j) + b(i)) / (c(k) + d(i))":  "t1(i) = A(i,j) * x(j); y(i) = (t1(i) + b(i)) / (c(k) + d(i))",
		"y(i) = A(i,j)*x(j) + B(i,j)*z(j) + b(i) + 2*3 ": "t1(i) = A(i,j) * x(j) + B(i,j) * z(j); y(i) = t1(i) + b(i) + 2 * 3",
	} {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range a.Steps(Names([]*Assignment{a})) {
			got = append(got, s.String())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, "; "), want)
		}
	}
}

// TestSumsWhereTheyAreRead has sums of dense operands be computed where A, which is sparse, has entries, if they are read nowhere else.
func TestSumsWhereTheyAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"C(i,j) = A(i,j) * exp(sum(x(i,k) * z(j,k)))":              "t1(i,j) = stored(A(i,j)) * x(i,k) * z(j,k); C(i,j) = A(i,j) * exp(t1(i,j))",
		"y(i) = stored(A(i,j)) * exp(b(i) + sum(x(i,k) * z(j,k)))": "t1(i,j) = stored(A(i,j)) * x(i,k) * z(j,k); y(i) = stored(A(i,j)) * exp(b(i) + t1(i,j))",
		"y(i) = A(i,j) * (x(i,k) * z(j,k) + b(i))":                 "t1(i,j) = stored(A(i,j)) * x(i,k) * z(j,k); y(i) = A(i,j) * (t1(i,j) + b(i))",
		"C(i,j) = A(i,j) * exp(sum(x(i,k) * z(j,k))) + d(i,j)":     "t1(i,j) = stored(A(i,j)) * x(i,k) * z(j,k); C(i,j) = A(i,j) * exp(t1(i,j)) + d(i,j)",
		"C(i,j) = A(i,j) + exp(sum(x(i,k) * z(j,k)))":              "t1(i,j) = x(i,k) * z(j,k); C(i,j) = A(i,j) + exp(t1(i,j))",
		"C(i,j) = A(i,j) * d(i,j) + sum(x(i,k) * z(j,k))":          "t1(i,j) = x(i,k) * z(j,k); C(i,j) = A(i,j) * d(i,j) + t1(i,j)",
		"C(i,j) = d(i,j) * exp(sum(x(i,k) * z(j,k)))":              "t1(i,j) = x(i,k) * z(j,k); C(i,j) = d(i,j) * exp(t1(i,j))",
		"C(i,j) = A(i,j) * exp(sum(A(i,k) * z(j,k)))":              "t1(i,j) = A(i,k) * z(j,k); C(i,j) = A(i,j) * exp(t1(i,j))",
		"C(i,j) = A(j,i) * exp(sum(z(j,k)))":                       "t1(j) = z(j,k); C(i,j) = A(j,i) * exp(t1(j))",
	} {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			t.Fatal(err)
		}
		sparse := func(x *Tensor) int { return strings.Count(x.Name, "A") }
		together := func(x, y *Access) bool { return x.Tensor == y.Tensor }
		var got []string
		for _, s := range a.StepsAmong(Names([]*Assignment{a}), sparse, together) {
			got = append(got, s.String())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, "; "), want)
		}
	}
}

func TestSumsOverNoIndex(t *testing.T) {
	const left, factor = `"i" on the left side`, `"j" in another factor or argument`
	for text, want := range map[string]string{
		"y(i) = exp(sum(A(i,j)) * x(j))":              left + ", " + factor + "; ... t1(i) = ...",
		"y(i) = A(i,j) * sum(x(j))":                   factor + "; ... t1 = ...",
		"y(i) max= A(i,j) + sum(x(j))":                factor + "; ... t1 = ...",
		"y(i,j) = A(i,j) / sum(A(i,j))":               left + `, "j" on the left side; ... t1(i) = ...`,
		"y(i) = b(i) + sum(sum(A(i,j)) * x(j))":       left + ", " + factor + "; ... t1(i) = ...",
		"t1(i) = 2 * -sum(x(j)) * (A(i,j) + b(i))":    factor + "; ... t2 = ...",
		"y(i) = relu(sum(A(i,j) * x(j)) + sum(x(j)))": left + ", " + factor + "; ... t1(i) = ...",
		"y = sum(sum(A(i,j)))":                        "",
		"y(i) = sum(A(i,j)) - sum(A(i,j) * x(j))":     "",
		"y(i) = x(j) * sum(A(i,j) * B(j,k))":          "",
		"y(i) = b(i) * sum(2)":                        "",
	} {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			t.Fatal(err)
		}
		err = a.Verify()
		for part := range strings.SplitSeq(want, " ... ") {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		}
	}
}
