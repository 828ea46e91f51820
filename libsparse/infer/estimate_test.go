package infer

import (
	"math"
	"slices"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/bind/bindtest"
	"libsparse/libsparse/format"
)

// operation is an assignment whose operands are A, or A transposed; those called T are results of earlier steps, whose entries
// are known by then.
type operation []struct {
	text       string
	transposed string // operands that are A transposed
}

var operations = map[string]operation{
	"A A'":         {{"C(i,k) = A(i,j) * B(j,k)", "B"}},
	"A' A":         {{"C(i,k) = A(i,j) * B(j,k)", "A"}},
	"A A":          {{"C(i,k) = A(i,j) * B(j,k)", ""}},
	"A A A":        {{"T(i,k) = A(i,j) * B(j,k)", ""}, {"C(i,l) = T(i,k) * A(k,l)", ""}},
	"A + A'":       {{"C(i,j) = A(i,j) + B(i,j)", "B"}},
	"A + permuted": {{"C(i,j) = A(i,j) + B(i,j)", ""}},
	"A * A'":       {{"C(i,j) = A(i,j) * B(i,j)", "B"}},
	"A * permuted": {{"C(i,j) = A(i,j) * B(i,j)", ""}},
}

// sizes are what is known of a matrix.
type sizes struct {
	rows, columns, nnz int64
	spread             spread
}

func (s sizes) describe(x *bind.Storage) {
	x.Extents, x.NNZ = []int64{s.rows, s.columns}, s.nnz
	x.Filled, x.Skew, x.Reach = s.spread.filled, s.spread.skew, s.spread.reach
}

// rounded is how requests have it, by powers of two, as python/libsparse/_compiler/size_classes.py does.
func (s sizes) rounded() sizes {
	octave := func(n float64) float64 { return math.Exp2(math.Floor(math.Log2(n)) + 0.5) }
	r := sizes{spread: s.spread, rows: int64(octave(float64(s.rows))), columns: int64(octave(float64(s.columns)))}
	r.nnz = int64(float64(r.rows) * octave(float64(s.nnz)/float64(s.rows)))
	r.spread.filled = int64(float64(r.rows) / math.Exp2(math.Floor(math.Log2(float64(s.rows)/float64(max(s.spread.filled, 1))))))
	return r
}

// predict estimates the last result of an operation on a matrix; square is what its square has.
func predict(t *testing.T, o operation, matrix, square sizes) Estimate {
	t.Helper()
	var est Estimate
	for _, step := range o {
		a := bindtest.Parse(t, step.text, map[string]string{"A": "ds", "B": "ds", "T": "ds"})
		a = bindtest.Change(a, a.Tensors(), func(name string, x *bind.Storage) {
			matrix.describe(x)
			if name == "T" {
				square.describe(x)
			}
			if name == step.transposed { // as it is in memory, under another mode order
				x.Extents, x.Format = []int64{matrix.columns, matrix.rows}, format.MustParse("ds:1,0")
			}
		})
		est = Predict(a)
	}
	return est
}

// TestMeasuredFill compares the choice between dense and sparse with the one that measured fill would have led to.
func TestMeasuredFill(t *testing.T) {
	right, all := map[string]int{}, map[string]int{}
	fills := 0
	for _, m := range measured {
		for name, entries := range m.fill {
			matrix, square := sizes{m.rows, m.columns, m.nnz, m.spread}, sizes{m.rows, m.columns, m.fill["A A"], m.square}
			est := predict(t, operations[name], matrix.rounded(), square.rounded())
			truth := predict(t, operations[name], matrix, square)
			truth.Entries = float64(entries)
			for _, size := range []float64{4, 8} { // of an element; coordinates have 4 bytes
				dense, sparse := est.Costs(4 / size)
				wantDense, wantSparse := truth.Costs(4 / size)
				all[name]++
				if wantDense < wantSparse {
					fills++
				}
				if (dense < sparse) == (wantDense < wantSparse) {
					right[name]++
				} else {
					t.Logf("%s, %s: %d entries, expected %.3g of %.3g", m.name, name, entries, est.Entries, est.Volume)
				}
			}
			if r := est.Entries / float64(entries); testing.Verbose() {
				t.Logf("%-36s %-13s measured %9d, expected %9.0f of %.0f (%.2f)", m.name, name, entries, est.Entries, est.Volume, r)
			}
		}
	}
	sumRight, sum := 0, 0
	for name := range all {
		sumRight, sum = sumRight+right[name], sum+all[name]
		t.Logf("%s: the choice is the cheaper one in %d of %d cases", name, right[name], all[name])
		if 10*right[name] < 8*all[name] {
			t.Errorf("%s: the choice is the cheaper one in %d of %d cases", name, right[name], all[name])
		}
	}
	if 100*sumRight < 93*sum {
		t.Errorf("the choice is the cheaper one in %d of %d cases", sumRight, sum)
	}
	t.Logf("the cheaper choice in %d of %d cases; in %d of them dense", sumRight, sum, fills)
	if fills < sum/20 {
		t.Errorf("in %d of %d cases dense is cheaper: too few for a test", fills, sum)
	}
}

