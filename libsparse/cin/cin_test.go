package cin

import (
	"math/rand/v2"
	"strings"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

func tensor(name string) *index.Tensor { return &index.Tensor{Name: name, Elem: dtype.F64} }

// at is an access with one letter a variable.
func at(t *index.Tensor, vars string) *index.Access {
	a := &index.Access{Tensor: t}
	for _, v := range vars {
		a.Vars = append(a.Vars, index.Var(v))
	}
	return a
}

func forall(v string, body Stmt) Stmt { return &Forall{Var: index.Var(v), Body: body} }

// product is C(i,k) = A(i,j) * B(j,k), and a workspace over k to use in it.
func product(t testing.TB) (a bind.Assignment, w *index.Tensor) {
	t.Helper()
	w = tensor("w")
	return bindtest.Parse(t, "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"}).With(w, bind.Storage{Format: format.MustParse("d")}), w
}

func rowwise(t testing.TB) *Program {
	t.Helper()
	a, w := product(t)
	return &Program{Source: a, Workspaces: map[*index.Tensor]Storage{w: Tile}, Body: forall("i", &Where{
		Consumer: forall("k", &Assign{LHS: a.LHS, RHS: at(w, "k")}),
		Producer: forall("j", forall("k", &Assign{LHS: at(w, "k"), Reduce: dtype.Add, RHS: a.RHS})),
	})}
}

func tiled(t testing.TB, factor int64) *Program {
	p := Concretize(rowwise(t).Source)
	p.Relations = []Relation{&Split{Parent: "k", Outer: "k0", Inner: "k1", Factor: factor, Tail: 1}}
	p.Body = forall("i", &Forall{Var: "k0", Body: forall("j", &Forall{Var: "k1", Unit: Lanes, Body: &Assign{
		LHS: p.Source.LHS, Reduce: dtype.Add, RHS: p.Source.RHS,
	}})})
	return p
}

func TestString(t *testing.T) {
	for name, c := range map[string]struct {
		p    *Program
		want string
	}{
		"naive": {Concretize(rowwise(t).Source), `forall i
  forall k
    forall j
      C(i,k) += A(i,j) * B(j,k)
`},
		"where": {rowwise(t), `forall i
  forall k
    C(i,k) = w(k)
  where
    forall j
      forall k
        w(k) += A(i,j) * B(j,k)
workspace w: tile of f64, order 1
`},
		"split": {tiled(t, 3), `forall i
  forall k0
    forall j
      forall k1 on lanes
        C(i,k) += A(i,j) * B(j,k)
split k = k0 * 3 + k1, tail 1
`},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

func TestReductionNames(t *testing.T) {
	y, x := at(tensor("y"), ""), at(tensor("x"), "i")
	for op, want := range map[dtype.Op]string{"": "y = x(i)", dtype.Mul: "y *= x(i)", dtype.Max: "y max= x(i)", dtype.Or: "y or= x(i)"} {
		if got := (&Assign{LHS: y, Reduce: op, RHS: x}).String(); got != want {
			t.Errorf("%q: got %s, want %s", op, got, want)
		}
	}
}

func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Program)
		want   string
	}{
		"right":              {func(*Program) {}, ""},
		"unbound":            {func(p *Program) { p.Body = p.Body.(*Forall).Body }, "i of A(i,j) is not bound"},
		"bound twice":        {func(p *Program) { p.Body = forall("j", p.Body) }, "j is bound twice"},
		"no workspace":       {func(p *Program) { p.Workspaces = nil }, "w is no workspace"},
		"read before filled": {swap, "w(k) is read before it is filled"},
		"half of a split": {func(p *Program) {
			p.Relations = []Relation{&Split{Parent: "i", Outer: "i0", Inner: "i1", Factor: 4, Tail: 1}}
			p.Body = forall("i0", p.Body.(*Forall).Body)
		}, "i of A(i,j) is not bound"},
		"both halves": {func(p *Program) {
			p.Relations = []Relation{&Split{Parent: "i", Outer: "i0", Inner: "i1", Factor: 4, Tail: 1}}
			p.Body = forall("i0", forall("i1", p.Body.(*Forall).Body))
		}, ""},
	} {
		p := rowwise(t)
		c.change(p)
		err := p.Verify()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

// swap puts the reader of the workspace where its writer was.
func swap(p *Program) {
	w := p.Body.(*Forall).Body.(*Where)
	second := &Where{Consumer: w.Producer, Producer: w.Consumer}
	p.Body.(*Forall).Body = second
	p.Workspaces[p.Source.LHS.Tensor] = Tile
}

// TestEvaluate compares programs with the meaning of what they were made from.
func TestEvaluate(t *testing.T) {
	for name, p := range map[string]*Program{
		"naive": Concretize(rowwise(t).Source), "where": rowwise(t), "split": tiled(t, 3), "split in one": tiled(t, 8), "split in ones": tiled(t, 1),
	} {
		for _, n := range []int{0, 1, 5} {
			extents := map[index.Var]int{"i": 4, "j": 3, "k": n}
			data := random(p.Source.Assignment, extents)
			shape := []int{4, n}
			got, want := p.Evaluate(extents, shape, data), p.Source.Evaluate(extents, shape, data)
			for i := range want.Vals {
				if got.Vals[i] != want.Vals[i] || got.Stored[i] != want.Stored[i] {
					t.Errorf("%s, n = %d: element %d is %v (%t), want %v (%t)\n%s", name, n, i,
						got.Vals[i], got.Stored[i], want.Vals[i], want.Stored[i], p)
					break
				}
			}
		}
	}
}

// random stores small integers in half of each operand.
func random(a *index.Assignment, extents map[index.Var]int) map[*index.Tensor]*index.Dense {
	rng := rand.New(rand.NewPCG(1, 2))
	data := map[*index.Tensor]*index.Dense{}
	for _, acc := range index.Accesses(a.RHS) {
		var shape []int
		for _, v := range acc.Vars {
			shape = append(shape, extents[v])
		}
		d := index.NewDense(shape)
		for i := range d.Vals {
			if rng.IntN(2) == 0 {
				d.Vals[i], d.Stored[i] = dtype.Float(dtype.F64, float64(rng.IntN(9)-4)), true
			}
		}
		data[acc.Tensor] = d
	}
	return data
}

func TestValue(t *testing.T) {
	p := rowwise(t)
	if got, want := index.String(Value(p.Body)), "A(i,j) * B(j,k)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Written(p.Body); got != p.Source.LHS {
		t.Errorf("the program writes %s", got)
	}
}

func TestClone(t *testing.T) {
	p := rowwise(t)
	before := p.String()
	q := p.Clone()
	q.Relations = append(q.Relations, &Split{Parent: "i"})
	q.Bounds["k"] = Bounds{Least: 3, Most: 3}
	q.Workspaces[tensor("v")] = Row
	if p.String() != before {
		t.Errorf("a change of the copy shows in\n%s", p)
	}
}
