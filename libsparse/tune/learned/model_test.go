package learned

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// file is a model of two members with a tree each: of the first feature, and of the second one, whose absence goes to the left. Its
// deviation is 2.
func file(t *testing.T) []byte {
	t.Helper()
	header, err := json.Marshal(Header{Features: []string{"a", "b"}, Groups: []int{1, 1}, Spread: 1})
	if err != nil {
		t.Fatal(err)
	}
	out := append(binary.LittleEndian.AppendUint32(nil, uint32(len(header))), header...)
	for tree := range 2 {
		out = binary.LittleEndian.AppendUint16(out, 3)
		for i, value := range []float32{10, 1, 3} {
			flags := []byte{flagAbsent * byte(tree), flagLeaf, flagLeaf}[i]
			out = append(out, byte(tree*(1-min(i, 1))), flags)
			out = binary.LittleEndian.AppendUint16(out, []uint16{2, 0, 0}[i])
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(value))
		}
	}
	out = append(binary.LittleEndian.AppendUint16(out, 1), 0, flagLeaf, 0, 0)
	return binary.LittleEndian.AppendUint32(out, math.Float32bits(1))
}

func TestPredictions(t *testing.T) {
	m, err := Read(file(t))
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	for _, c := range []struct {
		a, b float32
		mean float64
	}{{10, 10, 1}, {11, 11, 3}, {10, 11, 2}, {nan, nan, 2}, {9, nan, 1}} {
		if p := m.Predict([]float32{c.a, c.b}); p.Mean != c.mean || p.Deviation != 2 {
			t.Errorf("of %g, %g the model expects %v; it should be %g with a deviation of 2", c.a, c.b, p, c.mean)
		}
	}
	if places := m.Places([]string{"c", "b"}); !slices.Equal(places, []int{-1, 1}) {
		t.Errorf("the features are at %v", places)
	}
}

// Whatever is cut off or changed in a file, reading ends with an error, or with trees that walks come to an end in.
func TestDamagedFiles(t *testing.T) {
	good := file(t)
	for n := range good {
		if _, err := Read(good[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(good))
		}
		bad := slices.Clone(good)
		bad[n] ^= 0xff
		if m, err := Read(bad); err == nil {
			m.Predict(make([]float32, len(m.Features)))
		}
	}
	if _, err := Read(append(good, 0)); err == nil {
		t.Error("a byte too many is accepted")
	}
}

// The file that comes with the compiler says what the model said when it was trained.
func TestExamples(t *testing.T) {
	m, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "examples.json"))
	if err != nil {
		t.Fatal(err)
	}
	var examples struct {
		Features    [][]*float32
		Predictions []float64
		Deviations  []float64
	}
	if err := json.Unmarshal(text, &examples); err != nil || len(examples.Features) == 0 {
		t.Fatal(err, "or no examples")
	}
	for i, row := range examples.Features {
		features := make([]float32, len(row))
		for k, x := range row {
			features[k] = float32(math.NaN())
			if x != nil {
				features[k] = *x
			}
		}
		p := m.Predict(features)
		if math.Abs(p.Mean-examples.Predictions[i]) > 1e-4 || math.Abs(math.Log2(p.Deviation/examples.Deviations[i])) > 1e-4 {
			t.Errorf("row %d: %v, but %g with a deviation of %g when it was trained", i, p, examples.Predictions[i], examples.Deviations[i])
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	m, err := Default()
	if err != nil {
		b.Fatal(err)
	}
	row := make([]float32, len(m.Features))
	for n := range b.N {
		row[n%len(row)] = float32(n % 17)
		m.Predict(row)
	}
}
