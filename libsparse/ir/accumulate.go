package ir

import (
	"slices"
)

// Accumulate is m with its Simd loops that reduce into a scalar rewritten: partial sums are kept in the lanes of vectors, which are
// reduced to one value behind the loop. C compilers may not change the order of sums, and leave such loops to one chain of
// operations that wait for each other.
//
// The order of the sums depends on the width of the target's vectors, on the number of iterations, on what is known of that, on For.AtOnce, and on nothing else. With L lanes
// and U vectors, iteration k goes to lane k mod L of vector k/L mod U, in ascending order; the last of a loop between bounds of its own are read
// together with what stands behind them (For.Within). Where the loop counts from zero, the last iterations that fill no vector go to the last lanes of the
// first vector, and are read together with what stands before them. Then vectors are added in pairs, then lanes: those that are half a vector
// apart, until one is left.
func Accumulate(m *Module, target Target) *Module {
	reduces := func(s *For) bool {
		_, ok := reductionOf(s)
		return ok
	}
	x := vectorizer{Target: target, gather: true, chooses: true}
	return rewriteReductions(m, reduces, func(s *For, names *Builder) Stmt { return x.accumulate(s, names) })
}

// rewriteReductions is rewriteLoops where sums are then set once.
func rewriteReductions(m *Module, wanted func(*For) bool, f func(*For, *Builder) Stmt) *Module {
	out := rewriteLoops(m, wanted, f)
	if out == m {
		return m
	}
	return mapFuncs(out, func(f *Func) *Block {
		return MapStmt(f.Body, func(e Expr) Expr { return e }, setOnce).(*Block)
	})
}

// setOnce is a block in which scalars that begin with the identity of a reduction, and get the lanes of a vector next, are declared with what those
// give.
func setOnce(s Stmt) Stmt {
	b, ok := s.(*Block)
	if !ok {
		return s
	}
	var out []Stmt
	for _, t := range b.Stmts {
		if a, ok := t.(*Assign); ok {
			if k := startOf(out, a); k >= 0 {
				out = append(slices.Delete(out, k, k+1), Declare(a.Var, a.Value))
				continue
			}
		}
		out = append(out, t)
	}
	return &Block{Stmts: out}
}

// startOf is the number of the statement that declares the variable of a with the identity of its operator, -1 where there is none or it is used since.
func startOf(stmts []Stmt, a *Assign) int {
	if _, sum := a.Value.(*ReduceLanes); !sum {
		return -1
	}
	for k, t := range slices.Backward(stmts) {
		if d, ok := t.(*Decl); ok && d.Var.Name == a.Var.Name {
			if isIdentity(d.Init, reduction{sum: a.Var, op: a.Reduce}) {
				return k
			}
			return -1
		}
		if mentions(&For{Var: &Var{}, Body: Do(t)}, nil, a.Var.Name) {
			return -1
		}
	}
	return -1
}

// chains is how many vectors of sums a loop of that many vectors has: enough not to wait for the one before, few enough that adding
// them up doesn't show.
func chains(vectors int64) int {
	switch {
	case vectors < 8:
		return 1
	case vectors < 32:
		return 2
	default:
		return 4
	}
}

// shortLanes is how many lanes the sums of a loop have that is as short as rows of a sparse tensor mostly are: more are
// seldom filled.
const shortLanes = 4

// rowLanes is how many lanes a vector of the partial sums of a row has at most, whose elements of so many bytes are gathered by the loop: more than shortLanes where
// one instruction fills them.
func (x vectorizer) rowLanes(loop *For, sums int64, size int) int {
	if loop.AtOnce && sums%gatheredLanes == 0 && size*gatheredLanes == gatheredBytes && x.VectorBytes() >= gatheredBytes {
		return gatheredLanes
	}
	return shortLanes
}

// alike reports whether loops of least to most iterations fill a vector, and have the same number of them before the last, few enough to be written out.
func (a *accumulators) alike(least, most int64) bool {
	lanes := int64(a.lanes)
	return lanes > 0 && least >= lanes && a.before(least) == a.before(most) && a.before(least) <= lanes*maxUnrolled
}

func (x vectorizer) accumulate(s *For, names *Builder) Stmt {
	r, ok := reductionOf(s)
	if !ok {
		return s
	}
	return x.accumulators(r, names).one()
}

// one is the loop of a reduction into one scalar.
func (a *accumulators) one() Stmt {
	a.values = []Expr{a.value}
	stmts, sums, ok := a.run()
	if !ok {
		return a.serial()
	}
	return Do(append(stmts, &Assign{Var: a.sum, Reduce: a.op, Value: &ReduceLanes{Op: a.op, Of: sums}})...)
}

// serial is the loop as it is where its values can't be vectors: without lanes where it is short or gathers, which C compilers make slow.
func (r reduction) serial() Stmt {
	if isLiteralZero(r.loop.Lo) && !gathers(r.value, r.loop.Var) {
		return r.loop
	}
	loop := *r.loop
	loop.Kind = Serial
	return &loop
}

// accumulators are those for a reduction, without its values.
func (x vectorizer) accumulators(r reduction, names *Builder) *accumulators {
	a := &accumulators{vectorizer: x, reduction: r, names: names}
	size := max(a.elem().Size(), widest(r.value, r.loop.Var))
	a.lanes = x.VectorBytes() / size
	if !isLiteralZero(r.loop.Lo) || gathers(r.value, r.loop.Var) {
		if a.each = int(max(r.loop.Unroll, 1)); !calls(r.value) { // a function takes as long for all lanes as for some
			most := x.rowLanes(r.loop, int64(a.each)*shortLanes, size)
			a.lanes, a.each = min(a.lanes, most), a.each*shortLanes/most
			a.Gathering = r.loop.Gathering
		}
	}
	n, most := trips(r.loop)
	all := a.lanes
	if a.lanes = filled(all, n); n < most && !a.alike(n, most) { // then more iterations are worth more lanes
		n, a.lanes = most, filled(all, most)
	}
	if a.each == 0 {
		a.each = chains(n / int64(max(a.lanes, 1)))
	}
	return a
}
