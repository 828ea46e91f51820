package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"libsparse/codegen/native"

	"libsparse/libsparse"
)

// BenchmarkDecide times the whole online decision, from text to schedules, of every expression of the table in some of its
// formats and of long products. It reports percentiles over the expressions, in microseconds:
//
//	go test ./tests/conformance -run XXX -bench Decide -benchtime 1x
//
// At most 1000 at p99 are allowed up to four operands and six indices, and 10000 for eight operands.
func BenchmarkDecide(b *testing.B) {
	var requests []*libsparse.Request
	var t testing.T
	for _, table := range [][]row{combinations, tacoStorage, tacoLower, tacoFunctions, tacoLattices, tacoApplications, tacoWindows, scorchRandom, scorchPrinted} {
		for i := range table {
			choices := table[i].choices(&t)
			for at := 0; at < len(choices); at += max(1, len(choices)/20) {
				requests = append(requests, table[i].trial(&t, choices[at], "f32").request)
			}
		}
	}
	b.Run("conformance", func(b *testing.B) { report(b, requests) })
	for _, n := range []int{4, 6, 8} {
		b.Run(fmt.Sprintf("operands=%d", n), func(b *testing.B) { report(b, long(n)) })
	}
}

// long is products of n operands: chains, a star, and one in which all have the same indices.
func long(n int) []*libsparse.Request {
	var out []*libsparse.Request
	for _, shape := range []string{"chain", "star", "same", "vector"} {
		for _, sparse := range []int{1, n / 2, n} {
			var terms []string
			r := &libsparse.Request{}
			for k := range n {
				term := string([]byte{'a' + byte(k), 'a' + byte(k) + 1})
				switch {
				case shape == "star" && k == 0:
					term = "abcdefgh"[:min(n-1, 4)]
				case shape == "star":
					term = string([]byte{"abcdefgh"[(k-1)%min(n-1, 4)], 'z'})
				case shape == "same":
					term = "ab"
				case shape == "vector" && k == n-1:
					term = term[:1]
				}
				o := libsparse.Operand{Name: string(rune('A' + k)), Format: strings.Repeat("d", len(term)), Dtype: "f32"}
				for range term {
					o.Shape = append(o.Shape, 512)
				}
				if k < sparse && len(term) > 1 {
					o.Format, o.NNZ = "d"+strings.Repeat("s", len(term)-1), 8192
				}
				terms = append(terms, term)
				r.Operands = append(r.Operands, o)
			}
			last := string('a' + byte(n))
			result := map[string]string{"chain": "a" + last, "star": "az", "same": "a", "vector": "a"}[shape]
			r.Spec = strings.Join(terms, ",") + "->" + result
			out = append(out, r)
		}
	}
	return out
}

// report times requests; what counts for each is the median of a few runs.
func report(b *testing.B, requests []*libsparse.Request) {
	b.Helper()
	for b.Loop() {
		took := make([]float64, len(requests))
		for i, r := range requests {
			var runs []float64
			for range 7 {
				start := time.Now()
				if err := decide(r); err != nil {
					b.Fatalf("%s%s: %v", r.Spec, r.Expr, err)
				}
				runs = append(runs, float64(time.Since(start).Nanoseconds())/1e3)
			}
			slices.Sort(runs)
			took[i] = runs[len(runs)/2]
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2], "p50-us")
		b.ReportMetric(took[(len(took)*99-1)/100], "p99-us")
		b.ReportMetric(took[len(took)-1], "max-us")
		b.ReportMetric(float64(len(took)), "requests")
	}
}

// decide runs the stages up to the schedule of each nest.
func decide(r *libsparse.Request) error {
	unit, err := libsparse.Divide(r, native.For(32))
	if err != nil {
		return err
	}
	stages := libsparse.NestStages()
	at := slices.IndexFunc(stages, func(s libsparse.Stage[*libsparse.Nest]) bool { return s.Name == "schedule" })
	for _, n := range unit.Nests {
		for _, stage := range stages[:at+1] {
			if err := stage.Run(n); err != nil {
				return err
			}
		}
	}
	return nil
}
