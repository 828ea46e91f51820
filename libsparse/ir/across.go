package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Across is m with loops in lanes rewritten that are unrolled around a loop which sums: as many iterations as they are unrolled by run at once, each in a
// lane of its own. They need the same bounds inside, as rows of a slice in SELL have. Where only some of them have something to sum
// (For.Ends), which is in the last iterations inside, these are summed one after the other; so are all of the last lanes where they are too few.
//
// Where the loop inside is unrolled, each lane has as many partial sums. They are added to, and up, in the order of Accumulate with one vector of as many
// lanes, and without that in the order of the iterations: so an element has the same bits in either format.
//
// This is vectorisation of the outer loop, for loops inside that are too short or gather too much to be vectorised themselves. Loops that can't be
// rewritten are left to Together.
func Across(m *Module, target Target) *Module {
	x := vectorizer{Target: target, gather: true}
	return rewriteLoops(m, grouped, func(s *For, names *Builder) Stmt {
		if !grouped(s) {
			return s
		}
		if c, ok := acrossOf(s); ok {
			if body, ok := c.together(x, names); ok {
				return body
			}
		}
		return s
	})
}

// grouped reports whether s is a loop in lanes that is unrolled around another.
func grouped(s *For) bool {
	inside := func(s Stmt) bool { _, loop := s.(*For); return loop }
	return s.Kind == Simd && s.Unroll > 1 && slices.ContainsFunc(s.Body.Stmts, inside)
}

// across is a loop whose iterations can be lanes.
type across struct {
	results
	reduction
	// valid says, where it isn't nil, whether an iteration inside has something to sum: an element of a vector that isn't negative.
	valid *Load
}

func acrossOf(s *For) (c across, ok bool) {
	at := slices.IndexFunc(s.Body.Stmts, func(t Stmt) bool { _, loop := t.(*For); return loop })
	if at < 1 || !powerOfTwo(s.Unroll) || s.Step != 1 {
		return c, false
	}
	inside := *s.Body.Stmts[at].(*For)
	if inside.Kind != Serial || !powerOfTwo(max(inside.Unroll, 1)) || !c.conditional(&inside, s.Var) {
		return c, false
	}
	inside.Kind = Simd // as far as sums are concerned
	d, declares := s.Body.Stmts[at-1].(*Decl)
	if c.reduction, ok = reductionOf(&inside); !ok || !declares || d.Var.Name != c.sum.Name || !isIdentity(d.Init, c.reduction) {
		return c, false
	}
	c.results, ok = resultsOf(s, s.Body.Stmts[:at-1], s.Body.Stmts[at+1:])
	return c, ok && c.sameBounds(&inside) && !usesAny(c.value, c.constants)
}

// conditional takes the condition off the body of a loop inside that has one, and notes it; it reports whether lanes, which v counts, can test it.
func (c *across) conditional(inside *For, v *Var) bool {
	if !inside.Ends {
		return true
	}
	test, ok := inside.Body.Stmts[0].(*If)
	if !ok || len(inside.Body.Stmts) > 1 || test.Else != nil {
		return false
	}
	inside.Body = test.Then
	c.valid, ok = notNegative(test.Cond)
	return ok && consecutive(c.valid.Index, v)
}

// notNegative is the element that e says is not negative.
func notNegative(e Expr) (*Load, bool) {
	c, ok := e.(*Compare)
	if !ok || c.Op != Ge || !isLiteralZero(c.Y) {
		return nil, false
	}
	x := c.X
	if cast, ok := x.(*Cast); ok {
		x = cast.X
	}
	l, ok := x.(*Load)
	return l, ok && l.Lanes < 2 && l.Array.Elem.IsInt()
}

// usesAny reports whether e has one of the variables that statements declare.
func usesAny(e Expr, stmts []Stmt) bool {
	return slices.ContainsFunc(stmts, func(s Stmt) bool {
		d, ok := s.(*Decl)
		return ok && uses(e, d.Var)
	})
}

func powerOfTwo(n int64) bool { return n > 0 && n&(n-1) == 0 }

// group is the state of a rewriting: vectors of several lanes for as many iterations as the loop is unrolled by.
type group struct {
	across
	vectorizer
	names *Builder
	width int
	turns int64
	// first and end are the bounds of the iterations.
	first, end *Var
	vectors    []lanes
}

// lanes is a vector of iterations: the number of the first, and a vector of partial sums for each turn.
type lanes struct {
	begin *Var
	sums  []*Var
}

