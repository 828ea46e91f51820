package tensorfile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libsparse/libsparse/diag"
)

// TestChunks reads random lines, right and wrong ones, in chunks of every length: entries and errors stay the same.
func TestChunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	words := []string{"1", "7", "9", "2.5", "-1", "x", "+3", "999999999999999999999", "%", "\r", "", "0x1p2", "nan", "-inf"}
	path := filepath.Join(t.TempDir(), "a.mtx")
	right := 0
	for range 300 {
		kind := []string{"real general", "integer symmetric", "pattern general", "complex skew-symmetric"}[rng.IntN(4)]
		lines := rng.IntN(9)
		var body strings.Builder
		for range lines {
			fmt.Fprintf(&body, "%d %d", 5+rng.IntN(4), 1+rng.IntN(4))
			for range map[string]int{"pattern general": 0, "complex skew-symmetric": 2, "real general": 1, "integer symmetric": 1}[kind] {
				body.WriteString(" " + words[max(0, rng.IntN(59)-45)])
			}
			body.WriteString([]string{"\n", "\n\n", " \r\n", "\n% note\n"}[rng.IntN(4)])
		}
		text := fmt.Sprintf("%%%%MatrixMarket matrix coordinate %s\n9 9 %d\n%s", kind, lines, body.String())
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		whole, want := read(path, Options{}, chunkBytes, nil)
		for _, n := range []int{1, 7, 20} {
			x, err := read(path, Options{}, n, nil)
			if fmt.Sprint(err) != fmt.Sprint(want) || err == nil && described(x) != described(whole) {
				t.Fatalf("%q in chunks of %d: %v, %v; whole: %v, %v", text, n, x, err, whole, want)
			}
		}
		if want == nil {
			right++
		}
	}
	if right < 30 || right > 270 {
		t.Errorf("%d of 300 files were right", right)
	}
}

// TestLimits refuses entries beyond the memory that there is, and lines that are no lines.
func TestLimits(t *testing.T) {
	path := write(t, "a.tns", strings.Repeat("1 1 1\n", 100_000))
	for _, memory := range []int{0, 1 << 30} {
		if x, err := Read(path, Options{Memory: memory}); err != nil || x.Len() != 100_000 {
			t.Errorf("%v", err)
		}
	}
	for _, name := range []string{"a.tns", "a.rb"} {
		text := map[string]string{
			"a.tns": strings.Repeat("1 1 1\n", 100_000),
			"a.rb":  boeingHead + "3 1 1 1\nrua 1 99999999 0 0\n(40I2) (2I2) (2F3.1)\n" + strings.Repeat(strings.Repeat(" 1", 40)+"\n", 10_000),
		}[name]
		if _, err := Read(write(t, name, text), Options{Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "GiB are available now") {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := write(t, "a.mtx", "%%MatrixMarket matrix coordinate real general\n"+strings.Repeat("%", maxLine+1)+"\n1 1 0\n")
	if _, err := Read(long, Options{}); err == nil || !strings.Contains(err.Error(), "line 2: the line is longer") {
		t.Error(err)
	}
	if _, err := Read(t.TempDir()+"/a.mtx", Options{}); diag.From(err).Kind != diag.System || diag.From(err).Detail != "2" {
		t.Errorf("%v", err)
	}
}

// TestArrays takes a tensor to arrays in memory and back.
func TestArrays(t *testing.T) {
	for _, c := range samples {
		x, err := Read(write(t, c.name, c.text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := x.Header()
		coords, values := make([]byte, h.CoordBytes()), make([]byte, h.ValueBytes())
		x.CopyTo(coords, values)
		if y := FromArrays(h, coords, values); described(y) != c.want {
			t.Errorf("%q: %s, want %s", c.text, described(y), c.want)
		}
	}
	for _, h := range []Header{{Shape: []int{-1}, Dtype: "f32"}, {Shape: []int{1}, Dtype: "f33"}, {Dtype: "f32", Entries: -1}} {
		if h.Check() == nil {
			t.Errorf("%v is accepted", h)
		}
	}
}
