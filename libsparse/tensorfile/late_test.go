package tensorfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// large is a Matrix Market file whose entries are read late: some lines are none, and some entries stand for two.
func large(field, symmetry string, count int, odd string) string {
	rng := rand.New(rand.NewPCG(5, 6))
	var body strings.Builder
	for range count {
		fmt.Fprintf(&body, "%d %d", 500+rng.IntN(500), 1+rng.IntN(999))
		if field == "real" {
			fmt.Fprintf(&body, " %v", rng.NormFloat64())
		}
		body.WriteString("\n")
		if rng.IntN(100) == 0 {
			body.WriteString(odd)
		}
	}
	return fmt.Sprintf("%%%%MatrixMarket matrix coordinate %s %s\n1000 1000 %d\n%s", field, symmetry, count, body.String())
}

// TestLate compares large files that are read into arrays with the same files that are read at once.
func TestLate(t *testing.T) {
	for _, odd := range []string{"", "% a note\n", "\n \n"} {
		for _, kind := range []string{"real general", "real symmetric", "pattern general", "pattern symmetric"} {
			field, symmetry, _ := strings.Cut(kind, " ")
			text := large(field, symmetry, 160_000, odd)
			path := write(t, "a.mtx", text[:len(text)-1+len(odd)%2]) // the last line may lack its end
			want, err := Read(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Open(path, Options{})
			if err != nil || got.late == nil {
				t.Fatalf("%v, read at once: %v", err, got.late == nil)
			}
			n := want.Len()
			coords, values := make([]byte, 16*n), make([]byte, want.Header().ValueBytes())
			if err := want.CopyTo(coords, values); err != nil {
				t.Fatal(err)
			}
			for range 2 { // it may be copied again
				h := got.Header()
				c, v := make([]byte, h.CoordBytes()), make([]byte, h.ValueBytes())
				if err := got.CopyTo(c, v); err != nil {
					t.Fatal(err)
				}
				columns := c[h.CoordBytes()/2:]
				if got.Header().Entries != n || !bytes.Equal(c[:8*n], coords[:8*n]) || !bytes.Equal(columns[:8*n], coords[8*n:]) ||
					!bytes.Equal(v[:len(values)], values) {
					t.Errorf("%s with %q between lines differs", kind, odd)
				}
			}
			if err := os.WriteFile(path, []byte(strings.Replace(text, "1000 1000", "1001 1000", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			h := got.Header()
			if err := got.CopyTo(make([]byte, h.CoordBytes()), make([]byte, h.ValueBytes())); err == nil {
				t.Error("a file that was changed was read")
			}
		}
	}
}

// TestLateErrors reports what is wrong with a large file when its entries are read.
func TestLateErrors(t *testing.T) {
	right := large("real", "general", 100_000, "")
	for _, c := range []struct{ from, to, want string }{
		{"1000 1000 100000", "1000 1000 1000000000000", "the file ends after 100000 entries, its header says 1000000000000"},
		{"1000 1000 100000", "1000 1000 100001", "the file ends after 100000 entries"},
		{"1000 1000 100000", "1000 1000 7", "the file has 100000 entries, its header says 7"},
		{"1000 1000 100000", "600 1000 100000", "line 3: index"},
	} {
		x, err := Open(write(t, "a.mtx", strings.Replace(right, c.from, c.to, 1)), Options{})
		if err == nil {
			h := x.Header()
			err = x.CopyTo(make([]byte, h.CoordBytes()), make([]byte, h.ValueBytes()))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
	}
	if _, err := Open(write(t, "a.mtx", right), Options{Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "GiB are available") {
		t.Errorf("%v, want an error about memory", err)
	}
}
