package infer

import (
	"fmt"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Estimate is the expected number of entries of each level of a result.
type Estimate struct {
	// Entries is the number of elements with a value, Volume the number of all elements.
	Entries, Volume float64
	// Extents are the extents of the result's modes. Prefixes counts, for each number of leading modes, the combinations of their
	// coordinates that have entries.
	Extents, Prefixes []float64
	// Counted says that the entries of all sparse operands were counted. Operands without a count are assumed to have unknownDensity.
	Counted bool
}

// Predict estimates the result of a: factors of products are joined, terms of sums united, and the reduced variables eliminated one
// after the other.
func Predict(a bind.Assignment) Estimate {
	f := reduced(a)
	est := Estimate{Entries: f.count, Volume: 1, Counted: true}
	whole, below := whole(a), 1.0 // below is how many elements stand at each combination of coordinates that has any
	for _, v := range a.LHS.Vars[len(a.LHS.Vars)-whole:] {
		below *= float64(max(a.Extent(v), 1))
	}
	combinations := 1.0
	for m, v := range a.LHS.Vars {
		n := float64(max(a.Extent(v), 1))
		est.Extents, est.Volume = append(est.Extents, n), est.Volume*n
		d, ok := f.distinct(v)
		if !ok {
			d = n // no operand limits it
		}
		combinations *= d
		if m >= len(a.LHS.Vars)-whole {
			below /= n
		}
		if m == len(a.LHS.Vars)-1 {
			combinations = est.Volume
		}
		est.Prefixes = append(est.Prefixes, min(combinations, max(est.Entries/below, 1)))
	}
	est.Entries = min(est.Entries*est.Volume/max(f.volume(), 1), est.Volume)
	for _, acc := range index.Accesses(a.RHS) {
		est.Counted = est.Counted && (a.Dense(acc) || a.Of(acc.Tensor).NNZ > 0)
	}
	return est
}

// reduced is the factor of the right-hand side after the reduced variables are eliminated.
func reduced(a bind.Assignment) *factor {
	var parts []*factor
	if isProduct(a.RHS) {
		for _, acc := range apart(a.Table, index.Accesses(a.RHS)) {
			parts = append(parts, leaf(a.Table, acc))
		}
	} else {
		parts = []*factor{of(a.Table, a.RHS)}
	}
	for _, r := range a.Reduced() {
		var rest []*factor
		joined := &factor{count: 1}
		for _, f := range parts {
			if f.of(r) >= 0 {
				joined = join(joined, f)
			} else {
				rest = append(rest, f)
			}
		}
		parts = append(rest, joined.project(r))
	}
	all := &factor{count: 1}
	for _, f := range parts {
		all = join(all, f)
	}
	return all
}

// apart are accesses of which no two have the same entries: of those that do, the one with the largest dense blocks.
func apart(b *bind.Table, accs []*index.Access) []*index.Access {
	var out []*index.Access
	for _, acc := range accs {
		same := func(other *index.Access) bool { return !b.Dense(acc) && !b.Dense(other) && b.Together(acc, other) }
		switch i := slices.IndexFunc(out, same); {
		case i < 0:
			out = append(out, acc)
		case len(acc.Vars) > len(out[i].Vars):
			out[i] = acc
		}
	}
	return out
}

// of is the factor of any expression: the union over the least sets of arguments that give it a value.
func of(b *bind.Table, e index.Expr) *factor {
	switch e := e.(type) {
	case *index.Access:
		return leaf(b, e)
	case *index.Call:
		var sets []*factor
		for _, set := range e.Region.Least() {
			all := &factor{count: 1}
			for k, arg := range e.Args {
				if set&(1<<k) != 0 {
					all = join(all, of(b, arg))
				}
			}
			sets = append(sets, all)
		}
		return union(sets)
	default:
		return &factor{count: 1}
	}
}

// Density is the share of the result's elements that are expected to be stored.
func Density(a bind.Assignment) float64 {
	est := Predict(a)
	return min(1, est.Entries/max(est.Volume, 1))
}

// crossing is the size of a coordinate or position of the result in units of an element.
func crossing(a bind.Assignment) float64 {
	return float64(max(a.Result().Index.Size(), 1)) / float64(max(a.LHS.Tensor.Elem.Size(), 1))
}

// Costs are the sizes in elements of a dense result, and of a sparse one whose levels but the first are compressed. unit is the size of
// a coordinate or position.
func (e Estimate) Costs(unit float64) (dense, sparse float64) {
	rows := 1.0
	if len(e.Extents) > 1 {
		rows = e.Extents[0]
	}
	return e.Volume, e.Entries*(1+unit) + rows*unit
}

// Levels chooses for each mode of the result, in order, the level that takes less, dense or compressed, given the levels above.
func (e Estimate) Levels(unit float64) []format.Level {
	positions := 1.0
	var out []format.Level
	for m, n := range e.Extents {
		held, value := e.Prefixes[m], 0.0
		if m == len(e.Extents)-1 {
			held, value = e.Entries, 1
		}
		dense := positions * n * max(value, unit)
		sparse := held*(max(value, unit)+unit) + positions*unit
		if dense <= sparse {
			out, positions = append(out, format.Dense{}), positions*n
		} else {
			out, positions = append(out, format.Compressed{Unique: true}), held
		}
	}
	return out
}

// Reason explains the estimate of the result of a and its cost in words.
func Reason(a bind.Assignment) string {
	est := Predict(a)
	dense, sparse := est.Costs(crossing(a))
	from := "from the entries of the operands"
	if !est.Counted {
		from = fmt.Sprintf("from a density of %g assumed of operands whose entries nobody counted", unknownDensity)
	}
	var levels string
	for _, l := range est.Levels(crossing(a)) {
		levels += l.String()
	}
	return fmt.Sprintf("%.3g of %.3g elements expected, %s: dense takes %.3g, sparse %.3g elements; level by level %q would take least",
		est.Entries, est.Volume, from, dense, sparse, levels)
}
