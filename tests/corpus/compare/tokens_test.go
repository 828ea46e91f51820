package main

import "testing"

func TestCompareC(t *testing.T) {
	for _, c := range []struct {
		base, now string
		want      outcome
	}{
		{"a = b; /* why */", "a = b; // because\n", identical},
		{"for (i = 0; i < n; i++) y[i] += 1.5e-3f;", "for (j = 0; j < m; j++) out[j] += 1.5e-3f;", renamed},
		{"a = b + c;", "a = b + b;", different},
		{"a = b + b;", "a = b + c;", different},
		{"x = 1;", "x = 2;", different},
		{"x = 1;", "x = 1; y = 2;", different},
		{"#include <math.h>\ny = exp(x);", "double exp(double);\nvoid *malloc(__SIZE_TYPE__);\ny = exp(x);", identical},
		{"x = y - 1;", "x = y + 1;", different},
		{"x = 0x1p-3;", "x = 0x1p+3;", different},
	} {
		if got, _ := compareC(c.base, c.now); got != c.want {
			t.Errorf("%s | %s: outcome %d, want %d", c.base, c.now, got, c.want)
		}
	}
}
