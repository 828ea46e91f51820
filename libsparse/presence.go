package libsparse

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/index"
)

// mostPatterns is how many patterns an expression may read for all ways in which they store an entry to be tried.
const mostPatterns = 8

// ignores reports whether e has values at the same places whether a tensor has any or not: A(i,j) - t(i) * stored(A(i,j)) has those of A.
func ignores(b *bind.Table, e index.Expr, t *index.Tensor) bool {
	var patterns []*index.Access
	for _, acc := range index.Accesses(e) {
		if acc.Tensor != t && hasGaps(b, acc) && patternOf(b, patterns, acc) < 0 {
			patterns = append(patterns, acc)
		}
	}
	if len(patterns) > mostPatterns {
		return false
	}
	for set := range uint(1) << len(patterns) {
		p := presence{b, patterns, set, t, true}
		with := p.of(e)
		if p.given = false; p.of(e) != with {
			return false
		}
	}
	return true
}

// hasGaps reports whether a tensor may have no value at some places: a dense temporary has none where no term reaches.
func hasGaps(b *bind.Table, acc *index.Access) bool {
	return !b.Dense(acc) || b.Of(acc.Tensor).Temporary
}

// patternOf is the place of an access among others, of which each has entries of its own; -1 if it is none of them.
func patternOf(b *bind.Table, patterns []*index.Access, acc *index.Access) int {
	return slices.IndexFunc(patterns, func(p *index.Access) bool {
		return p == acc || !p.Windowed() && !acc.Windowed() && slices.Equal(p.Vars, acc.Vars) && b.Together(p, acc)
	})
}

// presence tells where an expression has a value: where the patterns in set store an entry, and a tensor has a value if it is given.
type presence struct {
	table    *bind.Table
	patterns []*index.Access
	set      uint
	tensor   *index.Tensor
	given    bool
}

func (p *presence) of(e index.Expr) bool {
	switch e := e.(type) {
	case *index.Access:
		if e.Tensor == p.tensor {
			return p.given
		}
		return !hasGaps(p.table, e) || p.set&(1<<patternOf(p.table, p.patterns, e)) != 0
	case *index.Call:
		have := make([]bool, len(e.Args))
		for i, arg := range e.Args {
			have[i] = p.of(arg)
		}
		return e.Region.Holds(have...)
	case *index.Missing:
		return false
	default:
		return true
	}
}
