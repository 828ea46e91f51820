package libsparse

import (
	"math/rand/v2"
	"strings"
	"testing"

	"libsparse/codegen/crun"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// byRow is a request whose operands A, P, B, C and D have one pattern, and E another one; the others are dense.
func byRow(expr, format, result string, elem dtype.T) *Request {
	r := &Request{Expr: expr, Output: Output{Dtype: string(elem), Format: result}}
	for _, name := range []string{"A", "P", "B", "C", "D", "E", "X", "U", "x", "b", "F", "G", "H", "F_"} {
		if !strings.Contains(expr, name+"(") {
			continue
		}
		o := Operand{Name: name, Dtype: string(elem), Format: format, Shape: []int64{17, 33}, NNZ: 256, PatternOnly: name == "P"}
		switch name {
		case "X":
			o.Format, o.NNZ = "dd", 0
		case "U":
			o.Format, o.Shape, o.NNZ = "dd", []int64{17, 17}, 0
		case "x":
			o.Format, o.Shape, o.NNZ = "d", []int64{33}, 0
		case "b":
			o.Format, o.Shape, o.NNZ = "d", []int64{17}, 0
		case "F", "G", "H", "F_":
			o.Format, o.Shape = "dsd", []int64{17, 33, 4}
			if len(r.Operands) > 0 {
				o.SamePattern = new(int)
			}
		case "E":
		default:
			if len(r.Operands) > 0 {
				o.SamePattern = new(int)
			}
		}
		r.Operands = append(r.Operands, o)
	}
	return r
}

// What is a number of each row is a scalar of one nest, which means what the steps mean.
func TestRowwise(t *testing.T) {
	const softmax = "m(i) max= A(i,k); s(i) = sum(P(i,l) * exp(B(i,l) - m(i))); Y(i,j) = C(i,j) * exp(D(i,j) - m(i)) / s(i)"
	var checks []compiledCheck
	for _, row := range []struct {
		expr, format, result string
		nests                int
	}{
		{softmax, "ds", "ds", 1},
		{"s(i) = sum(A(i,k) * B(i,k)); Y(i,j) = C(i,j) * (D(i,j) - s(i))", "ds", "ds", 1},
		{"Y(i,j) = A(i,j) / sum(B(i,k))", "ds", "ds", 1},
		{"Y(i,j) = A(i,j) / sqrt(sum(B(i,k) * C(i,k)))", "ds", "ds", 1},
		{"m(i) = sum(A(i,k)); y(i) = sum(B(i,j) * (C(i,j) - m(i)) * x(j))", "ds", "d", 1},
		{"m(i) max= X(i,k); Y(i,j) = A(i,j) * exp(B(i,j) - m(i))", "ds", "ds", 1},
		{"s(j) = sum(A(k,j)); Y(i,j) = B(i,j) * s(j)", "ds:1,0", "ds:1,0", 1},
		{"p(i) *= A(i,k); Y(i,j) = B(i,j) * p(i)", "ds", "ds", 1},
		// Entries are blocks of four.
		{"m(i,h) max= F(i,k,h); Y(i,j,h) = G(i,j,h) * exp(H(i,j,h) - m(i,h))", "ds", "dsd", 1},
		{"s(i,h) = sum(F(i,k,h) * G(i,k,h)); Y(i,j,h) = H(i,j,h) - F_(i,j,h) * s(i,h)", "ds", "dsd", 1},
		// A row without entries of E has no greatest one.
		{"m(i) max= E(i,k); Y(i,j) = A(i,j) * exp(B(i,j) - m(i))", "ds", "ds", 2},
		{"m(i) max= A(i,k); y(i) = b(i) - m(i)", "ds", "d", 2},
		// Rows or their entries are not at hand, or the result's pattern has to be found.
		{softmax, "ss", "ss", 3},
		{softmax, "ds:1,0", "ds:1,0", 3},
		{"s(j) = sum(A(k,j)); Y(i,j) = B(i,j) * s(j)", "ds", "ds", 2},
		{"s(i) = sum(A(i,k)); Y(i,j) = B(i,j) * s(i) + E(i,j)", "ds", "ds", 2},
		{"s(i) = sum(A(i,k)); Y(i,j) = s(i) - E(i,j)", "ds", "db", 2},
		// Each entry has a number of its own.
		{"t(i,j) = sum(A(i,j) * U(i,k) * X(k,j)); Y(i,j) = B(i,j) * tanh(t(i,j))", "ds", "ds", 2},
		// Nothing reads m.
		{"m(i) max= A(i,k); s(i) = sum(B(i,l)); Y(i,j) = C(i,j) * s(i)", "do", "do", 3},
	} {
		for _, elem := range []dtype.T{dtype.F32, dtype.F64, dtype.BF16} {
			for seed, density := range []float64{0.05, 0.3, 1} {
				rng := rand.New(rand.NewPCG(uint64(seed), 2))
				r := byRow(row.expr, row.format, row.result, elem)
				z := sizes{vars: map[index.Var]int{"i": 17, "j": 33, "k": 33, "l": 33, "h": 4}}
				if strings.Contains(row.expr, "(k,j)") {
					z.vars["k"] = 17
				}
				p := newProgram(t, r, z, density, rng, nil)
				if len(p.unit.Nests) != row.nests {
					t.Errorf("%s, in %q: %d nests, want %d", row.expr, row.format, len(p.unit.Nests), row.nests)
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
