package asymptotic

import (
	"slices"
	"testing"

	"libsparse/libsparse/index"
)

// containment has variables i, j, k, l of the dimensions given and binary predicates A and B.
func containment(dims ...uint8) (l *logic, set func(head varset, clauses ...clause) taskID) {
	l = newLogic(nil, dims, nil)
	return l, func(head varset, clauses ...clause) taskID { return l.task(task{head, l.conjunction(clauses)}) }
}

func at(pred uint8, args ...uint8) clause {
	c := clause{pred: pred, n: uint8(len(args))}
	copy(c.args[:], args)
	return c
}

func TestContainment(t *testing.T) {
	const i, j, k, l, p, q = 0, 1, 2, 3, bound, bound + 1
	const A, B, V = 0, 1, 2
	all := func(vars ...uint8) (s varset) {
		for _, v := range vars {
			s |= 1 << v
		}
		return s
	}
	own, square, pairs := []uint8{0, 1, 2, 3}, []uint8{0, 0, 0, 0}, []uint8{0, 1, 0, 1}
	for name, c := range map[string]struct {
		dims        []uint8
		heads       [2]varset
		bodies      [2]conj
		there, back bool
	}{
		"a clause fewer":     {own, [2]varset{all(i, j), all(i, j)}, [2]conj{{at(A, i, j)}, {at(A, i, p)}}, true, false},
		"an index fewer":     {own, [2]varset{all(i), all(i, j)}, [2]conj{{at(A, i, p)}, {at(A, i, j)}}, true, false},
		"other names":        {pairs, [2]varset{all(k, l), all(i, j)}, [2]conj{{at(A, k, l)}, {at(A, i, j)}}, true, true},
		"other dimensions":   {own, [2]varset{all(k, l), all(i, j)}, [2]conj{{at(A, k, l)}, {at(A, i, j)}}, false, false},
		"transposed, square": {square, [2]varset{all(i, j), all(i, j)}, [2]conj{{at(A, i, j)}, {at(A, j, i)}}, true, true},
		"transposed":         {own, [2]varset{all(i, j), all(i, j)}, [2]conj{{at(A, i, j)}, {at(A, j, i)}}, false, false},
		"two for one":        {own, [2]varset{all(i), all(i)}, [2]conj{{at(A, i, p), at(B, i, p)}, {at(A, i, p), at(B, i, q)}}, true, false},
		"a path onto a loop": {own, [2]varset{0, 0}, [2]conj{{at(A, p, p)}, {at(A, p, q), at(A, q, p)}}, true, false},
		"what adds nothing":  {own, [2]varset{all(i, j), all(i, j)}, [2]conj{{at(A, i, j), at(A, i, p)}, {at(A, i, j)}}, true, true},
		"everything":         {own, [2]varset{all(i, j), all(j, i)}, [2]conj{{at(A, i, j)}, nil}, true, false},
		"different tensors":  {own, [2]varset{all(i), all(i)}, [2]conj{{at(V, i)}, {at(A, i, p)}}, false, false},
	} {
		logic, set := containment(c.dims...)
		first, second := set(c.heads[0], c.bodies[0]...), set(c.heads[1], c.bodies[1]...)
		if got := logic.contained(first, second); got != c.there {
			t.Errorf("%s: contained is %v", name, got)
		}
		if got := logic.contained(second, first); got != c.back {
			t.Errorf("%s: the other way contained is %v", name, got)
		}
	}
}

// An existential isn't captured by the other side's.
func TestExistentialsAreFresh(t *testing.T) {
	a := conj{at(0, 0, 1)}.quantify(1 << 1)
	joined := a.and(conj{at(1, 1, 2)}.quantify(1 << 2)).and(a)
	if joined[0].args[1] == joined[1].args[1] || joined[0].args[1] == joined[2].args[1] {
		t.Errorf("captured: %v", joined)
	}
	if got := joined.minimal(nil); len(got) != 2 {
		t.Errorf("not minimal: %v", got)
	}
}

// TestCosts prices programs with all their tasks, by the paper's figures 2 and 3.
func TestCosts(t *testing.T) {
	for name, c := range map[string]struct {
		text, formats string
		order         []index.Var
		want          []string
	}{
		"fused SDDMM": {"A(i,j) = B(i,k) * C(k,j) * D(i,j)", "D:ss", []index.Var{"i", "j", "k"}, []string{"{ [i,j,k] | D(i,j) }"}},
		"one located": {"d(i) = e(i) * f(i)", "e:s", []index.Var{"i"}, []string{"{ [i] | e(i) }"}},
		"inner product": {
			"A(i,j) = B(i,k) * C(k,j)", "B:ss C:ss:1,0",
			[]index.Var{"i", "j", "k"},
			[]string{"{ [i] | B(i,p) }", "{ [i,j,k] | B(i,k) and C(p,j) }", "{ [i,j,k] | B(i,p) and C(k,j) }"},
		},
		"outer product": {
			"A(i,j) = B(i,k) * C(k,j)", "B:ss:1,0 C:ss",
			[]index.Var{"k", "i", "j"},
			[]string{"{ [k] | B(p,k) }", "{ [k] | C(k,p) }", "{ [i,j,k] | B(i,k) and C(k,j) }"},
		},
	} {
		a := parse(t, c.text, c.formats)
		p, err := newProblem(a)
		if err != nil {
			t.Fatal(err)
		}
		p.sunk, p.assumed = nil, nil
		f := &Frontier{Assignment: a, problem: p, meter: newMeter(p, newStore())}
		ch, err := f.importer([]Nest{{Assignment: a, Order: c.order}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := ch.statement(&Nest{Assignment: a}, c.order, func(acc *index.Access) varset { return ch.stepped(acc, a.Of(acc.Tensor).Format) })
		if err != nil {
			t.Fatal(err)
		}
		got := f.meter.describe(f.meter.total(n))
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