func TestPriors(t *testing.T) {
	counted := bindtest.Parse(t, "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds", "B": "ds"})
	counted = bindtest.Change(counted, counted.Tensors(), func(_ string, x *bind.Storage) { x.Extents, x.NNZ = []int64{1000, 1000}, 3000 })
	if e := Predict(counted); !e.Counted || math.Abs(e.Entries-9000) > 1000 {
		t.Errorf("%+v", e)
	}
	counted = bindtest.Change(counted, counted.Tensors(), func(_ string, x *bind.Storage) { x.NNZ = 0 })
	if e := Predict(counted); e.Counted || e.Entries < 5e4 || e.Entries > 1.5e5 {
		t.Errorf("%+v", e)
	}
}

func TestEstimates(t *testing.T) {
	for _, c := range []struct {
		text    string
		formats map[string]string
		want    float64
	}{
		{"y(i) = A(i,j) * x(j)", map[string]string{"A": "ds"}, 100},
		{"y(i) = A(i,j)", map[string]string{"A": "ss"}, 100},
		{"C(i,j) = A(i,j) * B(i,j)", map[string]string{"A": "ds", "B": "ds"}, 100},
		{"C(i,j) = A(i,j) + B(i,j)", map[string]string{"A": "ds", "B": "ds"}, 1900},
		{"C(i,j) = A(i,j) * B(i,j) + D(i,j)", map[string]string{"A": "ds", "B": "ds", "D": "ds"}, 1090},
		{"C(i,j) = A(i,j) + B(i,j)", map[string]string{"A": "ds"}, 10000},
		{"C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"}, 10000},
		{"y = A(i,j)", map[string]string{"A": "ds"}, 1},
		{"C(i,j) = A(i,j,k) * x(k)", map[string]string{"A": "sss"}, 950},
	} {
		a := bindtest.Parse(t, c.text, c.formats)
		a = bindtest.Change(a, a.Tensors(), func(_ string, x *bind.Storage) {
			x.Extents = slices.Repeat([]int64{100}, x.Format.Order())
			x.NNZ = 1000
			if x.Format.Dense() {
				x.NNZ = 0
			}
		})
		if e := Predict(a); math.Abs(e.Entries-c.want) > c.want/20 {
			t.Errorf("%s: %.4g entries expected, want %.4g", c.text, e.Entries, c.want)
		}
	}
}

// TestLevels chooses level by level: few rows that are full, and none.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		e    Estimate
		want string
	}{
		{Estimate{Entries: 1e5, Extents: []float64{1e3, 1e3}, Prefixes: []float64{1e3, 1e5}}, "ds"},
		{Estimate{Entries: 10, Extents: []float64{1e6, 1e6}, Prefixes: []float64{10, 10}}, "ss"},
		{Estimate{Entries: 9e5, Extents: []float64{1e3, 1e3}, Prefixes: []float64{1e3, 9e5}}, "dd"},
		{Estimate{Entries: 1e4, Extents: []float64{1e6, 1e3}, Prefixes: []float64{10, 1e4}}, "sd"},
	} {
		got := ""
		for _, l := range c.e.Levels(1) {
			got += l.String()
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.e, got, c.want)
		}
	}
}
