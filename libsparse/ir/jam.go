package ir

import "slices"

// Jam is m with loops that are unrolled around a reduction in lanes rewritten: the lanes of several iterations are reduced together.
// Reductions with the same bounds run at once, so that what they share is loaded once, and have the sums of Accumulate with one vector
// each; others, such as rows of a sparse tensor, run one after the other and have the sums of Accumulate.
func Jam(m *Module, target Target) *Module {
	x := vectorizer{Target: target, gather: true}
	unrolled := func(s *For) bool {
		_, ok := jamOf(s)
		return ok
	}
	return rewriteReductions(m, unrolled, func(s *For, names *Builder) Stmt { return x.jam(s, names) })
}

// jam is an unrolled loop whose body is constants, a reduction, and stores of what that gives.
type jam struct {
	reduction
	around    *For
	constants []Stmt
	stores    []*Store
	// bounded says that the reduction has the same bounds in each iteration.
	bounded bool
}

func jamOf(s *For) (j jam, ok bool) {
	at := slices.IndexFunc(s.Body.Stmts, func(t Stmt) bool { _, loop := t.(*For); return loop })
	if at < 1 || s.Kind != Serial || s.Unroll < 2 || s.Unroll&(s.Unroll-1) != 0 || s.Step != 1 {
		return j, false
	}
	j.reduction, ok = reductionOf(s.Body.Stmts[at].(*For))
	d, declares := s.Body.Stmts[at-1].(*Decl)
	if !ok || !declares || d.Var.Name != j.sum.Name || !isIdentity(d.Init, j.reduction) {
		return j, false
	}
	j.around, j.constants = s, s.Body.Stmts[:at-1]
	constants, ok := constantsOf(j.constants)
	j.bounded = j.sameBounds(constants)
	return j, ok && j.storesOnly(s.Body.Stmts[at+1:])
}

// storesOnly reports whether statements are stores into arrays that the loop doesn't load from, and keeps them.
func (j *jam) storesOnly(stmts []Stmt) bool {
	written := map[string]bool{}
	for _, t := range stmts {
		store, ok := t.(*Store)
		if !ok || store.Atomic {
			return false
		}
		written[store.Array.Name] = true
		j.stores = append(j.stores, store)
	}
	return len(stmts) > 0 && !loadsAny(j.around.Body, written)
}

// sameBounds reports whether the reduction has the same bounds in each iteration around it.
func (j jam) sameBounds(constants map[string]Expr) bool {
	same := true
	for _, bound := range []Expr{j.loop.Lo, j.loop.Hi} {
		EachExpr(bound, func(e Expr) {
			v, ok := e.(*Var)
			same = same && !(ok && (v.Name == j.around.Var.Name || constants[v.Name] != nil))
		})
	}
	return same
}

// isIdentity reports whether e is what the sums of r begin with.
func isIdentity(e Expr, r reduction) bool {
	x, ok := literal(e)
	first, _ := r.op.Identity()
	y, known := literal(Number(first, r.sum.T.Elem))
	return ok && known && x.Value == y.Value
}

// loadsAny reports whether b loads from one of some arrays.
func loadsAny(b *Block, arrays map[string]bool) bool {
	found := false
	EachStmt(b, func(s Stmt) {
		for _, e := range Exprs(s) {
			EachExpr(e, func(e Expr) {
				l, ok := e.(*Load)
				found = found || ok && arrays[l.Array.Name]
			})
		}
	})
	return found
}

func (x vectorizer) jam(s *For, names *Builder) Stmt {
	j, ok := jamOf(s)
	if !ok {
		return s
	}
	rest := *s
	rest.Unroll = 0
	body, ok := x.together(j, names)
	if !ok {
		return &rest
	}
	begin, end, n := names.Index(s.Var.Name+"_rest"), names.Index(s.Var.Name+"_end"), Const(s.Unroll)
	rest.Var, rest.Lo, rest.Hi = names.Index(s.Var.Name), begin, end
	rest.Body = substitute(x.alone(j, names), s.Var, rest.Var)
	return Do(
		Let(end, s.Hi), Let(begin, Add(s.Lo, Mul(Div(Sub(end, s.Lo), n), n))),
		&For{Var: s.Var, Lo: s.Lo, Hi: begin, Step: s.Unroll, Kind: Serial, Body: Do(body...)},
		&rest,
	)
}

