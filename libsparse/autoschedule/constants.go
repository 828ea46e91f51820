package autoschedule

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Constants are all numbers that choices depend on. Costs are in units of one innermost iteration. Of them the text of
// generated C has the grains only.
//
// Where they are from is said of each: fitted ones come from benchmarks/suites/fit.py, for each kind of machine; measured ones
// from a benchmark that is named; reasoned ones are policies, which no measurement decides. What a profile leaves out is as in the default.
type Constants struct {
	// Loop is the start of an inner loop (fitted).
	Loop float64 `json:"loop"`
	// Merge is a coordinate that is passed in a merge, whose branches nothing predicts (fitted).
	Merge float64 `json:"merge"`
	// Lookup is a coordinate that is looked up in a row with marks, and Mark an entry of such a row, which is written and cleared (measured: the
	// gradients of a product of 5,000 x 5,000 with 20 entries a row, 2.6 ns with the product's term).
	Lookup float64 `json:"lookup"`
	Mark   float64 `json:"mark"`
	// Again is a block of entries that is walked once more, after all others of its operand (measured: gradients of graph attention with 8 heads
	// on 88,651 edges, 5 ns a block).
	Again float64 `json:"again"`
	// Strided is the extra cost of a step of the innermost loop for each tensor that it doesn't walk contiguously (fitted).
	Strided float64 `json:"strided"`
	// Lane is an innermost iteration in vector lanes (fitted).
	Lane float64 `json:"lane"`
	// Fold is the end of a reduction in lanes, whose sums are added up (fitted).
	Fold float64 `json:"fold"`
	// FoldTogether is the share of that where the sums of several elements are added up at once (measured: sampled products of 2 to 8 columns).
	FoldTogether float64 `json:"fold_together"`
	// Update is what an iteration in lanes costs more that adds to sums in memory, as a share of Lane (fitted).
	Update float64 `json:"update"`
	// Insert is an entry that goes to its row as it comes, which is counted before (fitted).
	Insert float64 `json:"insert"`
	// Entry is a new entry of a row of the result, which has to be found, counted and sorted (measured: products of 40 real matrices with
	// themselves, 10 to 20 ns an entry); Scatter is a term of one that may be there already (fitted).
	Entry   float64 `json:"entry"`
	Scatter float64 `json:"scatter"`
	// List is an insertion into a list and its share of the sort, for each bit of the list's length (fitted).
	List float64 `json:"list"`
	// Convert is an entry of a converted operand (measured: conversions beside the kernels of "make bench ARGS=fit"); it is paid
	// once a pattern, so a call pays a share of 1/Reuse.
	Convert float64 `json:"convert"`
	// Copy is an element of a dense operand or result whose modes are put into another order for one call (measured: .7 to
	// 1.2 ns by torch, whatever the number of threads).
	Copy float64 `json:"copy"`
	// Reuse is how often a pattern is expected to be used (reasoned: training uses one for hundreds of steps, scripts once).
	Reuse float64 `json:"reuse"`
	// FewUses is Reuse of patterns that have been used few times (measured: products with the transposes of five new real matrices, 16 and 64
	// columns and two threads, are 1.5 to 7 times faster where rows are added to the result as they come).
	FewUses float64 `json:"few_uses"`
	// Rho is the density of operands whose entries nobody counted: then all are equally sparse (reasoned, as in Scorch).
	Rho float64 `json:"rho"`
	// SparseTop is how many coordinates a compressed first level may have for each entry to be made dense for a merge (reasoned:
	// it bounds memory).
	SparseTop float64 `json:"sparse_top"`
	// Grain is how many innermost iterations one thread runs where a team could (reasoned from the start of a team, measured in
	// docs/scheduling.md, many times over, since threads that have no core for themselves wait for each other).
	Grain float64 `json:"grain"`
	// Uneven is how many entries an operand has where rows are divided by them (measured: with fewer, a pass over all of them
	// takes less than compiling the search).
	Uneven float64 `json:"uneven"`
	// OneThread is the factor on the cost of loops that can't be divided among threads (reasoned: there may be other work).
	OneThread float64 `json:"one_thread"`
	// Step is what running one more kernel costs, whatever its size (measured: a prepared call from Python, 10 us).
	Step float64 `json:"step"`
	// Temporary is an element of a temporary between steps: it is allocated, written and read again (reasoned).
	Temporary float64 `json:"temporary"`
	// Filled is what an element of a dense temporary costs, as a share of Temporary: neighbours are written and read together (measured: with it,
	// products of two sparse matrices and a dense one of 16 and 64 columns are two steps, and take .27 to .5 of the time with 4 entries a row;
	// with 2 a row .6 to .9, and 1.1 with 64 columns).
	Filled float64 `json:"filled"`
	// PathGain is how much cheaper steps have to be than one loop nest, to make up for what the estimates miss (reasoned).
	PathGain float64 `json:"path_gain"`

	// Hash is a term that is put into a hash table (measured: products of sparse matrices with 1.25 million terms on 248 thousand
	// elements, 6 ns a term beside the sort); elements are then sorted as in a list.
	Hash float64 `json:"hash"`
	// Shortest is the extent from which loops are in lanes (measured: sampled products of 2 to 7 columns gain 1.5 to 6 times).
	Shortest float64 `json:"shortest"`
	// LongRow is the length up to which a dense row is made however few its entries are (reasoned: it bounds memory).
	LongRow float64 `json:"long_row"`
	// CompactBytes is how large a workspace with a place for each element may be to stay in the second cache of a core beside
	// what is read, whatever the machine (reasoned).
	CompactBytes float64 `json:"compact_bytes"`
	// Repeats is how many terms an element has from which on they are summed where the first of them stands: below, sorting them
	// all costs less than finding each. RepeatsTogether is the same where threads fill, sort and reduce the list, and one would
	// fill the table (measured: both workspaces, over sparse matrices of growing density).
	Repeats         float64 `json:"repeats"`
	RepeatsTogether float64 `json:"repeats_together"`
	// ScatterTerms is how many terms a row gets at least where how it knows its entries is worth a choice, and AdaptiveTerms where each row
	// makes it (measured: products of 51 real matrices with themselves; grids and roads with fewer terms lose up to a fourth).
	ScatterTerms  float64 `json:"scatter_terms"`
	AdaptiveTerms float64 `json:"adaptive_terms"`
	// BitmapWord is how many places there are for each entry of a row at most where a scan of a bit for each puts entries in order: a word, and
	// BitmapNear as many where operands' entries have neighbours.
	BitmapWord float64 `json:"bitmap_word"`
	BitmapNear float64 `json:"bitmap_near"`
	// WorthThreads is how many entries there are at least where what threads need costs nothing to speak of: the ends of strips,
	// or a loop that counts (reasoned: as Grain).
	WorthThreads float64 `json:"worth_threads"`
	// EntryGrain is Grain where each iteration is an entry of a sparse operand, so that none is one of several lanes, and SumGrain where entries
	// are factors of sums in a dense result, which takes a third of a nanosecond each (measured: SpMV on real matrices and on random ones; two
	// threads gain from 20,000 to 25,000 entries on, and lose up to a half below).
	EntryGrain float64 `json:"entry_grain"`
	SumGrain   float64 `json:"sum_grain"`
	// SharedGrain is how many entries each thread has at least where several put entries into the same rows, whose lines go to and fro between them
	// (measured: transposition of 9 real matrices; on Sapphire Rapids two threads take 1.4 to 1.9 times as long as one up to 180,000 entries, and half
	// from 900,000 on).
	SharedGrain float64 `json:"shared_grain"`
	// StripCount is how many strips a merging loop is cut into (reasoned: more than most machines have threads, so that strips
	// which hold more than others even out).
	StripCount float64 `json:"strip_count"`
	// HoistTrips is how many iterations a reduction has to have for it to be worth a workspace of its own (reasoned).
	HoistTrips float64 `json:"hoist_trips"`
	// ShortRow is how many entries rows have on average for their sums to be kept in lanes (measured on real matrices: rows of three or more
	// entries gain, 1.5 times on average; rows of one to three always in the same order lose up to 1.6 times).
	ShortRow float64 `json:"short_row"`
	// FarRow is how many bytes rows of a dense operand have for them to be brought near up to FarAhead iterations before they are read, where entries are
	// scattered and the operand has FarBytes (measured: SpMM on 28 real matrices gains 1.1 to 1.45 times on those with scattered entries; narrower
	// rows and rows that are read in strips gain nothing, and where entries follow each other processors look ahead by themselves, and hints
	// cost up to a fifth).
	FarRow   int64 `json:"far_row"`
	FarAhead int64 `json:"far_ahead"`
	FarBytes int64 `json:"far_bytes"`
	// FarFlight is how many bytes of such rows are brought near at once at most: more of them drive out of the nearest cache what is read before
	// (measured: SpMM on 10 real matrices; rows of 256 bytes are best brought near 16 iterations ahead, of 512 bytes 12, of 1,024 bytes 6, which
	// takes 0.94 of the time of 16).
	FarFlight int64 `json:"far_flight"`
	// FarBegin says that only the begin of such a row is brought near, since the processor reads on by itself (measured: Intel's Sapphire Rapids, one
	// thread and rows of 256 to 1,024 bytes on 14 real matrices, 0.93 to 0.97 of the time).
	FarBegin bool `json:"far_begin"`
	// AheadTerms is how many entries of a sparse operand that caches don't keep are brought near before they are summed, and AheadRows that where each takes a row
	// of a dense operand (measured: SpMV and SpMM on 12 real matrices and 6 random ones of up to 80 MB; from 128 to 1024 entries it changes little).
	AheadTerms int64 `json:"ahead_terms"`
	AheadRows  int64 `json:"ahead_rows"`
	// FlightBytes is how many bytes the sums of an element have at most for several entries to be added at once, in rows of FlightLong entries
	// on average (measured: SpMM with 8 and 16 columns on 37 real matrices, 1.2 to 1.6 times; shorter rows lose up to a third to the branch
	// at their ends).
	FlightBytes int64   `json:"flight_bytes"`
	FlightLong  float64 `json:"flight_long"`
	// TurnsLong is how many entries rows have on average for two vectors of the sums of a scalar to take turns (measured: SpMV on real matrices
	// and on random ones; rows of 40 entries in no order lose a fifth).
	TurnsLong float64 `json:"turns_long"`
	// GatherLong is how many entries rows have on average for their sums of float32 to have eight lanes that an instruction gathers; 0 where the processor's
	// loads are as fast (measured: SpMV on 13 real matrices, Sapphire Rapids takes 0.8 of the time on average, 1.1 to 1.2 on two with four entries a row).
	GatherLong float64 `json:"gather_long"`
	// PackUses is how often a row of a wide dense operand is read at least for strips of it to be copied, and how many entries rows of the sparse
	// operand have at least. Strips are halved while they exceed the near cache, down to rows of PackRow bytes, and may have PackCaches times
	// its size (measured: SpMM with 256 columns on 15 real matrices gains 1.13 times where both are 16, up to 1.8; below, it loses up to a third).
	PackUses   float64 `json:"pack_uses"`
	PackRow    int64   `json:"pack_row"`
	PackCaches int64   `json:"pack_caches"`
	// StripUses is how often a row of the operand that is cut into strips has to be used for them to pay: each strip reads the
	// sparse operand once more, and rows in pieces (measured: on graphs and random matrices strips won from 64 entries a row
	// on, 1.3 to 1.5 times, changed little at 16 to 32, and lost below, 0.7 on a mesh of 7 entries a row).
	StripUses float64 `json:"strip_uses"`

	// Exhaustive is the number of variables up to which every order is priced, PathExhaustive that up to which paths do, which
	// price dozens of nests. PathOperands bounds the search for a path, and PathSplits is how many ways to contract parts in two
	// parts are priced: where there are more, parts are runs of neighbouring operands (all measured: what a decision may take).
	Exhaustive     int `json:"exhaustive"`
	PathExhaustive int `json:"path_exhaustive"`
	PathOperands   int `json:"path_operands"`
	PathSplits     int `json:"path_splits"`
}

