package pattern

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"libsparse/libsparse/format"
)

// csr is the pattern of rows of columns.
func csr(cols int64, rows ...[]int32) Pattern {
	ends, crd := []int32{0}, []int32{}
	for _, row := range rows {
		crd = append(crd, row...)
		ends = append(ends, int32(len(crd)))
	}
	return Pattern{
		Format: format.MustParse("ds"), Extents: []int64{int64(len(rows)), cols}, Pos: []Array{{}, {Short: ends}}, Crd: []Array{{}, {Short: crd}},
	}
}

func (p Pattern) named(t *testing.T) map[string]float64 {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	values := p.Features()
	if len(values) != len(Names) {
		t.Fatalf("there are %d features, but %d names", len(values), len(Names))
	}
	found := map[string]float64{}
	for i, name := range Names {
		found[name] = values[i]
	}
	return found
}

func expect(t *testing.T, found, expected map[string]float64) {
	t.Helper()
	for name, x := range expected {
		if math.Abs(found[name]-x) > 1e-6 {
			t.Errorf("%s is %g, expected %g", name, found[name], x)
		}
	}
}

// tridiagonal has n rows of the diagonal and its neighbours.
func tridiagonal(n int32) Pattern {
	var rows [][]int32
	for i := range n {
		rows = append(rows, []int32{max(i-1, 0), min(i, n-1)})
		rows[i] = slices.Compact(append(rows[i], min(i+1, n-1)))
	}
	return csr(int64(n), rows...)
}

func TestFeaturesOfABand(t *testing.T) {
	found := tridiagonal(1024).named(t)
	expect(t, found, map[string]float64{
		"rows": 10, "columns": 10, "fibers": 10, "entries": math.Log2(3*1024 - 2), "beside": 1, "gap": 0, "near": 1, "empty": 0, "diagonals": math.Log2(3 * 1024 / (3*1024 - 2.0)), "q50": math.Log2(4 / (3 + 1 - 2.0/1024)),
	})
	if found["adjacent"] < 0.98 || found["adjacent"] > 1 { // the first row has no column before the diagonal
		t.Errorf("%g of the steps are adjacent", found["adjacent"])
	}
	if math.Abs(found["sorted32"]) > 0.01 {
		t.Errorf("%g are padded in sorted slices", found["sorted32"])
	}
	if found["distance90"] > 0.01 || found["ell"] > 0.01 {
		t.Errorf("a band is at distance %g, and %g are padded", found["distance90"], found["ell"])
	}
}

func TestFeaturesOfBlocks(t *testing.T) {
	var rows [][]int32
	random := rand.New(rand.NewPCG(1, 2))
	for range 64 {
		first := int32(random.IntN(500)) * 4
		for range 4 {
			rows = append(rows, []int32{first, first + 1, first + 2, first + 3})
		}
	}
	expect(t, csr(2048, rows...).named(t), map[string]float64{"block4x4": 4, "block2x2": 2, "block4x1": 2, "mean": 2, "sell8": 0, "q0": 0, "longest": 0})
}

func TestLengthsOfFibers(t *testing.T) {
	rows := make([][]int32, 64)
	for i := range int32(32) {
		rows[40] = append(rows[40], 3*i)
	}
	// 32 entries in one of 64 rows: a slice of 8 or 32 rows is padded to 32 each, all to 64.
	expect(t, csr(128, rows...).named(t), map[string]float64{"empty": 63.0 / 64, "ell": 6, "sell8": 3, "sell32": 5, "beside": 0, "mean": -1, "bitmap": 8})
}

// A list of coordinates has the features of the same entries in rows, but for the rows that are empty; a tensor those of its last mode.
func TestOtherFormats(t *testing.T) {
	p := tridiagonal(512)
	var rows []int64
	var cols []int64
	for i := range 512 {
		for e := p.Pos[1].At(i); e < p.Pos[1].At(i+1); e++ {
			rows, cols = append(rows, int64(i)), append(cols, p.Crd[1].At(int(e)))
		}
	}
	list := Pattern{Format: format.MustParse("uq"), Extents: p.Extents, Pos: []Array{{Long: []int64{0, int64(len(rows))}}, {}}, Crd: []Array{{Long: rows}, {Long: cols}}}
	expect(t, list.named(t), p.named(t))
	tensor := Pattern{
		Format: format.MustParse("dds"), Extents: []int64{2, 256, 512}, Pos: []Array{{}, {}, p.Pos[1]}, Crd: []Array{{}, {}, p.Crd[1]},
	}
	expect(t, tensor.named(t), map[string]float64{"first": 1, "rows": 8, "fibers": 9, "beside": 1})
	for name, x := range (Pattern{Format: format.MustParse("db"), Extents: []int64{3, 3}, Pos: make([]Array, 2), Crd: make([]Array, 2)}).named(t) {
		if !math.IsNaN(x) {
			t.Errorf("%s of a bitmap is %g; nothing is known", name, x)
		}
	}
}

// A row of a band of three meets three rows of three entries each, in five columns.
func TestFeaturesOfASquare(t *testing.T) {
	found := tridiagonal(1 << 14).named(t)
	if math.Abs(found["squared"]-math.Log2(3)) > 0.01 || math.Abs(found["squared_again"]-math.Log2(9.0/5)) > 0.01 {
		t.Errorf("a product of a band with itself has %g terms for each entry, %g for each of the result", found["squared"], found["squared_again"])
	}
	if !math.IsNaN(csr(9, []int32{1, 2}).named(t)["squared"]) {
		t.Error("a matrix that is not square has a product with itself")
	}
}

func TestWrongArrays(t *testing.T) {
	p := tridiagonal(8)
	p.Crd[1].Short = p.Crd[1].Short[1:]
	if p.Check() == nil {
		t.Error("pos beyond crd is accepted")
	}
	p = tridiagonal(8)
	p.Extents = p.Extents[:1]
	if p.Check() == nil {
		t.Error("two levels with one extent are accepted")
	}
}

func BenchmarkFeatures(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([][]int32, 1<<16)
	for i := range rows {
		for range 16 {
			rows[i] = append(rows[i], int32(random.IntN(1<<16)))
		}
		slices.Sort(rows[i])
		rows[i] = slices.Compact(rows[i])
	}
	p := csr(1<<16, rows...)
	b.ResetTimer()
	for range b.N {
		p.Features()
	}
}
