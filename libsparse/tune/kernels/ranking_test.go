package kernels

import (
	"math"
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/pattern"
	"libsparse/libsparse/tune/learned"
)

// uniform are features of a pattern with 65,536 entries in 4096 rows, about.
func uniform() pattern.Numbers {
	known := make(pattern.Numbers, len(pattern.Names))
	for i, name := range pattern.Names {
		known[i] = map[string]float64{"entries": 16, "fibers": 12, "columns": 12, "rows": 12, "first": 12, "mean": 4, "ell": 1, "sell8": 0.5, "sell32": 0.7}[name]
	}
	return known
}

func advised(t testing.TB, name string, o Options) *Search {
	t.Helper()
	request := problems[name]
	o.Formats = map[string][]string{"A0": {"ss", "ds:1,0", "dp", "dl(32)"}}
	if len(request.Operands[0].Shape) > 2 {
		o.Formats = nil
	}
	o.Patterns = map[string]pattern.Numbers{"A0": uniform()}
	s, err := New(&request, avx2, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The learned model proposes the compiler's own schedule, and then others that lower to other C, whatever it is told.
func TestLearnedProposals(t *testing.T) {
	for name := range problems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := advised(t, name, Options{Method: byModel})
			seen := map[string]bool{}
			for n := range 10 {
				p, ok, err := s.Ask()
				if err != nil || !ok || p.Default != (n == 0) || seen[p.Schedule] {
					t.Fatalf("proposal %d: %v %v %v", n, p, ok, err)
				}
				seen[p.Schedule] = true
				if p.Point["parallel"] != auto {
					t.Errorf("proposal %d changes how loops are divided among threads, which the model knows nothing of", n)
				}
				for param, text := range p.Point {
					if strings.HasPrefix(param, "strip_") && !strings.HasPrefix(param, "strip_at_") && (text == "4" || text == "8") {
						t.Errorf("proposal %d has %s = %s, and models have learned from strips of 16 and more", n, param, text)
					}
				}
				if err := s.Tell(Result{Point: p.Point, Seconds: 1}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A format with its modes in another order is proposed with the loops that visit it so, where values are brought into it, too.
func TestTurnedFormats(t *testing.T) {
	request := problems["SpMM"]
	s, err := New(&request, avx2, Options{Formats: map[string][]string{"A0": {"ds:1,0", "ds:1,0 values", "dl(32) values"}}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range s.Moves() {
		if m["format_A0"] != "" {
			found[m["format_A0"]+" "+m["order"]] = true
		}
	}
	// Loops are i, j, k at first; the operand is over i and j.
	for _, want := range []string{"ds:1,0 values (1,0,2)", "ds:1,0 values (1,2,0)", "ds:1,0 values (2,1,0)", "dl(32) values "} {
		if !found[want] {
			t.Errorf("%q is missing from %v", want, found)
		}
	}
	if found["ds:1,0 values (0,1,2)"] || found["ds:1,0 (1,0,2)"] {
		t.Errorf("there are steps that change nothing, or that an order says already: %v", found)
	}
	p, ok := s.Propose(map[string]string{"format_A0": "ds:1,0 values", "order": "(1,0,2)"})
	if !ok || !strings.Contains(p.Schedule, "convert(A0, ds:1,0, values)") {
		t.Errorf("%v %v", p, ok)
	}
}

// A search that goes on from an earlier one proposes nothing of that again.
func TestLearnedProposalsGoOn(t *testing.T) {
	first, second := advised(t, "SpMV", Options{Method: byModel}), advised(t, "SpMV", Options{Method: byModel})
	var told []string
	for range 3 {
		p, _, err := first.Ask()
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, p.Schedule)
		if err := second.Tell(Result{Point: p.Point, Seconds: 1}); err != nil {
			t.Fatal(err)
		}
	}
	p, ok, err := second.Ask()
	if err != nil || !ok || p.Default || slices.Contains(told, p.Schedule) {
		t.Errorf("after %v comes %v %v", told, p, err)
	}
}

// The Bayesian tuner begins with the most promising of the model's points.
func TestAdvisedSearch(t *testing.T) {
	model, advice := advised(t, "SpMM", Options{Method: byModel}), advised(t, "SpMM", Options{Advised: true})
	for n := range 1 + nearby {
		a, _, err := model.Ask()
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := advice.Ask()
		if err != nil || a.Schedule != b.Schedule {
			t.Fatalf("proposal %d is %q, that of the model %q (%v)", n, b.Schedule, a.Schedule, err)
		}
		if err := advice.Tell(Result{Point: b.Point, Seconds: 1 + float64(n%3)}); err != nil {
			t.Fatal(err)
		}
	}
	if p, ok, err := advice.Ask(); err != nil || !ok {
		t.Errorf("what is chosen by measurements: %v %v %v", p, ok, err)
	}
}

// The model finds all features that it was trained on; the compiler's own schedule takes about as long as itself.
func TestFeatures(t *testing.T) {
	m, err := learned.Default()
	if err != nil {
		t.Fatal(err)
	}
	for name := range problems {
		s := advised(t, name, Options{})
		d := s.Describe([]map[string]string{{}, {"prefetch": "16"}, {"prefetch": "7"}})
		if len(d.Features[0]) != len(d.Names) || len(d.Features[1]) != len(d.Names) || d.Features[2] != nil {
			t.Errorf("%s: %d names, features of three points: %v", name, len(d.Names), d.Features)
		}
		for i, place := range m.Places(d.Names) {
			if place < 0 {
				t.Errorf("%s: there is no %s", name, m.Features[i])
			}
		}
		j, ok := s.judge(m)
		if !ok {
			t.Fatalf("%s: the compiler's own schedule has no features", name)
		}
		row, ok := j.seen(s.space.origin)
		if p := m.Predict(row); !ok || math.Abs(p.Mean) > 0.5 {
			t.Errorf("%s: the compiler's own schedule is expected to take 2^%g times as long as itself", name, p.Mean)
		}
	}
}

func TestMethods(t *testing.T) {
	request := problems["SpMV"]
	if _, err := New(&request, avx2, Options{Method: "other"}); err == nil {
		t.Error("an unknown method is accepted")
	}
}

func BenchmarkRank(b *testing.B) {
	m, err := learned.Default()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"SpMV", "SpMM", "SDDMM", "SpGEMM", "MTTKRP"} {
		b.Run(name, func(b *testing.B) {
			points := 0
			for range b.N {
				points = len(advised(b, name, Options{}).rank(m))
			}
			b.ReportMetric(float64(points), "points")
		})
	}
}
