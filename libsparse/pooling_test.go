package libsparse

import (
	"math/rand/v2"
	"strings"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// attending is the request for attention at the entries of a matrix.
func attending(expr, format string, elem dtype.T, columns int) *Request {
	shapes := map[string][]int64{
		"P": {17, 33}, "M": {17, 33}, "Q": {17, 5}, "K": {33, 5}, "V": {33, int64(columns)},
		"R": {3, 17, 5}, "L": {3, 33, 5}, "W": {3, 33, int64(columns)}, "x": {33}, "Y": {17, int64(columns)},
		"S": {3, 17}, "U": {3, 17}, "N": {17}, "T": {17}, "Z": {3, 17, int64(columns)}, "D": {3, 33, int64(columns)}, "E": {3, 33, int64(columns)},
		"X": {33, 5}, "F": {33, int64(columns)}, "B": {3, 33, int64(columns)}, "C": {3, 17, int64(columns)}, "G": {3, 17, int64(columns)},
	}
	zero := 0
	r := &Request{Expr: expr, Output: Output{Dtype: string(elem)}}
	for _, name := range []string{"P", "M", "Q", "K", "V", "R", "L", "W", "x", "Y", "S", "U", "N", "T", "Z", "D", "E", "X", "F", "B", "C", "G"} {
		if !strings.Contains(expr, name+"(") {
			continue
		}
		o := Operand{Name: name, Dtype: string(elem), Format: strings.Repeat("d", len(shapes[name])), Shape: shapes[name]}
		if name == "P" || name == "M" {
			o.Format, o.NNZ, o.PatternOnly = format, 256, name == "P"
		}
		if name == "M" && strings.Contains(expr, "P(") {
			o.SamePattern = &zero
		}
		r.Operands = append(r.Operands, o)
	}
	_, result, _ := strings.Cut(strings.SplitN(expr, ")", 2)[0], "(")
	r.Output.Format = strings.Repeat("d", strings.Count(result, ",")+1)
	return r
}

// A kernel of one pass, in tiles and entry by entry, and the steps mean what the notation means.
func TestPoolings(t *testing.T) {
	var checks []compiledCheck
	for _, row := range []struct {
		expr, format string
		nests        int
	}{
		{"O(i,k) = softmax_mean(P(i,j) * Q(i,d) * K(j,d), V(j,k))", "ds", 1},
		{"O(i,k) = softmax_mean(M(i,j) * Q(i,d) * K(j,d), V(j,k))", "ds", 1},
		{"O(i,k) = softmax_mean(P(i,j) * Q(i,d) * K(j,d) + M(i,j), V(j,k))", "ds", 1},
		{"O(h,i,k) = softmax_mean(P(i,j) * R(h,i,d) * L(h,j,d), W(h,j,k))", "ds", 1},
		{"O(i,k) = softmax_mean(M(i,j), V(j,k))", "ds", 1},
		{"O(i) = softmax_mean(M(i,j), x(j))", "ds", 1},
		{"O(i,k) = weighted_sum(M(i,j), V(j,k))", "ds", 1},
		{"O(i,k) = weighted_sum(P(i,j) * exp(M(i,j) - x(j)), V(j,k))", "ds", 1},
		{"O(i,k) = weighted_sum(P(i,j) * tanh(sum(M(i,j) * Q(i,d) * K(j,d)) - x(j)), V(j,k))", "ds", 1},
		{"O(h,i,k) = weighted_sum(P(i,j) * sin(sum(M(i,j) * R(h,i,d) * L(h,j,d))), W(h,j,k))", "ds", 1},
		{"O(i,k) = softmax_mean_into(P(i,j) * Q(i,d) * K(j,d), V(j,k), N(i), T(i))", "ds", 1},
		{"O(h,i,k) = softmax_mean_into(P(i,j) * R(h,i,d) * L(h,j,d) + M(i,j), W(h,j,k), S(h,i), U(h,i))", "ds", 1},
		{"O(i) = softmax_mean_into(M(i,j), x(j), N(i), T(i))", "ds", 1},
		{"O(i,d) = weighted_sum_into(M(i,j) * exp(x(j)), K(j,d), Q(i,d), X(j,d), Y(i,k), F(j,k))", "ds", 1},
		{"O(h,i,l) = weighted_sum_into(P(i,j) * exp(sum(R(h,i,f) * L(h,j,f)) - S(h,i)) * (sum(M(i,j) * Z(h,i,g) * W(h,j,g)) - U(h,i)), B(h,j,l), C(h,i,l), D(h,j,l), G(h,i,k), E(h,j,k))", "ds", 1},
		// Scores are stored where the matrix has no compressed rows, or where they are not at its entries.
		{"O(i,k) = softmax_mean(M(i,j) * Q(i,d) * K(j,d), V(j,k))", "ss", 4},
		{"O(i,k) = softmax_mean(M(i,j), V(j,k))", "ds:1,0", 5},
		{"O(j,k) = softmax_mean(M(i,j), Y(i,k))", "ds", 5},
		{"O(i,k) = weighted_sum(M(i,j) * Q(i,d) * K(j,d), V(j,k))", "ss", 2},
	} {
		for _, elem := range []dtype.T{dtype.F32, dtype.F64, dtype.BF16} {
			for seed, columns := range []int{3, 16, 70} {
				if elem != dtype.F32 && columns != 16 || elem == dtype.BF16 && strings.Contains(row.expr, "_into") {
					continue
				}
				rng := rand.New(rand.NewPCG(uint64(seed), 1))
				r := attending(row.expr, row.format, elem, columns)
				z := sizes{vars: map[index.Var]int{"h": 3, "i": 17, "j": 33, "d": 5, "f": 5, "g": columns, "k": columns, "l": columns}}
				p := newProgram(t, r, z, []float64{0.1, 0.5, 1}[seed], rng, nil)
				if (len(p.unit.Nests) == 1) != (row.nests == 1) {
					t.Errorf("%s, matrix in %q: %d nests, want %d", row.expr, row.format, len(p.unit.Nests), row.nests)
				}
				if row.nests > 1 {
					checks = append(checks, p.agreeSteps(t, r, z, rng)...)
					continue
				}
				checks = append(checks, p.agree(t, r))
			}
		}
	}
	runAll(t, checks, crun.Options{Quick: true})
}

// What gives the weights is stored in one pass, into operands of its own with the type of the sums, or there is an error.
func TestStoredWeights(t *testing.T) {
	for _, row := range []struct {
		expr, format string
		elem         dtype.T
	}{
		{"O(i,k) = softmax_mean_into(M(i,j) * Q(i,d) * K(j,d), V(j,k), N(i), T(i))", "ss", dtype.F32},
		{"O(i,k) = softmax_mean_into(M(i,j) * Q(i,d) * K(j,d), V(j,k), N(i), T(i))", "ds", dtype.BF16},
		{"O(i,k) = softmax_mean_into(M(i,j) * Q(i,d) * K(j,d), V(j,k), Q(i,d), T(i))", "ds", dtype.F32},
		{"O(i) = softmax_mean_into(M(i,j) * N(i), x(j), N(i), T(i))", "ds", dtype.F32},
		{"O(i) = softmax_mean_into(M(i,j), x(j), 2 * N(i), T(i))", "ds", dtype.F32},
		{"O(i) = softmax_mean_into(M(i,j), x(j), x(j), T(i))", "ds", dtype.F32},
		{"O(i) = softmax_mean_into(M(i,j), x(j), T(i), T(i))", "ds", dtype.F32},
		{"O(i,d) = weighted_sum_into(M(i,j) * exp(x(j)), K(j,d), Q(i,d), X(j,d), Y(i,k), F(j,k))", "ss", dtype.F32},
		{"O(i,d) = weighted_sum_into(M(i,j) * exp(x(j)), K(j,d), Q(i,d), K(j,d), Y(i,k), F(j,k))", "ds", dtype.F32},
		{"O(i,d) = weighted_sum_into(M(i,j) * exp(x(j)), K(j,d), Q(i,d), X(j,d), Y(i,k), X(j,k))", "ds", dtype.F32},
		{"O(i,d) = weighted_sum_into(M(i,j) * exp(x(j)), K(j,d), Q(i,d), T(i), Y(i,k), F(j,k))", "ds", dtype.F32},
		{"O(i,d) = weighted_sum_into(M(i,j) * exp(x(j)), K(j,d), x(j), X(j,d), Y(i,k), F(j,k))", "ds", dtype.F32},
		{"O(i,d) = weighted_sum_into(M(i,j), K(j,d), Q(i,d), X(j,d), Y(i,k), F(j,k))", "ds", dtype.F32},
	} {
		if _, err := Lower(attending(row.expr, row.format, row.elem, 16), avx2); err == nil || diag.From(err).Kind != diag.Unsupported {
			t.Errorf("%s, %s, matrix in %q: %v, want that it is unsupported", row.expr, row.elem, row.format, err)
		}
	}
}

// The scores of several heads with a mask that is added: the path of a part whose result has no format yet.
func TestPathsOfParts(t *testing.T) {
	r := attending("O(h,i,j) = P(i,j) * R(h,i,d) * L(h,j,d) + M(i,j)", "ds", dtype.F32, 4)
	r.Output.Format = ""
	if _, err := Lower(r, avx2); err != nil {
		t.Error(err)
	}
}
