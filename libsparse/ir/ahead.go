package ir

import "libsparse/libsparse/dtype"

// Ahead is m with loops that walk an operand asking for what they will read some time later, where a slot says so. Processors foresee streams by
// themselves, but no farther than the end of a page, and not while a loop waits for what it reads by coordinates; loops that read none are left alone.
func Ahead(m *Module) *Module {
	for _, s := range m.Slots {
		if s.Walk != nil {
			m = ahead(m, s.Walk)
		}
	}
	return m
}

func ahead(m *Module, walk *Walk) *Module {
	changed := false
	same := func(e Expr) Expr { return e }
	out := mapFuncs(m, func(f *Func) *Block {
		x := &foresight{Walk: walk, names: builderFor(m.Slots, f)}
		x.several = x.walksSeveral(f.Body)
		return MapStmt(f.Body, same, func(s Stmt) Stmt {
			if b, ok := s.(*Block); ok {
				return flatten(b)
			}
			t := x.asking(s)
			changed = changed || t != s
			return t
		}).(*Block)
	})
	if !changed {
		return m
	}
	return out
}

// foresight rewrites one function.
type foresight struct {
	*Walk
	names *Builder
	// several says that loops walk several places at a time; single places are then what these leave, too few to ask for.
	several bool
}

// walksSeveral reports whether a loop walks several places at a time.
func (x *foresight) walksSeveral(b *Block) (several bool) {
	EachStmt(b, func(s Stmt) {
		step, ok := x.step(s)
		several = several || ok && step.places > 1
	})
	return several
}

// asking is s, or the loop s over what is walked that asks first.
func (x *foresight) asking(s Stmt) Stmt {
	step, ok := x.step(s)
	switch {
	case !ok || x.several && step.places == 1:
		return s
	case step.places > 1:
		return x.before(s, step)
	default:
		return x.strips(s.(*For), step)
	}
}

// step is what a loop walks in one iteration.
type step struct {
	place  *Var
	places int64
	arrays []*Array
}

// step finds what s walks itself: a loop that reads arrays, coordinates among them, at a variable that each iteration moves on by a constant.
func (x *foresight) step(s Stmt) (out step, ok bool) {
	var body *Block
	switch s := s.(type) {
	case *For:
		if s.Kind != Serial || s.Ends {
			return out, false
		}
		out.place, out.places, body = s.Var, s.Step, s.Body
	case *While:
		out.place, out.places = increased(s.Body)
		if out.places < 2 {
			return out, false
		}
		body = s.Body
	default:
		return out, false
	}
	for _, a := range x.Arrays {
		if readsAt(body, a, out.place) {
			out.arrays = append(out.arrays, a)
		}
	}
	return out, len(out.arrays) > 0 && out.arrays[0] == x.Arrays[0]
}

// increased is the variable that the last statement of b increases by a constant; 0 where it doesn't.
func increased(b *Block) (v *Var, by int64) {
	if len(b.Stmts) == 0 {
		return nil, 0
	}
	last, ok := b.Stmts[len(b.Stmts)-1].(*Assign)
	if !ok || last.Reduce != dtype.Add {
		return nil, 0
	}
	if n, constant := last.Value.(*Int); constant {
		return last.Var, n.Value
	}
	return nil, 0
}

// readsAt reports whether statements load an element of a at v or a constant after it.
func readsAt(b *Block, a *Array, v *Var) (found bool) {
	EachStmt(b, func(s Stmt) {
		for _, e := range Exprs(s) {
			EachExpr(e, func(e Expr) {
				l, ok := e.(*Load)
				found = found || ok && l.Array.Name == a.Name && begins(l.Index, v)
			})
		}
	})
	return found
}

// begins reports whether an index is v or a constant after it.
func begins(index Expr, v *Var) bool {
	if sum, ok := index.(*Binary); ok && sum.Op == dtype.Add {
		if _, constant := sum.Y.(*Int); constant {
			index = sum.X
		}
	}
	return isVar(index, v)
}

// hints ask for what is read Distance places after p, in so many places.
func (x *foresight) hints(arrays []*Array, p *Var, places int64) (out []Stmt) {
	for _, a := range arrays {
		out = append(out, &Prefetch{Array: a, Index: Add(p, Const(x.Distance)), Count: places, Beyond: true})
	}
	return out
}

// before is a loop over several places at a time that asks first.
func (x *foresight) before(s Stmt, w step) Stmt {
	hints := x.hints(w.arrays, w.place, w.places)
	switch s := s.(type) {
	case *For:
		loop := *s
		loop.Body = Do(append(hints, s.Body.Stmts...)...)
		return &loop
	case *While:
		return &While{Cond: s.Cond, Body: Do(append(hints, s.Body.Stmts...)...)}
	}
	return s
}

// lineBytes is a line of a cache.
const lineBytes = 64

// strips is a loop over single places cut into strips of as many as a line has, before each of which it asks.
func (x *foresight) strips(s *For, w step) Stmt {
	strip := int64(lineBytes)
	for _, a := range w.arrays {
		strip = min(strip, lineBytes/int64(a.Elem.Size()))
	}
	first, end := x.names.Index(s.Var.Name+"_strip"), x.names.Index(s.Var.Name+"_end")
	loop := *s
	loop.Lo, loop.Hi = first, Min(Add(first, Const(strip)), end)
	body := append(x.hints(w.arrays, first, strip), &loop, Increase(first, Const(strip)))
	return Do(Declare(first, s.Lo), Let(end, s.Hi), Repeat(Is(first, Lt, end), body...))
}
