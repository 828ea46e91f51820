package tensorfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libsparse/libsparse/dtype"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// dense is a matrix row by row, with imaginary parts behind the values where there are any.
func dense(x *Tensor) string {
	rows := make([][]complex128, x.Shape[0])
	for i := range rows {
		rows[i] = make([]complex128, x.Shape[1])
	}
	for _, e := range x.Entries() {
		rows[e.Coord[0]][e.Coord[1]] += dtype.Convert(e.Value, x.Elem, dtype.C128).Num
	}
	var parts []string
	for _, row := range rows {
		for _, v := range row {
			if imag(v) != 0 {
				parts = append(parts, fmt.Sprintf("%g%+gi", real(v), imag(v)))
			} else {
				parts = append(parts, fmt.Sprint(real(v)))
			}
		}
	}
	return strings.Join(parts, " ")
}

func TestMatrixMarket(t *testing.T) {
	for kind, c := range map[string]struct{ body, want string }{
		"coordinate real general":           {"% note\n2 3 3\n1 1 2\n\n2 3 -1.5\n2 3 1\n", "2 0 0 0 0 -0.5"},
		"coordinate integer general":        {"2 2 1\n2 1 7\n", "0 0 7 0"},
		"coordinate pattern symmetric":      {"2 2 2\n1 1\n2 1\n", "1 1 1 0"},
		"coordinate real skew-symmetric":    {"2 2 1\n2 1 3\n", "0 -3 3 0"},
		"coordinate complex hermitian":      {"2 2 2\n1 1 4 0\n2 1 1 2\n", "4 1-2i 1+2i 0"},
		"coordinate complex symmetric":      {"2 2 1\n2 1 1 2\n", "0 1+2i 1+2i 0"},
		"array real general":                {"2 2\n1\n2\n3\n4\n", "1 3 2 4"},
		"array real symmetric":              {"2 2\n1\n2\n3\n", "1 2 2 3"},
		"array real skew-symmetric":         {"2 2\n5\n", "0 -5 5 0"},
		"array complex hermitian":           {"2 2\n1 0\n2 3\n4 0\n", "1 2-3i 2+3i 4"},
		"COORDINATE Double General":         {"1 1 1\n1 1 1e400\n", "+Inf"},
		"coordinate real general \n%\n 2 2": {" 0\n", "0 0 0 0"},
	} {
		got, err := Read(write(t, "a.mtx", "%%MatrixMarket matrix "+kind+"\n"+c.body), Options{})
		if strings.Contains(kind, "%") { // sizes cut in two lines
			if err == nil {
				t.Errorf("%q was read", kind)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		} else if dense(got) != c.want {
			t.Errorf("%s: %s, want %s", kind, dense(got), c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	const head = "%%MatrixMarket matrix coordinate real general\n"
	for _, c := range []struct{ name, text, want string }{
		{"a.mtx", "", "line 1: expected %%MatrixMarket"},
		{"a.mtx", "%%MatrixMarket matrix coordinate quaternion general\n", "no coordinate files of quaternion"},
		{"a.mtx", head + "2 2\n", `line 2: expected the numbers of rows, columns and entries, found "2 2"`},
		{"a.mtx", head + "2 -2 1\n", `entries, found "2 -2 1"`},
		{"a.mtx", head + "2 2 1\n3 1 1\n", "line 3: index 3 is outside 1..2"},
		{"a.mtx", head + "2 2 1\n1 0 1\n", "line 3: index 0"},
		{"a.mtx", head + "2 2 1\n1 1\n", "expected 3 numbers, found 2"},
		{"a.mtx", head + "2 2 1\n1 1 x\n", `expected a number, found "x"`},
		{"a.mtx", head + "2 2 2\n1 1 1\n", "the file ends after 1 entries, its header says 2"},
		{"a.mtx", head + "2 2 1\n1 1 1\n1 1 1\n", "the file has 2 entries, its header says 1"},
		{"a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", "is square"},
		{"a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n", "no entries on its diagonal"},
		{"a.mtx", "%%MatrixMarket matrix array real general\n1 2\n1\n", "expected 2 numbers for 1 x 2 general, found 1"},
		{"a.tns", "1 1 1 5\n1 1 5\n", "line 2: expected 4 numbers, found 3"},
		{"a.tns", "5\n", "expected indices and a value"},
		{"a.tns", "0 1\n", "line 1: index 0 is outside"},
		{"a.txt", "", "has to end in .mtx, .ttx, .tns or .rb"},
		{"a.tns.gz", "1 1\n", "no gzip file"},
	} {
		if _, err := Read(write(t, c.name, c.text), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want an error with %q", c.text, err, c.want)
		}
	}
	if _, err := Read("/nowhere/a.mtx", Options{}); err == nil || !strings.Contains(err.Error(), "can't be read") {
		t.Error(err)
	}
}

// TestRoundTrip writes what it reads back.
func TestRoundTrip(t *testing.T) {
	x, err := Read(write(t, "a.tns", "# a comment\n1 2 0.1\n 3 1 -1e-300 \n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.mtx", "b.tns", "b.mtx.gz", "b.tns.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if err := Write(path, x); err != nil {
			t.Fatal(err)
		}
		y, err := Read(path, Options{})
		if err != nil || fmt.Sprint(y.Shape, y.Entries()) != fmt.Sprint(x.Shape, x.Entries()) {
			t.Errorf("%s: %v, %v, want %v", name, y, err, x)
		}
	}
	if err := Write(filepath.Join(t.TempDir(), "c.mtx"), &Tensor{Shape: []int{1}}); err == nil {
		t.Error("a vector was written as a matrix")
	}
	if err := Write("c.txt", x); err == nil {
		t.Error("an unknown kind was written")
	}
}
