// Package bindtest makes assignments with storage for tests.
//
// Nothing but tests imports it.
package bindtest

import (
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Parse reads an assignment over tensors of doubles. Formats are by name, that of the result included, and dense where they are not given.
func Parse(tb testing.TB, text string, formats map[string]string) bind.Assignment {
	tb.Helper()
	a, err := index.ParseAssignment(text, func(name string, _ int, _ bool) (*index.Tensor, error) {
		return &index.Tensor{Name: name, Elem: dtype.F64}, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	out := bind.Assignment{Assignment: a}
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		s := bind.Storage{Format: format.AllDense(len(acc.Vars)), Index: dtype.I32}
		if f, ok := formats[acc.Tensor.Name]; ok {
			s.Format = format.MustParse(f)
		}
		out = out.With(acc.Tensor, s)
	}
	return out
}

// Change is a with the storage of some tensors changed.
func Change(a bind.Assignment, tensors []*index.Tensor, change func(name string, s *bind.Storage)) bind.Assignment {
	for _, t := range tensors {
		s := *a.Of(t)
		change(t.Name, &s)
		a = a.With(t, s)
	}
	return a
}
