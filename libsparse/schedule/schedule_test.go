package schedule

import (
	"strings"
	"testing"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// program is the naive nest of an expression; formats are by name, result included, and dense where they are not given.
func program(t *testing.T, text string, formats map[string]string) *cin.Program {
	t.Helper()
	a, err := index.ParseAssignment(text, func(name string, order int, _ bool) (*index.Tensor, error) {
		x := &index.Tensor{Name: name, Elem: dtype.F64, Index: dtype.I32, Format: format.AllDense(order)}
		if f, ok := formats[name]; ok {
			x.Format = format.MustParse(f)
		}
		return x, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cin.Concretize(a)
}

func operand(p *cin.Program, name string) *index.Tensor {
	for _, t := range p.Source.Tensors() {
		if t.Name == name {
			return t
		}
	}
	return nil
}

const (
	spmm  = "C(i,k) = A(i,j) * B(j,k)"
	sddmm = "S(i,j) = P(i,j) * Q(i,k) * K(j,k)"
)

func vars3(a, b, c index.Var) []index.Var { return []index.Var{a, b, c} }

// TestCommands applies commands and compares what they print and what they make of the program.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		expr     string
		commands []Command
		printed  string // the last command
		want     string
	}{
		{spmm, []Command{Reorder{vars3("i", "j", "k")}}, "reorder(i, j, k)", `forall i
  forall j
    forall k
      C(i,k) += A(i,j) * B(j,k)
`},
		{spmm, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 8, Tail: 4}}, "split(k, k0, k1, 8, tail=4)", `forall i
  forall k0
    forall k1
      forall j
        C(i,k) += A(i,j) * B(j,k)
split k = k0 * 8 + k1, tail 4
`},
		{spmm, []Command{Bound{"k", 16}}, "bound(k, 16)", `forall i
  forall k
    forall j
      C(i,k) += A(i,j) * B(j,k)
bound k = 16
`},
		{spmm, []Command{Parallelize{"i"}, Vectorize{"k"}}, "vectorize(k)", `forall i on threads
  forall k on lanes
    forall j
      C(i,k) += A(i,j) * B(j,k)
`},
		{
			spmm,
			[]Command{Reorder{vars3("i", "j", "k")}, Precompute{At: 1, Name: "w", Storage: cin.Row}, Vectorize{"k"}},
			"vectorize(k)", `forall i
  forall k on lanes
    C(i,k) = w(k)
  where
    forall j
      forall k on lanes
        w(k) += A(i,j) * B(j,k)
workspace w: row of f64, order 1
`,
		},
		{
			spmm, []Command{Precompute{At: 0, Name: "w", Storage: cin.List}}, "precompute(all, w, at=0, list)", `forall i
  forall k
    C(i,k) = w(i,k)
where
  forall i
    forall k
      forall j
        w(i,k) += A(i,j) * B(j,k)
workspace w: list of f64, order 2
`,
		},
		{
			"y(i) = A(i,j) * x(j)", []Command{Precompute{At: 1, Name: "w", Storage: cin.Tile}}, "precompute(all, w, at=1, tile)", `forall i
  y(i) = w
  where
    forall j
      w += A(i,j) * x(j)
workspace w: tile of f64, order 0
`,
		},
	} {
		got, err := Apply(program(t, c.expr, nil), c.commands)
		if err != nil {
			t.Errorf("%s: %v", c.printed, err)
			continue
		}
		if last := c.commands[len(c.commands)-1].String(); last != c.printed {
			t.Errorf("printed as %s, want %s", last, c.printed)
		}
		if got.String() != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.printed, got, c.want)
		}
	}
}

// TestPrecomputeFactors moves some factors of a product into the workspace and leaves the others where it is read.
func TestPrecomputeFactors(t *testing.T) {
	p := program(t, sddmm, map[string]string{"P": "ds", "S": "ds"})
	c := Precompute{Of: []*index.Tensor{operand(p, "Q"), operand(p, "K")}, At: 2, Name: "w", Storage: cin.Tile}
	q, err := Apply(p, []Command{c})
	if err != nil {
		t.Fatal(err)
	}
	if want := "precompute(Q*K, w, at=2, tile)"; c.String() != want {
		t.Errorf("printed as %s, want %s", c, want)
	}
	want := `forall i
  forall j
    S(i,j) = P(i,j) * w
    where
      forall k
        w += Q(i,k) * K(j,k)
workspace w: tile of f64, order 0
`
	if q.String() != want {
		t.Errorf("got\n%swant\n%s", q, want)
	}
}