// alone is the body of one iteration, with sums in the same order as those of several: what an element gets doesn't depend on those beside it.
func (x vectorizer) alone(j jam, names *Builder) *Block {
	var out []Stmt
	for _, t := range j.around.Body.Stmts {
		if t == Stmt(j.loop) {
			t = x.sums(j, j.reduction, names).one()
		}
		out = append(out, t)
	}
	return flatten(Do(out...))
}

// sums are the accumulators of a reduction of j.
func (x vectorizer) sums(j jam, r reduction, names *Builder) *accumulators {
	a := x.accumulators(r, names)
	if j.bounded {
		a.each = 1
	}
	return a
}

// together is the body of as many iterations as the loop of j is unrolled by.
func (x vectorizer) together(j jam, names *Builder) (out []Stmt, ok bool) {
	out, sums, ok := x.reductions(j, names)
	if !ok {
		return nil, false
	}
	all := &Var{Name: names.Fresh(j.sum.Name), T: Type{Elem: j.sum.T.Elem, Lanes: len(sums)}}
	out = append(out, Let(all, &ReduceLanes{Op: j.op, Of: sums}))
	values, _ := constantsOf(j.constants)
	values[j.sum.Name] = all
	stores := make([]*Store, len(j.stores))
	for k, s := range j.stores {
		stores[k] = &Store{Array: s.Array, Index: replaceVars(s.Index, values), Reduce: s.Reduce, Value: replaceVars(s.Value, values)}
	}
	if j.scatters() {
		return append(out, j.each(all, len(sums), names)...), true
	}
	written, ok := x.body(stores, j.around.Var, len(sums))
	return append(out, written...), ok
}

// scatters reports whether iterations that follow each other store to places that don't.
func (j jam) scatters() bool {
	values, _ := constantsOf(j.constants)
	return slices.ContainsFunc(j.stores, func(s *Store) bool { return !consecutive(replaceVars(s.Index, values), j.around.Var) })
}

// each stores what each of n iterations gives, whose sums are the lanes of all.
func (j jam) each(all *Var, n int, names *Builder) []Stmt {
	kept := names.Array(j.sum.Name, all.T.Elem)
	out := []Stmt{&Alloc{Array: kept, Size: Const(int64(n))}, &Store{Array: kept, Index: Const(0), Value: all, Lanes: n}}
	values, _ := constantsOf(j.constants)
	for q := range int64(n) {
		iteration := SimplifyExpr(Add(j.around.Var, Const(q)))
		values[j.sum.Name] = At(kept, Const(q))
		of := func(e Expr) Expr { return at(replaceVars(e, values), j.around.Var, iteration) }
		for _, s := range j.stores {
			out = append(out, &Store{Array: s.Array, Index: of(s.Index), Reduce: s.Reduce, Value: of(s.Value)})
		}
	}
	return out
}

// reductions are the reductions of as many iterations as the loop of j is unrolled by, and the vector that each leaves.
func (x vectorizer) reductions(j jam, names *Builder) (out []Stmt, sums []Expr, ok bool) {
	a := x.sums(j, j.reduction, names)
	for q := range j.around.Unroll {
		copied := map[string]Expr{j.around.Var.Name: SimplifyExpr(Add(j.around.Var, Const(q)))}
		out = append(out, copies(j.constants, copied, names)...)
		value := replaceVars(j.value, copied)
		if j.bounded {
			a.values = append(a.values, value)
			continue
		}
		loop, own := *j.loop, j.reduction
		loop.Lo, loop.Hi = replaceVars(loop.Lo, copied), replaceVars(loop.Hi, copied)
		own.loop, own.value = &loop, value
		b := x.sums(j, own, names)
		b.values = []Expr{value}
		stmts, sum, ok := b.run()
		if !ok {
			return nil, nil, false
		}
		out, sums = append(out, stmts...), append(sums, sum...)
	}
	if !j.bounded {
		return out, sums, true
	}
	stmts, sums, ok := a.run()
	return append(out, stmts...), sums, ok
}
