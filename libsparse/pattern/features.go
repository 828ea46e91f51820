package pattern

import (
	"math"
	"slices"
)

const (
	fibersRead = 1 << 15 // lengths of fibers in a sample
	run        = 32      // neighbouring fibers whose lengths are read
	window     = 16      // neighbouring fibers whose entries are read
	windows    = 256     // of these at most
	apart      = 1 << 12 // fibers among which those of a sorted slice are
	entries    = 1 << 14 // read in all, about
	sorted     = 1 << 11 // lengths of which quantiles are taken
	parts      = 1 << 10 // of the width of a matrix, in which distances from the diagonal are counted
	longest    = 1 << 10 // of a fiber, the first of which count
	bins       = 1 << 8  // equal parts of the columns whose entries are counted
)

// Names of the features, in the order of Features.
var Names = names()

var quantiles = []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99}

func names() []string {
	all := []string{
		"entries", "fibers", "columns", "rows", "first", "mean", "q0", "q10", "q25", "q50", "q75", "q90", "q99", "longest", "empty", "variation", "change",
		"ell", "sell8", "sell32", "sorted32", "bitmap", "beside", "gap", "near", "distance", "distance90", "diagonal", "crowded", "uneven_columns", "distinct", "adjacent", "diagonals",
	}
	for _, b := range blocks {
		all = append(all, b.name)
	}
	return append(all, "squared", "squared_again")
}

// Features are numbers that say how the entries of a pattern are spread, of a sample: logarithms to base 2 of counts, and shares. NaN
// stands for what is not known, as of formats that list no coordinates.
func (p Pattern) Features() Numbers {
	out := make(Numbers, 0, len(Names))
	f, ok := p.fibers()
	if !ok || f.crd.Len() == 0 {
		for range Names {
			out = append(out, math.NaN())
		}
		return out
	}
	count, nnz := f.count(), float64(f.crd.Len())
	out = append(out, log2(nnz), log2(float64(count)), log2(float64(f.cols)), log2(float64(f.rows)), log2(float64(f.first)))
	out = append(out, f.lengths(nnz)...)
	out = append(out, log2(float64(count)*float64(f.cols)/nnz))
	return append(append(out, f.places()...), f.squared()...)
}

func log2(x float64) float64 { return math.Log2(max(x, 1e-9)) }

// lengths says how long fibers are, and what padding them would store.
func (f *fibers) lengths(nnz float64) []float64 {
	count := f.count()
	runs := (count + run - 1) / run
	every := max(1, (runs*run+fibersRead-1)/fibersRead)
	var lengths []int64
	var most, in8, in32, changes float64
	padded8, padded32, empty := 0.0, 0.0, 0
	sum, squares := 0.0, 0.0
	for r := 0; r < runs; r += every {
		in32 = 0
		for i := range run {
			if i%8 == 0 {
				in8 = 0
			}
			fiber := r*run + i
			if fiber < count {
				n := f.length(fiber)
				x := float64(n)
				if i > 0 {
					changes += math.Abs(x - float64(lengths[len(lengths)-1]))
				}
				if n == 0 {
					empty++
				}
				lengths = append(lengths, n)
				sum, squares = sum+x, squares+x*x
				in8, in32, most = max(in8, x), max(in32, x), max(most, x)
			}
			if i%8 == 7 {
				padded8 += 8 * in8
			}
		}
		padded32 += run * in32
	}
	n := float64(len(lengths))
	mean := sum / n
	out := []float64{log2(nnz / float64(count))}
	some := thinned(lengths, sorted)
	slices.Sort(some)
	for _, q := range quantiles {
		out = append(out, log2((float64(some[int(q*float64(len(some)-1))])+1)/(mean+1)))
	}
	deviation := math.Sqrt(max(squares/n-mean*mean, 0))
	out = append(out, log2((most+1)/(mean+1)), float64(empty)/n, deviation/(mean+1), changes/n/(mean+1))
	sum = max(sum, 1)
	together := inSlices(lengths, max(1, apart/every), max(1, run/every))
	return append(out, log2(max(most*n/sum, 1)), log2(max(padded8/sum, 1)), log2(max(padded32/sum, 1)), log2(max(together/sum, 1)))
}

// inSlices is what padding stores of fibers that are sorted by their lengths within windows, and then cut into slices.
func inSlices(lengths []int64, window, slice int) (padded float64) {
	counts := make([]int, longest+1)
	for from := 0; from < len(lengths); from += window {
		clear(counts)
		for _, n := range lengths[from:min(from+window, len(lengths))] {
			counts[min(n, longest)]++
		}
		at := 0 // in the window, the longest first
		for n := longest; n >= 0; n-- {
			next := at + counts[n]
			begun := (next+slice-1)/slice - (at+slice-1)/slice // slices whose first fiber is so long
			padded += float64(begun * slice * n)
			at = next
		}
	}
	return padded
}

