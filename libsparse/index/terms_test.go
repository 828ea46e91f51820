package index

import (
	"strings"
	"testing"
)

// TestManyTermsStayTogether has a product of which the terms are more than any memory holds.
func TestManyTermsStayTogether(t *testing.T) {
	for _, text := range []string{"y(i) = A(i,j)" + strings.Repeat(" * (B(i,j) - C(j))", 60), "y(i) = A(i,j)" + strings.Repeat(" + B(i,j)", 5)} {
		a, err := ParseAssignment(text, lookup)
		if err != nil {
			t.Fatal(err)
		}
		if got := Terms(a.RHS, 4); len(got) != 1 || got[0] != a.RHS {
			t.Errorf("%.40s: got %d terms, want the expression", text, len(got))
		}
	}
	a, err := ParseAssignment("y(i) = -(A(i,j) + B(i,j)) * (C(i,j) - D(i,j))", lookup)
	if err != nil {
		t.Fatal(err)
	}
	if got := Terms(a.RHS, 4); len(got) != 4 {
		t.Errorf("got %d terms, want 4", len(got))
	}
}
