package space

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, name string) *Scenario {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSizesArePublished(t *testing.T) {
	for name, want := range map[string]uint64{
		"spmm": 46_656, "sddmm": 77_760, "spmv": 3_024_000, "mttkrp": 680_400,
		"asum": 63_954, "harris": 10_482_439, "rs_cot_1024": 339_724_440,
	} {
		s := read(t, name)
		if size := s.Space.Size(); size == nil || size.Uint64() != want {
			t.Errorf("%s has %v points, want %d", name, size, want)
		}
		if s.Space.Default == nil {
			t.Errorf("%s: the default point does not satisfy the constraints", name)
		}
	}
}

// small is a space of which all points are counted: 36 leaves below a root whose children have 1 to 8 of them.
func small(t *testing.T) *Space {
	t.Helper()
	s, err := New([]*Parameter{
		{Name: "a", Kind: Ordinal, Values: []float64{1, 2, 3, 4, 5, 6, 7, 8}},
		{Name: "b", Kind: Ordinal, Values: []float64{1, 2, 3, 4, 5, 6, 7, 8}},
	}, []string{"b <= a"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// chiSquare is the sum of squared differences of counts from their mean, over the mean.
func chiSquare(counts map[[2]int]int, cells, draws int) float64 {
	mean, sum := float64(draws)/float64(cells), 0.0
	for _, n := range counts {
		sum += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	return sum + float64(cells-len(counts))*mean
}

func TestSamplesAreUniform(t *testing.T) {
	s, random := small(t), rand.New(rand.NewPCG(1, 2))
	draw := func(pick func(*rand.Rand) (Point, error)) float64 {
		counts := map[[2]int]int{}
		for range 36_000 {
			at, err := pick(random)
			if err != nil || !s.Contains(at) {
				t.Fatal(at, err)
			}
			counts[[2]int{int(at[0]), int(at[1])}]++
		}
		return chiSquare(counts, 36, 36_000)
	}
	if x := draw(s.Sample); x > 75 { // 35 degrees of freedom: one of 10,000 is larger
		t.Errorf("samples: chi square %g", x)
	}
	if x := draw(s.Walk); x < 1000 {
		t.Errorf("walks are as uniform as samples: chi square %g", x)
	}
}

func TestSampledPointsSatisfyConstraints(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"spmm", "sddmm", "spmv", "asum", "harris", "rs_cot_1024", "branin4", "branin4_discrete"} {
		s := read(t, name).Space
		for range 200 {
			at, err := s.Sample(random)
			if err != nil || !s.Contains(at) {
				t.Fatal(name, at, err)
			}
			seen := 0
			s.Neighbours(at, random, func(to Point) {
				seen++
				changed := 0
				for i := range to {
					if to[i] != at[i] {
						changed++
					}
				}
				if changed > 1 || !s.Contains(to) {
					t.Fatalf("%s: %v is no neighbour of %v", name, to, at)
				}
			})
			if seen == 0 {
				t.Fatalf("%s: %v has no neighbours", name, at)
			}
			for i, p := range s.Params {
				if x, err := p.Coordinate(p.Text(at[i])); err != nil || math.Abs(x-at[i]) > 1e-12*math.Abs(x) {
					t.Fatalf("%s: %s is %v read back as %v: %v", name, p.Name, at[i], x, err)
				}
			}
		}
	}
}

// The exponential of a logarithm is not always the number: at a bound it was beyond it, and the log of a search could not be read again.
func TestBoundsOfRatios(t *testing.T) {
	for low := 0.01; low < 1; low += 0.01 {
		p := &Parameter{Name: "x", Kind: Real, Low: low, High: 3 * low, Log: true}
		for _, scaled := range []float64{0, 1} {
			if text := p.Text(p.at(scaled)); p.at(scaled) < p.Low || p.at(scaled) > p.High {
				t.Errorf("%s is outside of %g to %g", text, p.Low, p.High)
			}
		}
	}
}

func TestDistances(t *testing.T) {
	p := &Parameter{Name: "p", Kind: Permutation, Length: 3}
	if err := p.prepare(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}, p.orders); diff != "" {
		t.Error(diff)
	}
	for choice, order := range p.orders {
		if p.choice(order) != choice {
			t.Errorf("%v is choice %d, not %d", order, choice, p.choice(order))
		}
	}
	for semimetric, want := range map[Semimetric][]float64{
		Spearman: {0, 2. / 8, 2. / 8, 6. / 8, 6. / 8, 1}, Kendall: {0, 1. / 3, 1. / 3, 2. / 3, 2. / 3, 1},
		Hamming: {0, 2. / 3, 2. / 3, 1, 1, 2. / 3}, Naive: {0, 1, 1, 1, 1, 1},
	} {
		p.Semimetric = semimetric
		var got []float64
		for choice := range p.orders {
			d := p.Distance(0, float64(choice))
			got = append(got, math.Round(d*d*1e9)/1e9)
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-9 {
				t.Errorf("semimetric %d: squared distances %v, want %v", semimetric, got, want)
				break
			}
		}
	}
	tile := &Parameter{Name: "t", Kind: Ordinal, Values: []float64{16, 1, 4}, Log: true}
	if err := tile.prepare(); err != nil || math.Abs(tile.Distance(0, 1)-.5) > 1e-12 {
		t.Error("the distance of powers is that of their exponents", err)
	}
}

func TestErrors(t *testing.T) {
	number := func() []*Parameter {
		return []*Parameter{{Name: "a", Kind: Ordinal, Values: []float64{1, 2}}, {Name: "p", Kind: Permutation, Length: 2}}
	}
	for _, constraints := range [][]string{{"a <"}, {"b < 1"}, {"a > 2"}, {"p < 1"}, {"p_2 == 0"}, {"a << 1 > 0"}, {"f(a)"}, {"a // 2 == 0"}, {"a /* b */ > 0"}, {"1 <= a <= 2"}, {"1 < 0"}, {"0 / 0"}} {
		if _, err := New(number(), constraints); err == nil {
			t.Errorf("%q is taken", constraints)
		}
	}
	for _, p := range []*Parameter{
		{Name: "", Kind: Ordinal, Values: []float64{1}},
		{Name: "o", Kind: Ordinal},
		{Name: "c", Kind: Categorical},
		{Name: "r", Kind: Real, Low: 1, High: 1},
		{Name: "l", Kind: Real, Low: 0, High: 1, Log: true},
		{Name: "p", Kind: Permutation, Length: 9},
	} {
		if _, err := New([]*Parameter{p}, nil); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
	for _, text := range []string{"", "[]", "{}", `{"input_parameters":{"a":{"parameter_type":"odd"}}}`, `{"input_parameters":{"a":{"parameter_type":"ordinal","values":[1],"transform":"logg"}}}`, `{"input_parameters":{"a":{"parameter_type":"ordinal","values":[1],"parameter_default":2}}}`} {
		if _, err := ReadScenario([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestPointsOfASpace(t *testing.T) {
	s, err := New([]*Parameter{{Name: "a", Kind: Ordinal, Values: []float64{1, 1 << 20}}, {Name: "r", Kind: Real, Low: 0, High: 1}}, []string{"a >= 1"})
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	for _, at := range []Point{nil, {0}, {0, 0, 0}, {2, 0}, {-1, 0}, {.5, 0}, {nan, 0}, {0, 2}, {0, nan}, {0, math.Inf(1)}} {
		if s.Contains(at) {
			t.Errorf("%v is a point", at)
		}
	}
	if text := s.Params[0].Text(1); !s.Contains(Point{1, 1}) || text != "1048576" {
		t.Error("the greatest point is none, or the shell can't calculate with", text)
	}
	if _, err := s.Params[1].Coordinate("nan"); err == nil {
		t.Error("nan is a coordinate")
	}
}

func TestConstraintsReadPythonsWords(t *testing.T) {
	s, err := New([]*Parameter{{Name: "a", Kind: Ordinal, Values: []float64{1, 2, 3, 4, 6}}}, []string{"a == 1 or (!(a % 4 == 0) and a > 2)"})
	if err != nil {
		t.Fatal(err)
	}
	var kept []float64
	for x := range s.Params[0].Values {
		if s.Contains(Point{float64(x)}) {
			kept = append(kept, s.Params[0].Values[x])
		}
	}
	if !slices.Equal(kept, []float64{1, 3, 6}) {
		t.Error(kept)
	}
}
