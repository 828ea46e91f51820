package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// group is the state of a rewriting: vectors of several lanes for as many iterations as the loop is unrolled by.
type group struct {
	across
	vectorizer
	names *Builder
	width int
	// turns is how many partial sums an iteration outside has; lanes of them are reduced as a vector of so many would be.
	turns, lanes int64
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
	size := max(elem.Size(), widest(c.value, v))
	filled, most := x.VectorBytes()/size, int64(x.rowLanes(c.loop, g.turns, size))
	g.lanes = min(g.turns, int64(filled), most)
	g.turns = g.lanes * max(g.turns/most, 1)
	g.width = min(int(c.around.Unroll), filled)
	if g.width < 2 || !x.Vectorizes(c.op, elem) || !x.Vectorizes("", elem) {
		return nil, false
	}
	out := append([]Stmt{Let(g.first, c.around.Lo), Let(g.end, c.around.Hi)}, g.declare()...)
	lo, hi := names.Index(c.loop.Var.Name+"_begin"), names.Index(c.loop.Var.Name+"_end")
	out = append(out, Let(lo, c.loop.Lo), Let(hi, c.loop.Hi))
	whole, ok := g.inside(lo, hi)
	if !ok {
		return nil, false
	}
	whole, some := append(whole, g.sumUp()...), append(g.apart(lo, hi), g.sumUp()...)
	for _, l := range g.vectors {
		stores, ok := c.write(x, c.sum, l.sums[0], l.begin, names)
		if !ok {
			return nil, false
		}
		whole, some = append(whole, stores...), append(some, c.writeSome(c.sum, l.sums[0], l.begin, g.end, names)...)
	}
	return Do(append(out, &If{Cond: Is(Sub(g.end, g.first), Ge, Const(c.around.Unroll)), Then: Do(whole...), Else: Do(some...)})...), true
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

// holds says whether lanes have something to sum in an iteration inside: all of them where of is Min, at least one where it is Max.
func (g *group) holds(of dtype.Op, step Expr) Expr {
	join := map[dtype.Op]Cmp{dtype.Min: LogAnd, dtype.Max: LogOr}[of]
	var cond Expr
	for _, l := range g.vectors {
		index := at(at(g.valid.Index, g.around.Var, l.begin), g.loop.Var, step)
		extreme := &ReduceLanes{Op: of, Of: []Expr{&Load{Array: g.valid.Array, Index: index, Lanes: g.width}}}
		held := Is(extreme, Ge, Number(0, g.valid.Array.Elem))
		if cond == nil {
			cond = held
		} else {
			cond = Is(cond, join, held)
		}
	}
	return cond
}

// inside is the iterations inside from lo to hi, in turns: as long as all lanes have something to sum in all of a turn, then as long as one has. Where there
// are few sums, lanes that end together are a case of its own, which asks once: asking takes much of the time of a short row.
func (g *group) inside(lo, hi *Var) (out []Stmt, ok bool) {
	step, turns := g.names.Index(g.loop.Var.Name), Const(g.turns)
	if g.place != nil {
		out, ok = g.inBand(step)
		return []Stmt{Loop(step, lo, hi, out...)}, ok
	}
	whole, left := Is(Add(step, turns), Le, hi), Is(step, Lt, hi)
	turn := func(holds Expr, all [][]Stmt) Stmt {
		return Repeat(holds, append(slices.Concat(all...), Increase(step, turns))...)
	}
	all, ok := g.steps(step, g.turns, false)
	if !ok {
		return nil, false
	}
	full := []Stmt{turn(whole, all)}
	if g.turns > 1 {
		rest, _ := g.steps(step, g.turns-1, false)
		full = append(full, When(left, below(step, hi, rest)...))
	}
	out = []Stmt{Declare(step, lo)}
	if g.valid == nil {
		return append(out, full...), true
	}
	all, _ = g.steps(step, g.turns, false)
	some, _ := g.steps(step, g.turns, true)
	masked := []Stmt{
		turn(Is(whole, LogAnd, g.holds(dtype.Min, Add(step, Const(g.turns-1)))), all),
		Repeat(Is(left, LogAnd, g.holds(dtype.Max, step)), append(below(step, hi, some), Increase(step, turns))...),
	}
	if g.turns*int64(len(g.vectors)) > shortLanes {
		return append(out, masked...), true
	}
	together := Is(left, LogAnd, g.holds(dtype.Min, Sub(hi, Const(1))))
	return append(out, &If{Cond: together, Then: Do(full...), Else: Do(masked...)}), true
}

// inBand is an iteration inside where lanes have neighbouring places: at once where all of these are in the range, one lane after the other where some are.
func (g *group) inBand(step *Var) (out []Stmt, ok bool) {
	all, ok := g.step(step, 0, false)
	if !ok {
		return nil, false
	}
	for k, l := range g.vectors {
		place := g.names.Index(g.loop.Var.Name + "_place")
		last := Add(place, Const(int64(g.width-1)))
		held := Is(Is(place, Ge, Const(0)), LogAnd, Is(last, Lt, g.extent))
		partly := Is(Is(last, Ge, Const(0)), LogAnd, Is(place, Lt, g.extent))
		some := g.oneByOne(l, Const(int64(g.width)), step, func(lane *Var, add func(index Expr) Stmt) Stmt { return add(lane) })
		out = append(out, Let(place, at(at(g.place, g.around.Var, l.begin), g.loop.Var, step)), &If{Cond: held, Then: Do(all[k]), Else: Do(When(partly, some...))})
	}
	return out, true
}

// below is the statements of those of several iterations from step on that come before hi, as the first does.
func below(step *Var, hi Expr, iterations [][]Stmt) (out []Stmt) {
	for turn, stmts := range slices.Backward(iterations) {
		if turn+1 < len(iterations) {
			next := Add(step, Const(int64(turn+1)))
			stmts = append(slices.Clip(stmts), When(Is(next, Lt, hi), out...))
		}
		out = stmts
	}
	return out
}

// steps are the statements of count iterations inside from step on, which add to the sums in turn. some says that only some lanes may have something to sum; what
// isn't there is read at coordinate 0, which is one of an element that another lane has.
func (g *group) steps(step Expr, count int64, some bool) (out [][]Stmt, ok bool) {
	for turn := range count {
		stmts, ok := g.step(SimplifyExpr(Add(step, Const(turn))), turn, some)
		if !ok {
			return nil, false
		}
		out = append(out, stmts)
	}
	return out, true
}

// step adds an iteration inside to the sums whose turn it is.
func (g *group) step(step Expr, turn int64, some bool) (out []Stmt, ok bool) {
	x := g.vectorizer
	x.Adjacent = x.Adjacent && !some
	for _, l := range g.vectors {
		value, v := g.value, g.around.Var
		var place *Var
		if g.valid != nil {
			place = g.names.Index(g.loop.Var.Name + "_place")
			if some {
				value = g.present(value)
			}
			moved := replaced(value, g.valid.Index, place) // elements at the place of what is tested are counted from there
			if !uses(moved, v) {
				value, v = moved, place
			}
			if some || v == place {
				out = append(out, Let(place, at(at(g.valid.Index, g.around.Var, l.begin), g.loop.Var, step)))
			}
		}
		vector, ok := x.expr(value, v, g.width)
		if !ok || vector.Type().Lanes < 2 {
			return nil, false
		}
		if v == g.around.Var {
			vector = at(vector, v, l.begin)
		}
		sum := l.sums[turn]
		vector = Convert(at(vector, g.loop.Var, step), sum.T.Elem)
		if !some {
			out = append(out, &Assign{Var: sum, Reduce: g.op, Value: vector})
			continue
		}
		of := &Load{Array: g.valid.Array, Index: place, Lanes: g.width}
		out = append(out, Set(sum, &Where{X: Apply(g.op, sum, vector), Of: of, Else: sum}))
	}
	return out, true
}

// present is e with coordinate 0 where nothing is stored.
func (g *group) present(e Expr) Expr {
	index := ExprText(g.valid.Index)
	return MapExpr(e, func(e Expr) Expr {
		if l, ok := e.(*Load); ok && l.Array.Name == g.valid.Array.Name && ExprText(l.Index) == index {
			return Max(l, Number(0, l.Array.Elem))
		}
		return e
	})
}

// replaced is e with y in place of x.
func replaced(e, x, y Expr) Expr {
	text := ExprText(x)
	return MapExpr(e, func(e Expr) Expr {
		if ExprText(e) == text {
			return y
		}
		return e
	})
}

// apart is the iterations inside from lo to hi for those outside that are fewer than lanes: one lane after the other.
func (g *group) apart(lo, hi *Var) (out []Stmt) {
	for _, l := range g.vectors {
		step := g.names.Index(g.loop.Var.Name)
		out = append(out, g.oneByOne(l, Min(Const(int64(g.width)), Sub(g.end, l.begin)), step, func(lane *Var, add func(index Expr) Stmt) Stmt {
			index := Expr(lane)
			if g.turns > 1 {
				turns, done := Const(g.turns), Sub(step, lo)
				index = Add(Mul(Remainder(done, Div(done, turns), turns), Const(int64(g.width))), lane)
			}
			return Loop(step, lo, hi, add(index))
		})...)
	}
	return out
}

// oneByOne does something for each of count lanes: what it is told how to add an element of an iteration inside, to one of the sums, which are in an array.
func (g *group) oneByOne(l lanes, count Expr, step *Var, do func(lane *Var, add func(index Expr) Stmt) Stmt) (out []Stmt) {
	kept, lane := g.names.Array(g.sum.Name, g.sum.T.Elem), g.names.Index("lane")
	of := func(e Expr) Expr { return at(at(e, g.around.Var, Add(l.begin, lane)), g.loop.Var, step) }
	add := func(index Expr) Stmt {
		var add Stmt = &Store{Array: kept, Index: index, Reduce: g.op, Value: Convert(of(g.value), g.sum.T.Elem)}
		switch {
		case g.valid != nil:
			add = When(Is(of(g.valid), Ge, Number(0, g.valid.Array.Elem)), add)
		case g.place != nil:
			add = When(Apply(dtype.And, Is(of(g.place), Ge, Const(0)), Is(of(g.place), Lt, g.extent)), add)
		}
		return add
	}
	out = append(out, &Alloc{Array: kept, Size: Const(g.turns * int64(g.width))})
	for turn, sum := range l.sums {
		out = append(out, &Store{Array: kept, Index: Const(int64(turn * g.width)), Value: sum, Lanes: g.width})
	}
	out = append(out, Count(lane, count, do(lane, add)))
	for turn, sum := range l.sums {
		out = append(out, Set(sum, &Load{Array: kept, Index: Const(int64(turn * g.width)), Lanes: g.width}))
	}
	return out
}

// sumUp adds the partial sums of each lane up in the first: in pairs of neighbouring vectors, then in the order of ReduceLanes.
func (g *group) sumUp() (out []Stmt) {
	add := func(x, y *Var) { out = append(out, &Assign{Var: x, Reduce: g.op, Value: y}) }
	halve := func(sums []*Var) {
		for n := len(sums) / 2; n > 0; n /= 2 {
			for k := range n {
				add(sums[k], sums[k+n])
			}
		}
	}
	each := GroupLanes(Type{Elem: g.sum.T.Elem, Lanes: int(g.lanes)})
	for _, l := range g.vectors {
		for apart := int(g.lanes); apart < len(l.sums); apart *= 2 {
			for k := range len(l.sums) {
				if k%(2*apart) < int(g.lanes) {
					add(l.sums[k], l.sums[k+apart])
				}
			}
		}
		var firsts []*Var
		for sums := range slices.Chunk(l.sums[:g.lanes], each) {
			halve(sums)
			firsts = append(firsts, sums[0])
		}
		halve(firsts)
	}
	return out
}
