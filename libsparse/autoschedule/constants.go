package autoschedule

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Constants are what the cost model multiplies counts with, in units of one innermost iteration. They are fitted for each
// kind of machine by benchmarks/suites/fit.py; choices depend on them, but of them the text of generated C has Grain only.
type Constants struct {
	// Loop is the start of an inner loop.
	Loop float64 `json:"loop"`
	// Merge is a coordinate that is passed in a merge, whose branches nothing predicts.
	Merge float64 `json:"merge"`
	// Strided is what a step of the innermost loop costs more for each tensor that it doesn't walk contiguously.
	Strided float64 `json:"strided"`
	// Lane is an innermost iteration in vector lanes.
	Lane float64 `json:"lane"`
	// Fold is the end of a reduction in lanes, whose sums are added up.
	Fold float64 `json:"fold"`
	// Update is what an iteration in lanes costs more that adds to sums in memory, as a share of Lane.
	Update float64 `json:"update"`
	// Insert is a new entry of a row of the result, which has to be found, counted and sorted; Scatter is a term of one that may
	// be there already.
	Insert  float64 `json:"insert"`
	Scatter float64 `json:"scatter"`
	// List is an insertion into a list and its share of the sort, for each bit of the list's length.
	List float64 `json:"list"`
	// Convert is an entry of a converted operand; it is paid once a pattern, so a call pays a share of 1/Reuse.
	Convert float64 `json:"convert"`
	// Reuse is how often a pattern is expected to be used. It is a policy and not fitted.
	Reuse float64 `json:"reuse"`
	// Rho is the density of operands whose entries nobody counted: then all are equally sparse. It is not fitted.
	Rho float64 `json:"rho"`
	// SparseTop is how many coordinates a compressed first level may have for each entry to be made dense for a merge. It
	// bounds memory and is not fitted.
	SparseTop float64 `json:"sparse_top"`
	// Grain is how many innermost iterations one thread runs where a team could: what starting a team takes, many times over,
	// since threads that have no core for themselves wait for each other. It is a policy.
	Grain float64 `json:"grain"`
	// Uneven is how many entries an operand has where rows are divided by them: with fewer, a pass over all of them takes less
	// than compiling the search. It is a policy.
	Uneven float64 `json:"uneven"`
	// OneThread is the factor on the cost of loops that can't be divided among threads.
	OneThread float64 `json:"one_thread"`
	// Step is what running one more kernel costs, whatever its size.
	Step float64 `json:"step"`
	// Temporary is an element of a temporary between steps: it is allocated, written and read again.
	Temporary float64 `json:"temporary"`
	// PathGain is how much cheaper steps have to be than one loop nest, to make up for what the estimates miss.
	PathGain float64 `json:"path_gain"`
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
	var out []profile
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		p := profile{Name: strings.TrimSuffix(strings.TrimPrefix(name, "constants/"), ".json")}
		if err := json.Unmarshal(text, &p); err != nil {
			panic(fmt.Sprintf("BUG: %s: %v", name, err))
		}
		p.match = regexp.MustCompile(p.CPU)
		out = append(out, p)
	}
	// The profile without a pattern is for what no other knows.
	slices.SortStableFunc(out, func(a, b profile) int { return len(b.CPU) - len(a.CPU) })
	return out
})

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
