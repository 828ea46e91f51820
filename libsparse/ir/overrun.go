package ir

import "slices"

// Overrun is m with what is stored at each position of segments that follow each other, such as the entries of rows, stored by whole vectors that run over
// the ends of segments: what a vector writes beyond, the next segments write again. So no loop waits for the end of a short row, which no
// processor foresees. Vectors end where the last segment does.
func Overrun(m *Module, target Target) *Module {
	x := vectorizer{Target: target, chooses: true}
	wanted := func(s *For) bool { return segmentIn(s) != nil }
	return rewriteLoops(m, wanted, func(s *For, names *Builder) Stmt {
		if inner := segmentIn(s); inner != nil {
			return x.overrun(s, inner, names)
		}
		return s
	})
}

// segmentIn is the loop over positions that stands last in the body of s, where segments follow each other; nil where there is none. What stands
// before it, such as the sum of a row, writes to nothing that it writes to.
func segmentIn(s *For) *For {
	last := len(s.Body.Stmts) - 1
	if last < 0 || !plain(s) {
		return nil
	}
	inner, ok := s.Body.Stmts[last].(*For)
	if !ok || !followEach(s, inner.Lo, inner.Hi) {
		return nil
	}
	serial := *inner
	serial.Kind, serial.Unroll = Serial, 0 // lanes are no other iterations
	if inner.Kind != Simd && inner.Kind != Serial || !plain(&serial) {
		return nil
	}
	var stored []string
	EachStmt(&serial, func(t Stmt) { stored = append(stored, written(t)...) })
	again := false
	EachStmt(Do(s.Body.Stmts[:last]...), func(t Stmt) {
		again = again || slices.ContainsFunc(written(t), func(name string) bool { return slices.Contains(stored, name) })
	})
	if again {
		return nil
	}
	return &serial
}

// overrun is s with vectors in place of the iterations of inner, or s where its body stores anything else than values of positions at these positions.
func (x vectorizer) overrun(s, inner *For, names *Builder) Stmt {
	stores, size := storesOf(valuesOf(inner), inner.Var)
	again, ok := separate(stores)
	lanes := x.VectorBytes() / size
	if !ok || again || lanes < 2 || !atPositions(s, stores, inner.Var) {
		return s
	}
	body, ok := x.body(stores, inner.Var, lanes)
	if !ok {
		return s
	}
	within, place, end := names.Index(inner.Var.Name+"_within"), names.Index(inner.Var.Name), names.Index(inner.Var.Name+"_end")
	at := func(body ...Stmt) []Stmt { return substitute(&Block{Stmts: body}, inner.Var, place).Stmts }
	step := Const(int64(lanes))
	whole := All(Is(place, Lt, end), Is(Add(place, step), Le, within))
	out := append(slices.Clone(s.Body.Stmts[:len(s.Body.Stmts)-1]), Declare(place, inner.Lo), Let(end, inner.Hi), Repeat(whole, append(at(body...), Increase(place, step))...))
	if inBody(inner, calls) {
		out = append(out, When(Is(place, Lt, end), x.fewer(stores, inner.Var, lanes, place, end, names)...))
	} else {
		out = append(out, Repeat(Is(place, Lt, end), append(at(inner.Body.Stmts...), Increment(place))...))
	}
	rows := *s
	rows.Body = Do(out...)
	return ifAny(s, Do(Let(within, replaceVars(inner.Lo, map[string]Expr{s.Var.Name: s.Hi})), &rows))
}

// atPositions reports whether stores write at the position p, and read at it whatever depends on it: then what a vector reads and writes behind the segment
// of an iteration of s belongs to the next ones. Nothing that they write is read; results share no memory with operands.
func atPositions(s *For, stores []*Store, p *Var) bool {
	fit := !slices.ContainsFunc(stores, func(t *Store) bool { return !isVar(t.Index, p) })
	read := func(e Expr) {
		l, ok := e.(*Load)
		if !ok {
			return
		}
		fit = fit && !slices.ContainsFunc(stores, func(t *Store) bool { return t.Array.Name == l.Array.Name })
		fit = fit && (!uses(l.Index, p) || isVar(l.Index, p))
	}
	EachStmt(Do(s), func(t Stmt) {
		for _, e := range Exprs(t) {
			EachExpr(e, read)
		}
	})
	return fit
}
