package libsparse

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFunctionsAreTabulated has the steps of expressions with a matrix of many entries, in which each function would be computed at every
// entry.
func TestFunctionsAreTabulated(t *testing.T) {
	cases := []struct {
		name, format, expr string
		want               []string
	}{
		{"a vector", "dd", "Y(i,k) = A(i,j) * tanh(d(j)) * X(j,k)", []string{"t1(j) = tanh(d(j))", "Y(i,k) = A(i,j) * t1(j) * X(j,k)"}},
		{"a matrix", "dd", "Y(i,k) = A(i,j) * exp(X(j,k))", []string{"t1(j,k) = exp(X(j,k))", "Y(i,k) = A(i,j) * t1(j,k)"}},
		{"columns of the result", "dd", "Y(i,k) = A(i,j) * X(j,k) * log(b(k))", []string{"t1(k) = log(b(k))", "Y(i,k) = A(i,j) * X(j,k) * t1(k)"}},
		{"all of it", "d", "y(i) = A(i,j) * (2 / (1 + exp(d(j))))", []string{"t1(j) = 2 / (1 + exp(d(j)))", "y(i) = A(i,j) * t1(j)"}},
		{"two", "dd", "Y(i,k) = A(i,j) * exp(d(j)) * X(j,k) * sin(b(k))", []string{"t1(j) = exp(d(j))", "t2(k) = sin(b(k))", "Y(i,k) = A(i,j) * t1(j) * X(j,k) * t2(k)"}},
		{"an epilogue", "dd", "Y(i,k) = relu(sum(A(i,j) * tanh(d(j)) * X(j,k)))", []string{"t1(j) = tanh(d(j))", "Y(i,k) = relu(sum(A(i,j) * t1(j) * X(j,k)))"}},
		{"at entries", "", "C(i,j) = A(i,j) * exp(e(i) + d(j))", nil},
		{"of entries", "d", "y(i) = exp(A(i,j)) * d(j)", nil},
		{"a root", "d", "y(i) = A(i,j) * rsqrt(d(j))", []string{"t1(j) = rsqrt(d(j))", "y(i) = A(i,j) * t1(j)"}},
		{"more elements than operands have", "d", "y(i) = A(i,j) * exp(d(j) + w(l))", []string{"t1(j) = exp(d(j) + w(l))", "y(i) = A(i,j) * t1(j)"}},
		{"more elements than operands have, all needed", "dd", "Y(i,l) = A(i,j) * exp(d(j) + w(l))", nil},
		{"quotients of entries", "d", "y(i) = A(i,j) / d(j)", nil},
		{"cheap", "d", "y(i) = A(i,j) * relu(d(j))", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all := []Operand{
				{Name: "A", Format: "ds", Dtype: "f32", Index: "i32", Shape: []int64{4096, 4096}, NNZ: 1 << 20},
				dense("X", 4096, 16), dense("d", 4096), dense("e", 4096), dense("b", 16), dense("w", 512),
			}
			if diff := cmp.Diff(c.want, stepsOf(t, c.expr, c.format, all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestProductsAreDivided has the steps of products whose factors have calls and numbers, and of sums that are needed once.
func TestProductsAreDivided(t *testing.T) {
	cases := []struct {
		expr string
		want []string
	}{
		{"z(k) = 2 * A(i,j) * X(j,k)", []string{"t1(j) = A(i,j)", "z(k) = 2 * t1(j) * X(j,k)"}},
		{"z(k) = -(relu(A(i,j)) * X(j,k))", []string{"t1(j) = relu(A(i,j))", "z(k) = -(t1(j) * X(j,k))"}},
		{"z(k) = A(i,j) / d(j) * X(j,k)", []string{"t1(j) = A(i,j) / d(j)", "z(k) = t1(j) * X(j,k)"}},
		{"z(k) = b(k) - A(i,j) * X(j,k)", []string{"t2(j) = A(i,j)", "t1(k) = t2(j) * X(j,k)", "z(k) = b(k) - t1(k)"}},
		{"y(i) = A(i,j) * d(j) + X(j,k) * b(k)", []string{"t1 = X(j,k) * b(k)", "y(i) = A(i,j) * d(j) + t1"}},
		{"C(i,j) = A(i,j) - sum(B(i,l)) * P(i,j)", []string{"t1(i) = B(i,l)", "C(i,j) = A(i,j) - t1(i) * P(i,j)"}},
		{"y(i) = A(i,j) * i * d(j)", nil},
		{"Y(i,k) = (A(i,j) - d(j)) * X(j,k)", []string{"t1(k) = -d(j) * X(j,k)", "Y(i,k) = A(i,j) * X(j,k) + t1(k)"}},
		{"C(i,j) = A(i,j) * exp(sum(B(m,j)))", []string{"t1(j) = B(m,j)", "t2(j) = exp(t1(j))", "C(i,j) = A(i,j) * t2(j)"}},
	}
	sparse := func(name string) Operand {
		return Operand{Name: name, Format: "ds", Dtype: "f32", Index: "i32", Shape: []int64{4096, 4096}, NNZ: 1 << 20}
	}
	for _, c := range cases {
		all := []Operand{
			sparse("A"),
			dense("X", 4096, 64), dense("d", 4096), dense("b", 64), sparse("B"), sparse("P"),
		}
		if diff := cmp.Diff(c.want, stepsOf(t, c.expr, "", all)); diff != "" {
			t.Errorf("%s: %s", c.expr, diff)
		}
	}
}

// dense is a dense operand of a shape.
func dense(name string, shape ...int64) Operand {
	return Operand{Name: name, Format: "dd"[:len(shape)], Dtype: "f32", Shape: shape}
}

// stepsOf are the steps that an expression takes, with those of the operands that it reads; nil where it takes one.
func stepsOf(t *testing.T, expr, format string, all []Operand) (steps []string) {
	t.Helper()
	read := slices.DeleteFunc(slices.Clone(all), func(o Operand) bool { return !strings.Contains(expr, o.Name+"(") })
	unit := &Compilation{Request: &Request{Expr: expr, Operands: read, Output: Output{Format: format}}, Backend: avx2}
	if err := run(unit, FrontStages(), nil); err != nil {
		t.Fatal(err)
	}
	if len(unit.Nests) == 1 {
		return nil
	}
	for _, n := range unit.Nests {
		steps = append(steps, n.Assignment.String())
	}
	return steps
}
