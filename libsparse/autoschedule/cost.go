package autoschedule

import (
	"math"
	"slices"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// The cost model prices an order of the loops in units of one innermost iteration: iterations of every loop, element
// accesses that are not contiguous, insertions into workspaces and their sort, conversions, and threads left idle.
const (
	costLoop      = 0.5  // starting an inner loop
	costStrided   = 1.0  // a step of the innermost loop that is not contiguous in some tensor
	costInsert    = 4.0  // an insertion into a row
	costList      = 40.0 // an insertion into a list and its share of the sort
	costConvert   = 20.0 // an entry of a converted operand, paid once a pattern
	reuse         = 8.0  // how often a pattern is expected to be used again
	costOneThread = 2.0  // factor where the outermost loop can't be divided
)

// candidate is one order with what it costs.
type candidate struct {
	order       []index.Var
	conversions []Conversion
	cost        float64
}

// estimate prices an order.
func estimate(a *index.Assignment, order []index.Var) candidate {
	c := candidate{order: slices.Clone(order)}
	formats := map[*index.Tensor]format.Format{}
	// A copy from one format to another is itself the conversion.
	copied := len(index.Accesses(a.RHS)) == 1 && len(a.Reduced()) == 0
	for _, acc := range index.Accesses(a.RHS) {
		t := acc.Tensor
		f, convert := concordant(acc, order, copied || a.LHS.Tensor.Owner() == t.Owner())
		if f.Levels == nil && t.Order() > 0 {
			c.cost = math.Inf(1)
			return c
		}
		formats[t] = f
		if convert {
			c.conversions = append(c.conversions, Conversion{Tensor: t, To: f})
			c.cost += costConvert * float64(max(t.NNZ, 1)) / reuse
		}
	}
	iterations, total := 1.0, 0.0
	for depth, v := range order {
		iterations *= trips(a, formats, order[:depth], v)
		total += iterations * costLoop
	}
	total += iterations * (1 - costLoop)
	if len(order) > 0 {
		total += iterations * costStrided * strided(a, formats, order[len(order)-1])
	}
	total += iterations * scatter(a, order)
	if len(order) > 0 && !slices.Contains(a.LHS.Vars, order[0]) {
		total *= costOneThread
	}
	c.cost += total
	return c
}

// trips is the expected number of iterations of the loop over v, given the loops around it.
func trips(a *index.Assignment, formats map[*index.Tensor]format.Format, outer []index.Var, v index.Var) float64 {
	n := float64(max(a.Extent(v), 1))
	return n * occupancy(a.RHS, formats, outer, v, n)
}

// occupancy is the share of the coordinates of v at which e exists: a product of independent shares for products, what
// remains of the complement for sums.
func occupancy(e index.Expr, formats map[*index.Tensor]format.Format, outer []index.Var, v index.Var, n float64) float64 {
	switch e := e.(type) {
	case *index.Access:
		return share(e, formats[e.Tensor], outer, v, n)
	case *index.Call:
		shares := make([]float64, len(e.Args))
		for i, arg := range e.Args {
			shares[i] = occupancy(arg, formats, outer, v, n)
		}
		return regionShare(e.Region, shares)
	case *index.Missing:
		return 0
	default:
		return 1
	}
}

// regionShare is the share of coordinates at which a call is defined, its arguments being independent.
func regionShare(r index.Region, shares []float64) float64 {
	every, none := 1.0, 1.0
	for _, p := range shares {
		every, none = every*p, none*(1-p)
	}
	switch r {
	case index.Every:
		return every
	case index.Left:
		return shares[0]
	case index.All:
		return 1
	default:
		return 1 - none
	}
}

// share is the fraction of coordinates that the level of v stores below one parent.
func share(acc *index.Access, f format.Format, outer []index.Var, v index.Var, n float64) float64 {
	m := slices.Index(acc.Vars, v)
	if m < 0 || f.Levels[f.LevelOf(m)].Props().Full {
		return 1
	}
	// Stored entries are spread over the sparse levels evenly in the logarithm, and never thinner than one a parent.
	volume, sparse := 1.0, 0
	for l, level := range f.Levels {
		volume *= float64(max(acc.Tensor.Extents[f.ModeOrder[l]], 1))
		if !level.Props().Full {
			sparse++
		}
	}
	density := math.Pow(min(1, float64(max(acc.Tensor.NNZ, 1))/volume), 1/float64(sparse))
	return min(1, max(density, 1/n))
}

// strided is how many tensors are not walked contiguously by the innermost loop: those that store its variable further
// out, and dense ones where the loop skips coordinates.
func strided(a *index.Assignment, formats map[*index.Tensor]format.Format, v index.Var) float64 {
	skips := !dense(a, v)
	count := 0.0
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		f, ok := formats[acc.Tensor]
		if !ok {
			f = acc.Tensor.Format
		}
		m := slices.Index(acc.Vars, v)
		if m < 0 {
			continue
		}
		l := f.LevelOf(m)
		if l != f.Order()-1 || skips && f.Levels[l].Props().Full {
			count++
		}
	}
	return count
}

// scatter is the cost a term of writing a result whose entries don't come in storage order.
func scatter(a *index.Assignment, order []index.Var) float64 {
	if !discovered(a.LHS.Tensor) {
		return 0
	}
	stored := storageOrder(a.LHS)
	groups := a.LHS.Tensor.Format.Groups()
	sparse := groups[len(groups)-1].Last + 1
	switch q := prefix(order, stored); {
	case q >= sparse:
		return 0
	case inserts(a, q), q == len(stored)-1 && sparse == len(stored):
		return costInsert
	default:
		return costList
	}
}

// concordant is the format in which a tensor suits the loops, and whether that takes a conversion. It is the zero Format
// where a tensor that has to stay as it is doesn't.
func concordant(acc *index.Access, order []index.Var, fixed bool) (f format.Format, convert bool) {
	f = acc.Tensor.Format
	deepest, ok := -1, true
	for l, level := range f.Levels {
		at := slices.Index(order, acc.Vars[f.ModeOrder[l]])
		ok = ok && (level.Props().Full || at > deepest)
		deepest = max(deepest, at)
	}
	// COO is walked on one thread only; CSR holds the same in less.
	coordinates := f.Order() == 2 && !f.Levels[0].Props().Unique
	switch {
	case ok && (fixed || !coordinates):
		return f, false
	case fixed:
		return format.Format{}, false
	}
	return rearranged(acc, order), true
}

// rearranged is the format of acc with the modes in the order of the loops and the same kinds of level; what was COO
// becomes CSR, or its analogue.
func rearranged(acc *index.Access, order []index.Var) format.Format {
	f := acc.Tensor.Format
	g := format.Format{Levels: slices.Clone(f.Levels), ModeOrder: slices.Clone(f.ModeOrder)}
	slices.SortStableFunc(g.ModeOrder, func(m, n int) int {
		return slices.Index(order, acc.Vars[m]) - slices.Index(order, acc.Vars[n])
	})
	for l, level := range f.Levels {
		if !level.Props().Full {
			g.Levels[l] = format.Compressed{Unique: true}
		}
		if l == 0 && !level.Props().Unique && f.Order() == 2 && acc.Tensor.Extents[g.ModeOrder[0]] <= 4*max(acc.Tensor.NNZ, 1) {
			g.Levels[l] = format.Dense{}
		}
	}
	return g
}
