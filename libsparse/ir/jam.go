package ir

import "slices"

// Jam is m with loops that are unrolled around a reduction in lanes rewritten: the lanes of several iterations are reduced together.
// Reductions with the same bounds run at once, so that what they share is loaded once, and have the sums of Accumulate with one vector
// each; others, such as rows of a sparse tensor, run one after the other and have the sums of Accumulate.
func Jam(m *Module, target Target) *Module {
	x := vectorizer{Target: target, gather: true, chooses: true}
	unrolled := func(s *For) bool {
		_, ok := jamOf(s)
		return ok
	}
	return rewriteReductions(m, unrolled, func(s *For, names *Builder) Stmt { return x.jam(s, names) })
}

// jam is an unrolled loop whose body is constants, a reduction, and stores of what that gives.
type jam struct {
	reduction
	results
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
	j.results, ok = resultsOf(s, s.Body.Stmts[:at-1], s.Body.Stmts[at+1:])
	if !ok {
		return j, false
	}
	j.bounded = j.sameBounds(j.loop)
	return j, true
}

// isIdentity reports whether e is what the sums of r begin with.
func isIdentity(e Expr, r reduction) bool {
	x, ok := literal(e)
	first, _ := r.op.Identity()
	y, known := literal(Number(first, r.sum.T.Elem))
	return ok && known && x.Value == y.Value
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
	written, ok := j.write(x, j.sum, all, j.around.Var, names)
	return append(out, written...), ok
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
