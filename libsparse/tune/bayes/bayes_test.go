package bayes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"libsparse/libsparse/tune/space"
)

func read(t testing.TB, name string) *space.Scenario {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "space", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := space.ReadScenario(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// values are the coordinates of a point as numbers.
func values(s *space.Space, at space.Point) []float64 {
	var v []float64
	for i, p := range s.Params {
		if p.Kind == space.Ordinal {
			v = append(v, p.Values[int(at[i])])
		} else {
			v = append(v, at[i])
		}
	}
	return v
}

func branin(x, y float64) float64 {
	z := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
	return z*z + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
}

func branin4(v []float64) (float64, bool) { return branin(v[0], v[1]) * branin(v[2], v[3]), true }

// rise is the synthetic objective of the published space rs_cot_1024.
func rise(v []float64) (float64, bool) {
	log := func(x float64) float64 { return math.Log(x + 1) }
	square := func(x float64) float64 { return x * x }
	return 1e-5*v[0]*v[1] + 1e-5*square(v[2]+v[3]-800) - 10*math.Sin(v[4]/100)*math.Sin(v[5]/100) +
		log(v[6]) - log(v[7]) + log(v[8]) - log(v[9]) + 1e-5*square(v[0]+v[2]+v[4]-v[6]-v[9]), v[0] > 8
}

// search runs a search and returns the best value after each measurement.
func search(t testing.TB, s *space.Scenario, f func([]float64) (float64, bool), budget int, seed uint64) []float64 {
	t.Helper()
	tuner := New(s.Space, Options{Seed: seed, Log: s.Log})
	var best []float64
	least := math.Inf(1)
	for range budget {
		at, err := tuner.Ask()
		if err != nil {
			t.Fatal(err)
		}
		value, ok := f(values(s.Space, at))
		if err := tuner.Tell(Observation{at, value, !ok}); err != nil {
			t.Fatal(err)
		}
		if ok {
			least = min(least, value)
		}
		best = append(best, least)
	}
	return best
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func TestSearchesBeatManySamples(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func([]float64) (float64, bool)
	}{{"rs_cot_1024", rise}, {"branin4_discrete", branin4}} {
		s := read(t, c.name)
		var searched, sampled []float64
		for seed := range uint64(5) {
			searched = append(searched, search(t, s, c.f, 50, seed)[49])
			random, least := rand.New(rand.NewPCG(seed, 1)), math.Inf(1)
			for range 500 {
				at, err := s.Space.Sample(random)
				if err != nil {
					t.Fatal(err)
				}
				if value, ok := c.f(values(s.Space, at)); ok {
					least = min(least, value)
				}
			}
			sampled = append(sampled, least)
		}
		if median(searched) >= median(sampled) {
			t.Errorf("%s: 50 measurements of the tuner came to %v, 500 at random to %v", c.name, searched, sampled)
		}
	}
}

// strips is about the time of a product whose columns are cut into strips: short strips suit all orders of the loops, long ones are
// better or far worse, by the place of the loop over them.
func strips(s *space.Space) func([]float64) (float64, bool) {
	return func(v []float64) (float64, bool) {
		rows, strip := math.Log2(v[0]), math.Log2(v[2])
		near := 1 + 0.003*math.Abs(rows-4)
		switch last := s.Params[6].Text(v[6])[len("(0,0,0,")] == '3'; {
		case strip < 8:
			return near * min(2, 1.17+0.15*(strip-1)), true
		case last:
			return near * (1 + 0.02*(strip-8)), true
		}
		return 2.3 * near, true
	}
}

func TestSearchesLeaveABasin(t *testing.T) {
	s, reached := read(t, "spmv"), 0
	for seed := range uint64(32) {
		if search(t, s, strips(s.Space), 60, seed)[59] < 1.05 {
			reached++
		}
	}
	if reached < 18 {
		t.Errorf("%d of 32 searches came to the better basin", reached)
	}
}

// line is a space of n points.
func line(t testing.TB, n int) *space.Space {
	t.Helper()
	p := &space.Parameter{Name: "x", Kind: space.Ordinal}
	for x := range n {
		p.Values = append(p.Values, float64(x))
	}
	s, err := space.New([]*space.Parameter{p, {Name: "c", Kind: space.Categorical, Labels: []string{"a", "b"}}}, []string{"x != 3"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNoPointTwice(t *testing.T) {
	s := line(t, 12)
	tuner, seen := New(s, Options{}), map[string]bool{}
	for range 22 {
		at, err := tuner.Ask()
		if err != nil {
			t.Fatal(err)
		}
		if seen[key(at)] || !s.Contains(at) {
			t.Fatalf("%v is proposed again, or breaks a constraint", at)
		}
		seen[key(at)] = true
		if err := tuner.Tell(Observation{At: at, Value: (at[0] - 7) * (at[0] - 7), Failed: at[0] == 5}); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := tuner.Ask(); err == nil {
		t.Errorf("%v is proposed after all 22 points", at)
	}
	if best, ok := tuner.Best(); !ok || best.At[0] != 7 {
		t.Error(best, ok)
	}
}

func TestSeveralAreAskedBeforeOneIsTold(t *testing.T) {
	s, seen := line(t, 100), map[string]bool{}
	tuner := New(s, Options{First: 4})
	for range 6 {
		var batch []space.Point
		for range 5 {
			at, err := tuner.Ask()
			if err != nil || seen[key(at)] {
				t.Fatal(at, err)
			}
			seen[key(at)] = true
			batch = append(batch, at)
		}
		for _, at := range batch {
			if err := tuner.Tell(Observation{At: at, Value: math.Abs(at[0]-71) + at[1]}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if best, _ := tuner.Best(); best.Value > 1 {
		t.Errorf("30 measurements in batches of 5 came to %v", best)
	}
}

func TestEarlierMeasurementsHelp(t *testing.T) {
	s := read(t, "spmm").Space
	objective := func(shift float64) func(space.Point) float64 {
		return func(at space.Point) float64 {
			return math.Exp(0.1*(at[0]-4-shift)*(at[0]-4-shift) + 0.1*(at[1]-2)*(at[1]-2) + 0.05*math.Abs(at[3]-3))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	var known []Observation
	for range 60 {
		at, _ := s.Sample(random)
		known = append(known, Observation{At: at, Value: objective(0)(at)})
	}
	reach := func(o Options) float64 {
		var all []float64
		for seed := range uint64(5) {
			o.Seed, o.Log, o.First = seed, true, 2
			tuner := New(s, o)
			for range 10 {
				at, err := tuner.Ask()
				if err != nil {
					t.Fatal(err)
				}
				if err := tuner.Tell(Observation{At: at, Value: 3 * objective(0.5)(at)}); err != nil {
					t.Fatal(err)
				}
			}
			best, _ := tuner.Best()
			all = append(all, best.Value)
		}
		return median(all)
	}
	if with, without := reach(Options{Known: known}), reach(Options{}); with >= without {
		t.Errorf("10 measurements came to %g with what a similar objective has shown, to %g without", with, without)
	}
}

func TestRepeatedMeasurementsAreAveraged(t *testing.T) {
	s := line(t, 10)
	tuner := New(s, Options{})
	for _, value := range []float64{1, 5} {
		tuner.Tell(Observation{At: space.Point{0, 0}, Value: value})
	}
	tuner.Tell(Observation{At: space.Point{1, 0}, Value: 2})
	if best, _ := tuner.Best(); best.At[0] != 1 {
		t.Errorf("%v is best, and the mean of the other is 3", best)
	}
	for _, o := range []Observation{{At: space.Point{0}}, {At: space.Point{3, 0}}, {At: space.Point{0, 0}, Value: math.NaN()}} {
		if err := tuner.Tell(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestGradientOfLikelihood(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	s := &sample{}
	const n = 7
	points := make([][2]float64, n)
	for i := range points {
		points[i] = [2]float64{random.Float64(), random.Float64()}
		s.values = append(s.values, random.NormFloat64())
		s.repeats = append(s.repeats, float64(1+i%3))
	}
	for p := range 2 {
		squares := make([]float64, n*n)
		for i := range n {
			for j := range n {
				d := points[i][p] - points[j][p]
				squares[i*n+j] = d * d
			}
		}
		s.squares = append(s.squares, squares)
	}
	at := hyper{-1, 0.3, 0.2, -2}
	gradient := make([]float64, len(at))
	s.objective(at, gradient)
	for i := range at {
		const step = 1e-5
		up, down := slices.Clone(at), slices.Clone(at)
		up[i] += step
		down[i] -= step
		want := (s.objective(up, nil) - s.objective(down, nil)) / (2 * step)
		if math.Abs(want-gradient[i]) > 1e-5*max(1, math.Abs(want)) {
			t.Errorf("derivative %d is %g, want %g", i, gradient[i], want)
		}
	}
	posterior, ok := s.condition(hyper{-1, 0.3, 0, math.Log(1e-9)})
	if !ok {
		t.Fatal("the matrix can't be factored")
	}
	for i := range n {
		k := make([]float64, n)
		for j := range n {
			value, _ := matern(s.squares[0][i*n+j]/math.Exp(-2) + s.squares[1][i*n+j]/math.Exp(0.6))
			k[j] = value
		}
		if math.Abs(posterior.mean(k)-s.values[i]) > 1e-5 || posterior.deviation(k) > 1e-3 || posterior.mostDeviation(k) < posterior.deviation(k)-1e-9 {
			t.Errorf("value %d: %g with deviation %g, at most %g, want %g", i, posterior.mean(k), posterior.deviation(k), posterior.mostDeviation(k), s.values[i])
		}
	}
}

func TestForest(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var points [][]float64
	var measured []bool
	for range 200 {
		p := []float64{random.Float64(), random.Float64(), random.Float64()}
		points, measured = append(points, p), append(measured, p[0] > 0.3 && p[1] < 0.8)
	}
	f := grow(points, measured, random)
	for _, c := range []struct {
		at   []float64
		want bool
	}{{[]float64{0.8, 0.3, 0.5}, true}, {[]float64{0.1, 0.3, 0.5}, false}, {[]float64{0.8, 0.95, 0.5}, false}} {
		if p := f.probability(c.at); p > 0.5 != c.want {
			t.Errorf("the probability at %v is %g", c.at, p)
		}
	}
}

func ExampleTuner() {
	tile := &space.Parameter{Name: "tile", Kind: space.Ordinal, Values: []float64{8, 16, 32, 64, 128, 256}, Log: true}
	order := &space.Parameter{Name: "order", Kind: space.Permutation, Length: 3}
	s, err := space.New([]*space.Parameter{tile, order}, []string{"order_i0 < order_i1", "tile >= 16"})
	if err != nil {
		panic(err)
	}
	time := func(at space.Point) float64 { return 1 + math.Abs(at[0]-3) + tuned(order.Text(at[1])) }
	tuner := New(s, Options{Log: true})
	for range 10 {
		at, err := tuner.Ask()
		if err != nil {
			panic(err)
		}
		if err := tuner.Tell(Observation{At: at, Value: time(at)}); err != nil {
			panic(err)
		}
	}
	best, _ := tuner.Best()
	fmt.Println(s.Size(), "points; best: tile", tile.Text(best.At[0]), "order", order.Text(best.At[1]))
	// Output: 15 points; best: tile 64 order (2,0,1)
}

// tuned is what an order of loops costs in the example.
func tuned(order string) float64 {
	return map[string]float64{"(0,1,2)": 2, "(0,2,1)": 1, "(2,0,1)": 0}[order]
}

func BenchmarkAsk(b *testing.B) {
	for _, name := range []string{"spmm", "spmv", "rs_cot_1024", "branin4"} {
		b.Run(name, func(b *testing.B) {
			s := read(b, name)
			random := rand.New(rand.NewPCG(1, 1))
			tuner := New(s.Space, Options{Log: true})
			for range 100 {
				at, _ := s.Space.Sample(random)
				sum := 1.0
				for i, x := range at {
					sum += math.Abs(x-3) * float64(i)
				}
				tuner.Tell(Observation{at, sum, false})
			}
			for b.Loop() {
				if _, err := tuner.Ask(); err != nil {
					b.Fatal(err)
				}
				tuner.pending = nil
			}
		})
	}
}