// together is all iterations of the loop; ok is false where they can't be lanes.
func (c across) together(x vectorizer, names *Builder) (all *Block, ok bool) {
	elem, v := c.sum.T.Elem, c.around.Var
	g := group{across: c, vectorizer: x, names: names, turns: max(c.loop.Unroll, 1), first: v, end: names.Index(v.Name + "_end")}
	g.width = min(int(c.around.Unroll), x.VectorBytes()/max(elem.Size(), widest(c.value, v)))
	if g.width < 2 || !x.Vectorizes(c.op, elem) || !x.Vectorizes("", elem) {
		return nil, false
	}
	out := append([]Stmt{Let(g.first, c.around.Lo), Let(g.end, c.around.Hi)}, g.declare()...)
	lo, hi := names.Index(c.loop.Var.Name+"_begin"), names.Index(c.loop.Var.Name+"_end")
	full := names.Index(c.loop.Var.Name + "_full")
	whole := Is(Sub(g.end, g.first), Ge, Const(c.around.Unroll))
	out = append(out, Let(lo, c.loop.Lo), Let(hi, c.loop.Hi), Declare(full, lo), When(whole, g.backwards(full, lo, hi)...))
	inside, rest, ok := g.inside(lo, hi, full)
	if !ok {
		return nil, false
	}
	out = append(append(out, inside...), rest)
	out = append(out, g.sumUp()...)
	var written, some []Stmt
	for _, l := range g.vectors {
		stores, ok := c.write(x, c.sum, l.sums[0], l.begin, names)
		if !ok {
			return nil, false
		}
		written, some = append(written, stores...), append(some, c.writeSome(c.sum, l.sums[0], l.begin, g.end, names)...)
	}
	return Do(append(out, &If{Cond: whole, Then: Do(written...), Else: Do(some...)})...), true
}

// identity is the value that sums begin with.
func (g *group) identity() Expr {
	first, _ := g.op.Identity()
	return Number(first, g.sum.T.Elem)
}

// declare makes the sums of each vector of iterations.
func (g *group) declare() (out []Stmt) {
	for k := range int(g.around.Unroll) / g.width {
		l := lanes{begin: g.first}
		if k > 0 {
			l.begin = g.names.Index(g.first.Name)
			out = append(out, Let(l.begin, Add(g.first, Const(int64(k*g.width)))))
		}
		for range g.turns {
			sum := &Var{Name: g.names.Fresh(g.sum.Name + "_lanes"), T: Type{Elem: g.sum.T.Elem, Lanes: g.width}}
			out, l.sums = append(out, Declare(sum, g.identity())), append(l.sums, sum)
		}
		g.vectors = append(g.vectors, l)
	}
	return out
}

// backwards sets full to where the iterations inside end, of those from lo to hi, in which all lanes have something to sum.
func (g *group) backwards(full, lo, hi *Var) []Stmt {
	if g.valid == nil {
		return []Stmt{Set(full, hi)}
	}
	last := Sub(full, Const(1))
	var missing Expr
	for _, l := range g.vectors {
		index := at(at(g.valid.Index, g.around.Var, l.begin), g.loop.Var, last)
		least := &ReduceLanes{Op: dtype.Min, Of: []Expr{&Load{Array: g.valid.Array, Index: index, Lanes: g.width}}}
		some := Is(least, Lt, Number(0, g.valid.Array.Elem))
		if missing == nil {
			missing = some
		} else {
			missing = Is(missing, LogOr, some)
		}
	}
	return []Stmt{Set(full, hi), Repeat(Is(Is(full, Gt, lo), LogAnd, missing), Set(full, last))}
}

// inside is the iterations inside from lo to full, in which all lanes have something to sum, and the rest up to hi. With several partial sums the last
// iterations of each lane go to the last of these, so that lanes that end at different iterations are summed apart.
func (g *group) inside(lo, hi, full *Var) (out []Stmt, rest *If, ok bool) {
	step := g.names.Index(g.loop.Var.Name)
	if g.turns == 1 {
		body, ok := g.step(step, 0)
		return []Stmt{Loop(step, lo, full, body...)}, When(Is(full, Lt, hi), g.apart(lo, hi, full)...), ok
	}
	main := g.names.Index(g.loop.Var.Name + "_main")
	loop := Loop(step, lo, main)
	loop.Step = g.turns
	for turn := range g.turns {
		body, ok := g.step(Add(step, Const(turn)), turn)
		if !ok {
			return nil, nil, false
		}
		loop.Body.Stmts = append(loop.Body.Stmts, body...)
	}
	rest = &If{Cond: Is(full, Eq, hi), Then: Do(), Else: Do(g.apart(lo, hi, main)...)}
	for turn := range g.turns {
		last := SimplifyExpr(Sub(hi, Const(g.turns-turn)))
		body, _ := g.step(last, turn)
		rest.Then.Stmts = append(rest.Then.Stmts, When(Is(last, Ge, main), body...))
	}
	return []Stmt{Let(main, g.whole(lo, full)), loop}, rest, true
}