// lane is the cost of an iteration in lanes of a loop with that extent: vectors that aren't filled, and those of 4, 2 and 1 lanes, take as long as whole ones of 8.
func (c *Constants) lane(extent float64) float64 {
	vectors := math.Ceil(extent / 8)
	if extent < 8 {
		vectors = float64(bits.OnesCount(uint(extent)))
	}
	return c.Lane * 8 * vectors / extent
}

// common are the constants that profiles leave out.
var common = Constants{
	Lookup: 1.2, Mark: 4, Again: 5, Copy: 0.8, FoldTogether: 0.4, Filled: 0.1, Hash: 3, Shortest: 2, LongRow: 1 << 20, CompactBytes: 1 << 18, Repeats: 2, RepeatsTogether: 8, ScatterTerms: 8, AdaptiveTerms: 32,
	BitmapWord: 64, BitmapNear: 8,
	FewUses:      3,
	WorthThreads: 1 << 15, EntryGrain: 12000, SumGrain: 20000, SharedGrain: 24000, StripCount: 64, HoistTrips: 2, StripUses: 64, PackUses: 16, PackRow: 128, PackCaches: 4, ShortRow: 2,
	FarRow: 256, FarAhead: 16, FarFlight: 6 << 10, FarBytes: 1 << 16, AheadTerms: 512, AheadRows: 128,
	FlightBytes: 64, FlightLong: 12, TurnsLong: 64,
	Exhaustive: 5, PathExhaustive: 3, PathOperands: 8, PathSplits: 25,
}