// thinned is every so many-th of all, n or a few more of them.
func thinned(all []int64, n int) []int64 {
	every := max(1, len(all)/n)
	some := make([]int64, 0, len(all)/every+1)
	for i := 0; i < len(all); i += every {
		some = append(some, all[i])
	}
	return some
}

// places says where entries are: beside each other, near the diagonal, in blocks.
func (f *fibers) places() []float64 {
	s := survey{blocks: newCounters(), seen: newSet(entries), offsets: newSet(64), bins: make([]float64, bins), distances: make([]int, parts)}
	count := f.count()
	sets := (count + window - 1) / window
	every := max(1, sets/windows)
	for w := 0; w < sets && s.entries < entries; w += every {
		first, end := w*window, min((w+1)*window, count)
		s.window(f, first, end)
		for ; first+lanes <= end; first += lanes {
			s.together(f, first)
		}
	}
	return append(s.features(), s.blocked(float64(count)/float64(f.crd.Len()))...)
}

// survey is what has been seen of the entries.
type survey struct {
	entries, pairs      int
	beside, near        int
	gaps                float64
	diagonal            int
	distances           []int // entries at each distance from the diagonal
	bins                []float64
	blocks              []counter
	seen, offsets       set
	distinct, fibersHad int
	steps, adjacent     int // of neighbouring fibers in lanes, and those whose columns follow each other
}

// window looks at the entries of neighbouring fibers, blocks of which begin with the first.
func (s *survey) window(f *fibers, first, end int) {
	for fiber := first; fiber < end; fiber++ {
		from, to := int(f.ends.At(fiber)), int(f.ends.At(fiber+1))
		to = min(to, from+longest)
		if from == to {
			continue
		}
		s.fibersHad++
		row := f.row(fiber)
		at := float64(row) / float64(max(f.rows, 1))
		before := int64(-1)
		for e := from; e < to; e++ {
			col := f.crd.At(e)
			if before >= 0 {
				s.gap(col - before)
			}
			before = col
			part := float64(col) / float64(max(f.cols, 1))
			if d := row - col; d >= -1 && d <= 1 {
				s.diagonal++
			}
			s.offsets.add(row - col)
			s.distances[min(int(math.Abs(part-at)*parts), parts-1)]++
			s.bins[min(int(part*bins), bins-1)]++
			if s.seen.add(col) {
				s.distinct++
			}
		}
		s.entries += to - from
		for i := range s.blocks {
			s.blocks[i].fiber(f, fiber-first, from, to)
		}
	}
}

// lanes is how many neighbouring fibers are summed at once.
const lanes = 8

// together compares the columns of lanes fibers from first on, entry by entry.
func (s *survey) together(f *fibers, first int) {
	least, most := int64(longest), int64(0)
	for lane := range lanes {
		n := min(f.length(first+lane), longest)
		least, most = min(least, n), max(most, n)
	}
	s.steps += int(most)
	for step := range least {
		begin, follow := f.crd.At(int(f.ends.At(first)+step)), true
		for lane := 1; lane < lanes && follow; lane++ {
			follow = f.crd.At(int(f.ends.At(first+lane)+step)) == begin+int64(lane)
		}
		if follow {
			s.adjacent++
		}
	}
}

func (s *survey) gap(d int64) {
	s.pairs++
	if d == 1 {
		s.beside++
	}
	if d > 0 && d < 16 {
		s.near++
	}
	s.gaps += log2(float64(max(d, 1)))
}

func (s *survey) features() []float64 {
	n, pairs := float64(max(s.entries, 1)), float64(max(s.pairs, 1))
	middle, far, below := -1.0, -1.0, 0
	for i, there := range s.distances {
		below += there
		if middle < 0 && 2*below >= s.entries {
			middle = float64(i) / parts
		}
		if far < 0 && 10*below >= 9*s.entries {
			far = float64(i) / parts
		}
	}
	slices.Sort(s.bins)
	slices.Reverse(s.bins)
	top, order := 0.0, 0.0
	for i, x := range s.bins {
		if i < bins/16 {
			top += x / n
		}
		if x > 0 {
			order -= x / n * math.Log2(x/n)
		}
	}
	return []float64{
		float64(s.beside) / pairs, s.gaps / pairs, float64(s.near) / pairs, middle, far, float64(s.diagonal) / float64(max(s.fibersHad, 1)),
		top, order, log2(float64(max(s.distinct, 1)) / n), float64(s.adjacent) / float64(max(s.steps, 1)),
	}
}

// blocked says what diagonals would store for each entry, given how many fibers there are for one, and how full blocks are.
func (s *survey) blocked(fibers float64) []float64 {
	n := float64(max(s.entries, 1))
	out := []float64{log2(float64(s.offsets.count) * fibers)}
	for i := range s.blocks {
		out = append(out, log2(n/float64(max(s.blocks[i].found, 1))))
	}
	return out
}