// whole is where the iterations inside from lo to end stop that Accumulate has whole vectors of, but for the last one.
func (g *group) whole(lo, end Expr) Expr {
	turns := Const(g.turns)
	return Add(lo, Mul(Div(Sub(Sub(end, lo), Const(1)), turns), turns))
}

// step adds an iteration inside to the sums whose turn it is.
func (g *group) step(step Expr, turn int64) (out []Stmt, ok bool) {
	for _, l := range g.vectors {
		value, v := g.value, g.around.Var
		if g.valid != nil { // elements at the place of what is tested are counted from there
			place, text := g.names.Index(g.loop.Var.Name+"_place"), ExprText(g.valid.Index)
			moved := MapExpr(value, func(e Expr) Expr {
				if ExprText(e) == text {
					return place
				}
				return e
			})
			if !uses(moved, v) {
				out = append(out, Let(place, at(at(g.valid.Index, v, l.begin), g.loop.Var, step)))
				value, v = moved, place
			}
		}
		vector, ok := g.expr(value, v, g.width)
		if !ok || vector.Type().Lanes < 2 {
			return nil, false
		}
		if v == g.around.Var {
			vector = at(vector, v, l.begin)
		}
		vector = Convert(at(vector, g.loop.Var, step), g.sum.T.Elem)
		out = append(out, &Assign{Var: l.sums[turn], Reduce: g.op, Value: vector})
	}
	return out, true
}

// apart is the iterations inside from begin to hi, in which only some lanes have something to sum: one lane after the other.
func (g *group) apart(lo, hi, begin *Var) (out []Stmt) {
	for _, l := range g.vectors {
		kept, lane, step := g.names.Array(g.sum.Name, g.sum.T.Elem), g.names.Index("lane"), g.names.Index(g.loop.Var.Name)
		of := func(e Expr, step Expr) Expr { return at(at(e, g.around.Var, Add(l.begin, lane)), g.loop.Var, step) }
		end, mine := g.names.Index(step.Name+"_end"), []Stmt{}
		mine = append(mine, Declare(end, hi))
		if g.valid != nil {
			last := Sub(end, Const(1))
			nothing := Is(of(g.valid, last), Lt, Number(0, g.valid.Array.Elem))
			mine = append(mine, Repeat(Is(Is(end, Gt, begin), LogAnd, nothing), Set(end, last)))
		}
		index := Expr(lane)
		if g.turns > 1 {
			main, turns, done := g.names.Index(step.Name+"_main"), Const(g.turns), Sub(step, lo)
			mine = append(mine, Let(main, g.whole(lo, end)))
			turn := &Select{
				Cond: Is(step, Lt, main), Then: Remainder(done, Div(done, turns), turns), Else: Add(Sub(step, end), turns),
			}
			index = Add(Mul(turn, Const(int64(g.width))), lane)
		}
		add := &Store{Array: kept, Index: index, Reduce: g.op, Value: Convert(of(g.value, step), g.sum.T.Elem)}
		mine = append(mine, Loop(step, begin, end, add))
		out = append(out, &Alloc{Array: kept, Size: Const(g.turns * int64(g.width))})
		for turn, sum := range l.sums {
			out = append(out, &Store{Array: kept, Index: Const(int64(turn * g.width)), Value: sum, Lanes: g.width})
		}
		out = append(out, Count(lane, Min(Const(int64(g.width)), Sub(g.end, l.begin)), mine...))
		for turn, sum := range l.sums {
			out = append(out, Set(sum, &Load{Array: kept, Index: Const(int64(turn * g.width)), Lanes: g.width}))
		}
	}
	return out
}

// sumUp adds the partial sums of each lane up in the first, in the order of ReduceLanes.
func (g *group) sumUp() (out []Stmt) {
	each := GroupLanes(Type{Elem: g.sum.T.Elem, Lanes: int(g.turns)})
	halve := func(sums []*Var) {
		for n := len(sums) / 2; n > 0; n /= 2 {
			for k := range n {
				out = append(out, &Assign{Var: sums[k], Reduce: g.op, Value: sums[k+n]})
			}
		}
	}
	for _, l := range g.vectors {
		var firsts []*Var
		for sums := range slices.Chunk(l.sums, each) {
			halve(sums)
			firsts = append(firsts, sums[0])
		}
		halve(firsts)
	}
	return out
}