// A profile is a kind of machine with its constants.
type profile struct {
	Name string `json:"name"`
	// CPU is a pattern for the text that names the target's processor; empty in the profile for all others.
	CPU       string    `json:"cpu"`
	Constants Constants `json:"constants"`
	match     *regexp.Regexp
}

//go:embed constants/*.json
var files embed.FS

var profiles = sync.OnceValue(func() []profile {
	names, err := fs.Glob(files, "constants/*.json")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	others := read(fallback, common)
	out := []profile{others}
	for _, name := range names {
		if name != fallback {
			out = append(out, read(name, others.Constants))
		}
	}
	// The profile without a pattern is for what no other knows.
	slices.SortStableFunc(out, func(a, b profile) int { return len(b.CPU) - len(a.CPU) })
	return out
})

// fallback is the profile of all processors that no other knows, which has what others leave out.
const fallback = "constants/default.json"

// read is the profile of a file, with the constants given where it has none.
func read(name string, given Constants) profile {
	text, err := files.ReadFile(name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	p := profile{Name: strings.TrimSuffix(strings.TrimPrefix(name, "constants/"), ".json"), Constants: given}
	if err := json.Unmarshal(text, &p); err != nil {
		panic(fmt.Sprintf("BUG: %s: %v", name, err))
	}
	p.match = regexp.MustCompile(p.CPU)
	return p
}

// ConstantsFor returns the constants for a processor as targets name it, and the name of the profile that they are from:
// "default" where nobody has fitted any.
func ConstantsFor(cpu string) (*Constants, string) {
	all := profiles()
	for i := range all {
		if all[i].match.MatchString(cpu) {
			return &all[i].Constants, all[i].Name
		}
	}
	panic("BUG: there are no default constants")
}