// TestListOrder reads a list in the order in which the result is stored, whatever the order of the loops.
func TestListOrder(t *testing.T) {
	p := program(t, "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds", "B": "ds", "C": "ss:1,0"})
	q, err := Apply(p, []Command{Precompute{At: 0, Name: "w", Storage: cin.List}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "forall k\n  forall i\n    C(i,k) = w(k,i)\nwhere\n"; !strings.HasPrefix(q.String(), want) {
		t.Errorf("got\n%swant it to begin with\n%s", q, want)
	}
}

func TestAssemble(t *testing.T) {
	p := program(t, "C(i,j) = A(i,j)", map[string]string{"A": "ds", "C": "ds:1,0"})
	q, err := Apply(p, []Command{Assemble{}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(q.String(), "assemble C by insertion\n") || p.Insert {
		t.Errorf("got\n%s", q)
	}
}

func TestPreconditions(t *testing.T) {
	where := Precompute{At: 1, Name: "w", Storage: cin.Tile}
	for _, c := range []struct {
		expr     string
		formats  map[string]string
		commands []Command
		want     string
	}{
		{spmm, nil, []Command{Reorder{[]index.Var{"i", "j"}}}, "reorder(i, j): the nest has the loops [i k j]"},
		{spmm, nil, []Command{Reorder{vars3("i", "j", "j")}}, "reorder(i, j, j): the nest has the loops [i k j]"},
		{spmm, nil, []Command{Reorder{vars3("i", "j", "l")}}, "the nest has the loops [i k j]"},
		{spmm, nil, []Command{where, Reorder{vars3("i", "j", "k")}}, "reorder before precompute"},
		{spmm, nil, []Command{Split{Var: "l", Outer: "l0", Inner: "l1", Factor: 4, Tail: 1}}, "there is no loop over l"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 4, Tail: 3}}, "the tail has to divide the factor"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 4, Tail: 0}}, "the tail has to divide the factor"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "i", Inner: "k1", Factor: 4, Tail: 1}}, "i is bound twice"},
		{spmm, nil, []Command{Parallelize{"k"}}, "parallelize(k, threads): k is not the outermost loop"},
		{spmm, nil, []Command{Reorder{vars3("j", "i", "k")}, Parallelize{"j"}}, "j is reduced over"},
		{"y = x(i)", nil, []Command{Precompute{Name: "w", Storage: cin.Tile}, Parallelize{"i"}}, "i is not the outermost loop"},
		{spmm, nil, []Command{Vectorize{"l"}}, "vectorize(l): there is no loop over l"},
		{spmm, nil, []Command{Precompute{At: 4, Name: "w"}}, "the loops have to be directly nested"},
		{spmm, nil, []Command{where, where}, "the loops have to be directly nested"},
		{spmm, nil, []Command{Assemble{}}, `C(i,k) in format "dd" has no rows to insert into`},
		{spmm, map[string]string{"C": "ds"}, []Command{Assemble{}}, "C(i,k) sums over [j], so an element may be produced twice"},
	} {
		p := program(t, c.expr, c.formats)
		before := p.String()
		_, err := Apply(p, c.commands)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want an error with %q", c.commands, err, c.want)
		}
		if p.String() != before {
			t.Errorf("%v: the program has changed to\n%s", c.commands, p)
		}
	}
}

// TestNotAProduct refuses to take factors from what is none.
func TestNotAProduct(t *testing.T) {
	p := program(t, "C(i,j) = A(i,j) + B(i,j)", nil)
	for _, of := range [][]*index.Tensor{{operand(p, "A")}, {operand(p, "A"), operand(p, "B")}} {
		_, err := Precompute{Of: of, At: 2, Name: "w", Storage: cin.Tile}.Apply(p)
		if err == nil || !strings.Contains(err.Error(), "is no product of these and something else") {
			t.Errorf("got %v", err)
		}
	}
}
