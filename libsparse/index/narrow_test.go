package index

import (
	"strings"
	"testing"
)

// TestWidePartsOfProductsHaveFewVariables has factors that are sums of entries become steps before those that have other variables.
func TestWidePartsOfProductsHaveFewVariables(t *testing.T) {
	for text, want := range map[string]string{
		"y(i,k) = A(i,j) * X(j,k) * (B(i,j) + C(i,j)) * (D(i,j) + E(i,j)) * (A(i,j) + B(i,j))": "t1(i,j) = A(i,j) * (B(i,j) + C(i,j)) * (D(i,j) + E(i,j)); " +
			"y(i,k) = t1(i,j) * (A(i,j) + B(i,j)) * X(j,k)",
		"y(i,k) = A(i,j) * X(j,k) * (B(i,j) + C(i,j))": "y(i,k) = A(i,j) * X(j,k) * (B(i,j) + C(i,j))",
	} {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range a.Narrow(Names([]*Assignment{a}), func(u *Tensor) int {
			if strings.Contains("ABCDE", u.Name) {
				return 1
			}
			return 0
		}) {
			got = append(got, s.String())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, "; "), want)
		}
	}
}
