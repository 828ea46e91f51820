package tensorfile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// TestMalformed changes valid files at random: they are read, or refused by a typed error that names the file. Nothing else.
func TestMalformed(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, source := range samples {
		path := filepath.Join(dir, source.name)
		for range 200 {
			if err := os.WriteFile(path, []byte(mutated(rng, source.text)), 0o600); err != nil {
				t.Fatal(err)
			}
			x, err := Read(path, Options{})
			if err == nil {
				checkInside(t, x)
				continue
			}
			if kind := diag.From(err).Kind; !slices.Contains([]diag.Kind{diag.Format, diag.Bounds, diag.Unsupported}, kind) || !strings.Contains(err.Error(), source.name) {
				t.Fatalf("%v (%s)", err, kind)
			}
		}
	}
}

func checkInside(t *testing.T, x *Tensor) {
	t.Helper()
	for _, e := range x.Entries() {
		for m, c := range e.Coord {
			if len(e.Coord) != len(x.Shape) || c < 0 || c >= x.Shape[m] {
				t.Fatalf("entry %v of shape %v", e.Coord, x.Shape)
			}
		}
	}
}

// mutated is text with a few bytes changed, lost, or repeated.
func mutated(rng *rand.Rand, text string) string {
	for range 1 + rng.IntN(3) {
		if text == "" {
			return text
		}
		at := rng.IntN(len(text))
		switch rng.IntN(5) {
		case 0:
			text = text[:at]
		case 1:
			text = text[:at] + text[at+1:]
		case 2:
			text = text[:at] + string(rune(rng.IntN(256))) + text[at+1:]
		case 3:
			text = text[:at] + fmt.Sprint([]any{"-1", 0, 9, "99999999999999999999", " ", "\n", "(", ")", "e", "I", "."}[rng.IntN(11)]) + text[at:]
		default:
			end := at + rng.IntN(len(text)-at)
			text = text[:end] + text[at:]
		}
	}
	return text
}

const boeingHead = "a title                                                                 key     \n"

// samples are valid files.
var samples = []struct{ name, text, want string }{
	{"a.mtx", "%%MatrixMarket matrix coordinate real general\n% note\n2 3 2\n1 1 2\n2 3 -1.5\n", "[2 3] [0 0]:2 [1 2]:-1.5"},
	{"a.mtx", "%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n", "[2 2] [0 0]:1 [1 0]:2+3i [0 1]:2-3i [1 1]:4"},
	{"a.tns", "# note\n1 2 1 0.5\n2 1 3 -4\n", "[2 2 3] [0 1 0]:0.5 [1 0 2]:-4"},
	{"a.ttx", "%%MatrixMarket tensor coordinate real general\n% note\n2 3 2 2\n1 1 1 7\n2 3 2 1e3\n", "[2 3 2] [0 0 0]:7 [1 2 1]:1000"},
	{"a.ttx", "%%MatrixMarket tensor coordinate pattern general\n4 2\n2\n4\n", "[4] [1]:1 [3]:1"},
	{"a.ttx", "%%MatrixMarket tensor array integer general\n2 1 2\n1\n2\n3\n4\n", "[2 1 2] [0 0 0]:1 [1 0 0]:2 [0 0 1]:3 [1 0 1]:4"},
	{"a.ttx", "%%MatrixMarket tensor coordinate real symmetric\n2 2 1\n2 1 5\n", "[2 2] [1 0]:5 [0 1]:5"},
	{"a.ttx", "%%MatrixMarket tensor array real general\n0 3\n", "[0 3]"},
	{"a.rb", boeingHead + "             3             1             1             1\nrua                        2             3             3             0\n(4I3)           (3I3)           (3E12.4)            \n  1  2  2  4\n  1  1  2\n  1.5000E+00  0.2500D+01 -4.0000E+00\n", "[2 3] [0 0]:1.5 [0 2]:2.5 [1 2]:-4"},
	{"a.rb", boeingHead + "3 1 1 1\nrsa 2 2 2 0\n(3I2) (2I2) (2F3.1)\n 1 3 3\n 1 2\n1.5-25\n", "[2 2] [0 0]:1.5 [1 0]:-2.5 [0 1]:-2.5"},
	{"a.rb", boeingHead + "2 1 1 0\npra 1 2 2 0\n(3I1)           (2I1)\n123\n11\n", "[1 2] [0 0]:1 [0 1]:1"},
	{"a.rb", boeingHead + "4 1 1 2\nCZA 2 2 1 0\n(3I2) (1I2) (1P,1E12.4)\n 1 2 2\n 2\n   1.0+2\n   2.0\n", "[2 2] [1 0]:100+0.2i [0 1]:-100-0.2i"},
	{"a.rb", boeingHead + "3 1 1 1 1\nIUA 2 2 2 0\n(3I2) (2I2) (2I3) (2I3)\nF 1 0\n 1 2 3\n 2 1\n -7  8\n  1  2\n", "[2 2] [1 0]:-7 [0 1]:8"},
}

func TestSamples(t *testing.T) {
	for _, c := range samples {
		x, err := Read(write(t, c.name, c.text), Options{})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := described(x); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
		for _, kind := range []string{".mtx", ".ttx", ".rb", ".ttx.gz", ".rb.gz"} {
			if len(x.Shape) != 2 && !strings.Contains(kind, "ttx") {
				continue
			}
			path := filepath.Join(t.TempDir(), "b"+kind)
			if err := Write(path, x); err != nil {
				t.Fatal(err)
			}
			if y, err := Read(path, Options{}); err != nil || sorted(y) != sorted(x) {
				t.Errorf("%q written as %s: %v, %v", c.text, kind, y, err)
			}
		}
	}
}

func entries(x *Tensor) []string {
	var out []string
	for _, e := range x.Entries() {
		v := dtype.Convert(e.Value, x.Elem, dtype.C128).Num
		text := fmt.Sprintf("%v:%g", e.Coord, real(v))
		if imag(v) != 0 {
			text += fmt.Sprintf("%+gi", imag(v))
		}
		out = append(out, text)
	}
	return out
}

func described(x *Tensor) string {
	return strings.Join(append([]string{fmt.Sprint(x.Shape)}, entries(x)...), " ")
}

func sorted(x *Tensor) string {
	found := entries(x)
	slices.Sort(found)
	return fmt.Sprint(x.Shape, found)
}
