package schedule

import (
	"strings"
	"testing"

	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// program is the naive nest of an expression; formats are by name, result included, and dense where they are not given.
func program(t *testing.T, text string, formats map[string]string) *cin.Program {
	t.Helper()
	return cin.Concretize(bindtest.Parse(t, text, formats))
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
		{"D(i,k) = B(i,k)", []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 8, Tail: 4}}, "split(k, k0, k1, 8, tail=4)", `forall i
  forall k0
    forall k1
      D(i,k) = B(i,k)
split k = k0 * 8 + k1, tail 4
`},
		{spmm, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 8}}, "split(k, k0, k1, 8)", `forall i
  forall k0
    forall k1
      forall j
        C(i,k) += A(i,j) * B(j,k)
split k = k0 * 8 + k1
`},
		{spmm, []Command{Divide{Var: "j", Outer: "j0", Inner: "j1", Parts: 3}, Unroll{"j1", 4}}, "unroll(j1, 4)", `forall i
  forall k
    forall j0
      forall j1 unrolled 4
        C(i,k) += A(i,j) * B(j,k)
divide j = j0 * ceil(j / 3) + j1
`},
		{spmm, []Command{Reorder{vars3("i", "j", "k")}, Fuse{"i", "j", "f"}, Pos{"f", "fp", "A"}, Parallelize{"fp", cin.Atomics}}, "parallelize(fp, threads, atomics)", `forall fp on threads with atomics
  forall k
    C(i,k) += A(i,j) * B(j,k)
fuse f = i * |j| + j
positions fp: f as stored in A(i,j)
`},
		{spmm, []Command{Reorder{vars3("i", "j", "k")}, Prefetch{Var: "j", Distance: 8}}, "prefetch(j, 8)", `forall i
  forall j prefetching 8
    forall k
      C(i,k) += A(i,j) * B(j,k)
`},
		{spmm, []Command{Ahead{"j", "A", 64}}, "ahead(j, A, 64)", `forall i
  forall k
    forall j with entries of A 64 ahead
      C(i,k) += A(i,j) * B(j,k)
`},
		{spmm, []Command{Gather{"j"}}, "gather(j)", `forall i
  forall k
    forall j gathering
      C(i,k) += A(i,j) * B(j,k)
`},
		{spmm, []Command{Adjacent{"j"}}, "adjacent(j)", `forall i
  forall k
    forall j of adjacent coordinates
      C(i,k) += A(i,j) * B(j,k)
`},
		{spmm, []Command{Order{"i", "A"}}, "order(i, A)", `forall i by the lengths of rows of A
  forall k
    forall j
      C(i,k) += A(i,j) * B(j,k)
`},
		{"y(i) = A(i) + B(i)", []Command{MergeBy{Var: "i", Choose: true}}, "mergeby(i, choose)", `forall i choosing
  y(i) = A(i) + B(i)
`},
		{spmm, []Command{Bound{"k", 9, 15}}, "bound(k, 9, 15)", `forall i
  forall k
    forall j
      C(i,k) += A(i,j) * B(j,k)
bound k = 9 to 15
`},
		{spmm, []Command{Exactly("k", 16)}, "bound(k, 16)", `forall i
  forall k
    forall j
      C(i,k) += A(i,j) * B(j,k)
bound k = 16
`},
		{spmm, []Command{Reorder{vars3("i", "j", "k")}, Parallelize{Var: "i"}, Vectorize{"k"}}, "vectorize(k)", `forall i on threads
  forall j
    forall k on lanes
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
			spmm, []Command{renaming("i:u k:v"), Split{Var: "u", Outer: "u0", Inner: "u1", Factor: 4}, Vectorize{"k"}}, "vectorize(k)", `forall i
  forall k on lanes
    C(i,k) = w(i,k)
where
  forall u0
    forall u1
      forall v
        forall j
          w(i,k) += A(i,j) * B(j,k)
rename i = u
rename k = v
split u = u0 * 4 + u1
workspace w: array of f64, order 2
`,
		},
		{
			"y = x(i)",
			[]Command{Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 4}, Precompute{At: 1, Name: "w", Rename: renaming("i1:u").Rename}},
			"precompute(all, w, at=1, rename=i1:u)", `forall i0
  forall i1
    y += w(i1)
  where
    forall u
      w(i1) = x(i)
split i = i0 * 4 + i1
rename i1 = u
workspace w: tile of f64, order 1
`,
		},
		{
			spmm,
			[]Command{Precompute{At: 0, Name: "w", Storage: cin.List}, Parallelize{Var: "i"}},
			"parallelize(i, threads)",
			`forall i
  forall k
    C(i,k) = w(i,k)
where
  forall i on threads
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
		{
			"y(i) = sin(B(i,j)) * x(j)", []Command{Precompute{Of: "B(i,j)", At: 1, Name: "w"}}, "precompute(B(i,j), w, at=1)", `forall i
  forall j
    y(i) += sin(w(j)) * x(j)
  where
    forall j
      w(j) = B(i,j)
workspace w: array of f64, order 1
`,
		},
	} {
		got, err := Apply(program(t, c.expr, map[string]string{"A": "ds"}), c.commands)
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
	c := Precompute{Of: "Q*K", At: 2, Name: "w", Storage: cin.Tile}
	q, err := Apply(p, []Command{c})
	if err != nil {
		t.Fatal(err)
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
	q, err := Apply(p, []Command{Assemble{Insert: true}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(q.String(), "assemble C by insertion\n") || p.Insert {
		t.Errorf("got\n%s", q)
	}
}

func TestPreconditions(t *testing.T) {
	where := Precompute{At: 1, Name: "w"}
	csr := map[string]string{"A": "ds"}
	for _, c := range []struct {
		expr     string
		formats  map[string]string
		commands []Command
		want     string
	}{
		{spmm, nil, []Command{Reorder{vars3("i", "j", "j")}}, "reorder(i, j, j): j is named twice"},
		{spmm, nil, []Command{Reorder{vars3("i", "j", "l")}}, "there is no loop over l; the loops are [i k j]"},
		{spmm, nil, []Command{where, Reorder{vars3("i", "j", "k")}}, "the loops are not directly nested in one another"},
		{spmm, csr, []Command{Reorder{[]index.Var{"j", "i"}}}, `the loops [j k i] contradict the order in which A(i,j) in format "ds" is stored`},
		{spmm, csr, []Command{Pos{"j", "jp", "A"}, Reorder{vars3("jp", "k", "i")}}, "the loops [jp k i] contradict the order"},
		{spmm, csr, []Command{
			Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 4},
			Pos{"j", "jp", "A"},
			Split{Var: "jp", Outer: "p0", Inner: "p1", Factor: 4},
			Reorder{vars3("i0", "p0", "i1")},
		}, "visit positions of A(i,j) before i is known"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 4}, Reorder{[]index.Var{"k", "i"}}}, "there is no loop over k: it has become [k0 k1]"},
		{spmm, nil, []Command{Split{Var: "l", Outer: "l0", Inner: "l1", Factor: 4, Tail: 1}}, "there is no loop over l"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 4, Tail: 3}}, "the tail has to divide the factor"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 4, Joined: true}}, "strips are joined with those of a tail"},
		{"D(i,k) = B(i,k)", nil, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 4, Tail: 4, Joined: true}, Reorder{vars3("k0", "i", "k1")}, Parallelize{Var: "k0"}}, "no units can share them"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 0}}, "the factor has to be at least 1"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "i", Inner: "k1", Factor: 4, Tail: 1}}, "i is already a variable"},
		{spmm, nil, []Command{Split{Var: "k", Outer: "k0", Inner: "k1", Factor: 4, Tail: 2}}, "strips that overlap would count twice"},
		{"D(i,j) = A(i,j)", csr, []Command{Split{Var: "j", Outer: "j0", Inner: "j1", Factor: 4, Tail: 2}}, "j is stored sparsely"},
		{spmm, nil, []Command{Divide{"k", "k0", "k1", 0}}, "the number of parts has to be at least 1"},
		{spmm, nil, []Command{Divide{"q", "k0", "k1", 2}}, "there is no loop over q"},
		{spmm, nil, []Command{Fuse{"i", "j", "f"}}, "the loop over j is not directly in the one over i; reorder first"},
		{spmm, csr, []Command{Pos{"j", "jp", "A"}, Fuse{"k", "jp", "f"}}, "jp runs over positions; fuse first"},
		{spmm, nil, []Command{Pos{"k", "kp", "B"}}, `k is dense in B(j,k) in format "dd": its positions are its coordinates`},
		{spmm, csr, []Command{Pos{"k", "kp", "A"}}, "A(i,j) has no index k"},
		{spmm, csr, []Command{Pos{"j", "jp", "X"}}, "X is no operand; the operands are [A B]"},
		{spmm, csr, []Command{Pos{"q", "qp", "A"}}, "there is no loop over q"},
		{"C(i,j) = A(i,j) + B(i,j)", csr, []Command{Pos{"j", "jp", "A"}}, "has values where A(i,j) stores nothing"},
		{"y(i) = A(i,j)", map[string]string{"A": "uq"}, []Command{Pos{"i", "ip", "A"}}, "stores i more than once; fuse it with the levels below"},
		{"y(i) = A(i,j)", map[string]string{"A": "bs"}, []Command{Fuse{"i", "j", "f"}, Pos{"f", "fp", "A"}}, "has no positions to visit"},
		{spmm, nil, []Command{Exactly("q", 4)}, "there is no variable q"},
		{spmm, nil, []Command{Exactly("k", 4), Exactly("k", 5)}, "k is already bound to 4"},
		{spmm, nil, []Command{Bound{"k", 4, 6}, Exactly("k", 5)}, "k is already bound to 4 to 6"},
		{spmm, nil, []Command{Bound{"k", 6, 4}}, "the least extent comes first"},
		{spmm, nil, []Command{Prefetch{Var: "k"}}, "the distance has to be from 1 to 256"},
		{spmm, csr, []Command{Ahead{"j", "A", 5000}}, "the distance has to be from 1 to 4096"},
		{spmm, csr, []Command{Ahead{"j", "D", 64}}, "there is no operand D"},
		{spmm, csr, []Command{Ahead{"i", "A", 64}}, `A(i,j), stored as "ds", has no entries over i that follow each other`},
		{spmm, nil, []Command{Order{"i", "D"}}, "there is no operand D"},
		{spmm, csr, []Command{Order{"j", "A"}}, "not by rows over j"},
		{spmm, nil, []Command{Unroll{"k", 1}}, "the factor has to be from 2 to 64"},
		{spmm, csr, []Command{Parallelize{Var: "j"}}, "iterations over j write the same elements of C(i,k)"},
		{spmm, nil, []Command{Parallelize{Var: "i"}, Parallelize{Var: "k"}}, "the loop over i around it runs on threads already"},
		{"y(i) = A(i) * B(i)", map[string]string{"A": "s", "B": "s"}, []Command{Parallelize{Var: "i"}}, "visits {A.1 B.1} together"},
		{"y(i) min= A(i) * b(i)", map[string]string{"A": "s"}, []Command{Precompute{Of: "A", Name: "w", Storage: cin.Array}}, "in a workspace it is zero there, which changes min"},
		{"C(i,j) = A(i,j)", map[string]string{"A": "ds", "C": "ds"}, []Command{Precompute{At: 1, Name: "w", Storage: cin.Array}}, "an array doesn't tell which elements that are"},
		{"y = x(i)", nil, []Command{Precompute{Name: "w", Storage: cin.Tile}, Parallelize{Var: "i"}}, "the same elements of the workspace w"},
		{spmm, map[string]string{"C": "ds"}, []Command{Precompute{At: 2, Name: "w"}, Parallelize{Var: "k"}}, "threads fill rows of C(i,k), which are [i]"},
		{"C(i,j) = A(i,j)", map[string]string{"A": "ss", "C": "ss"}, []Command{Parallelize{Var: "j"}}, "threads can divide the outermost loop only, over i"},
		{spmm, nil, []Command{Vectorize{"l"}}, "vectorize(l): there is no loop over l"},
		{"y(i) = A(j,i)", nil, []Command{Reorder{[]index.Var{"j", "i"}}, Vectorize{"j"}}, "the loop over j is not innermost, and"},
		{spmm, nil, []Command{Vectorize{"j"}}, "precompute the sum in a scalar"},
		{"y(i) = A(i) + B(i)", map[string]string{"A": "s", "B": "s", "y": "s"}, []Command{MergeBy{Var: "i", Gallop: true}}, "visits {A.1 B.1}, what any of them stores"},
		{"y(i) = A(i) * B(i)", map[string]string{"A": "s"}, []Command{MergeBy{Var: "i", Gallop: true}}, "visits what one level stores"},
		{"y(i) = A(i) * B(i)", nil, []Command{MergeBy{Var: "i", Gallop: true}}, "visits every coordinate"},
		{"y(i) = A(i) * B(i)", map[string]string{"A": "s", "B": "s"}, []Command{MergeBy{Var: "j", Gallop: true}}, "there is no loop over j"},
		{"y(i) = A(i,j) * B(i,j)", map[string]string{"A": "uq", "B": "ss"}, []Command{MergeBy{Var: "i", Gallop: true}}, "can't be searched"},
		{"y(i) = A(i) * B(i)", map[string]string{"A": "s", "B": "s"}, []Command{MergeBy{Var: "i", Gallop: true}, Pos{"i", "ip", "A"}}, "a later command has made of it the loop over ip"},
		{"y(i) = A(i) * B(i)", map[string]string{"A": "s", "B": "s"}, []Command{MergeBy{Var: "i", Gallop: true}, Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 4}}, "a later command has made of it the loop over i0"},
		{spmm, nil, []Command{Precompute{At: 4, Name: "w"}}, "has 3 loops"},
		{spmm, nil, []Command{Precompute{At: 1, Name: "A"}}, "A is already a tensor"},
		{spmm, nil, []Command{Precompute{At: 1, Name: "w", Storage: cin.Tile}}, "a tile over [k] has no constant size"},
		{spmm, nil, []Command{Precompute{Of: "A(j,i)", At: 0, Name: "w"}}, "A(j,i) is no part of A(i,j) * B(j,k)"},
		{"y(i) = pow(x(i), 3)", nil, []Command{Precompute{Of: "3", Name: "w"}}, "3 is a constant, so there is nothing to compute"},
		{"y(i) = x(i)", nil, []Command{Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 4, Tail: 2}, Reorder{[]index.Var{"i1", "i0"}}}, "the loop over i0 has to stand outside the one over i1"},
		{"y(i) = x(i)", nil, []Command{Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 4, Tail: 2}, Precompute{Name: "w"}}, "indexed by i0, which has no fixed number of values"},
		{spmm, nil, []Command{renaming("z:zw")}, "there is no variable z to rename; the loops are [i k j]"},
		{spmm, nil, []Command{renaming("i:j")}, "j is already a variable"},
		{spmm, nil, []Command{renaming("i:u k:u")}, "u is already a variable"},
		{spmm, nil, []Command{renaming("i:u"), Split{Var: "i", Outer: "i0", Inner: "u", Factor: 2}}, "u is already a variable"},
		{spmm, nil, []Command{renaming("i:u i:v")}, "i is renamed twice"},
		{spmm, nil, []Command{Precompute{At: 1, Name: "w", Rename: renaming("i:u").Rename}}, "w is not computed by a loop over i below at=1, but by loops over [k j]"},
		{spmm, nil, []Command{Precompute{Of: "B", Name: "w", Rename: renaming("i:u").Rename}}, "w is not computed by a loop over i below at=0, but by loops over [k j]"},
		{spmm, nil, []Command{Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 2}, renaming("i:u")}, "but by loops over [i0 i1 k j]"},
		{"y min= x(i)", map[string]string{"x": "s"}, []Command{renaming("i:u")}, "x(i) has no value where nothing is stored; in a workspace it is zero there, which changes min"},
		{spmm, nil, []Command{renaming("i:u"), Reorder{[]index.Var{"u", "i"}}}, "the loops are not directly nested in one another"},
		{spmm, nil, []Command{renaming("i:u k:v"), Parallelize{Var: "v"}, Parallelize{Var: "u"}}, "the loop over u around it runs on threads already"},
		{spmm, csr, []Command{renaming("i:u k:v"), Reorder{[]index.Var{"j", "u"}}}, "the loops [j v u] contradict the order in which A(i,j)"},
		{spmm, nil, []Command{renaming("i:u"), Exactly("u", 4), Exactly("i", 5)}, "i is already bound to 4"},
		{"y(i) = A(i,j) * x(j)", nil, []Command{Precompute{Name: "w"}, Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 4, Tail: 2}}, "w(i) is reduced into, so strips that overlap would count twice"},
		{"y(i) = A(i,j) * x(j)", nil, []Command{renaming("i:u"), Split{Var: "u", Outer: "i0", Inner: "i1", Factor: 4, Tail: 2}}, "w(i) is reduced into, so strips that overlap would count twice"},
		{"y(i) = x(i)", nil, []Command{Split{Var: "i", Outer: "i0", Inner: "i1", Factor: 4, Tail: 2}, Precompute{At: 1, Name: "w", Rename: renaming("i1:u").Rename}, Split{Var: "u", Outer: "a", Inner: "b", Factor: 2}}, "shifted strips can't be divided again"},
		{"y(i) = A(i) * x(i)", map[string]string{"A": "s"}, []Command{Precompute{Of: "x", Name: "w", Rename: renaming("i:u").Rename}, Pos{"u", "p", "A"}}, "has values where A(i) stores nothing"},
		{"y(i) = A(i,j) + B(i,j)", nil, []Command{Precompute{Of: "A(j,i)", At: 0, Name: "w"}}, "A(j,i) is no part of"},
		{spmm, nil, []Command{Assemble{Insert: true}}, `C(i,k) in format "dd" is known`},
		{spmm, map[string]string{"C": "sd"}, []Command{Assemble{Insert: true}}, "has no rows to insert into"},
		{"C(i,j) = A(i,j)", map[string]string{"A": "ds", "C": "ss:1,0"}, []Command{Precompute{At: 0, Name: "w"}, Assemble{Insert: true}}, "counted first"},
		{spmm, map[string]string{"C": "ds"}, []Command{Assemble{Insert: true}}, "C(i,k) sums over [j], so an element may be produced twice"},
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

// renaming is a workspace around everything with new names.
func renaming(pairs string) Precompute {
	c := Precompute{Name: "w"}
	for _, pair := range strings.Fields(pairs) {
		of, as, _ := strings.Cut(pair, ":")
		c.Rename = append(c.Rename, cin.Rename{Of: index.Var(of), As: index.Var(as)})
	}
	return c
}

// TestNotAProduct refuses to take factors from what is none.
func TestNotAProduct(t *testing.T) {
	p := program(t, "C(i,j) = A(i,j) + B(i,j)", nil)
	for _, of := range []string{"A*B", "A*C"} {
		_, err := Precompute{Of: of, At: 2, Name: "w", Storage: cin.Tile}.Apply(p)
		if err == nil || !strings.Contains(err.Error(), "is no part of A(i,j) + B(i,j)") {
			t.Errorf("got %v", err)
		}
	}
}
