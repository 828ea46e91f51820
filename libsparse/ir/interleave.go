package ir

// Interleave is m with loops rewritten that are unrolled around sums in a local array: each iteration that is written out adds to an array of
// its own, so that none waits for the one before. The arrays are added up behind, those that are half as many apart first. Loops of fewer than
// shortStrip iterations run one after the other, and so do those that are left over.
func Interleave(m *Module) *Module {
	unrolled := func(s *For) bool {
		_, ok := stripOf(s)
		return ok
	}
	local := map[string]*Alloc{}
	for _, f := range m.Funcs {
		EachStmt(f.Body, func(s Stmt) {
			if a, ok := s.(*Alloc); ok && a.OnStack() {
				local[a.Array.Name] = a
			}
		})
	}
	return rewriteLoops(m, unrolled, func(s *For, names *Builder) Stmt {
		strip, ok := stripOf(s)
		if !ok || local[strip.store.Array.Name] == nil {
			return s
		}
		return strip.interleave(local[strip.store.Array.Name].Size, names)
	})
}

// strip is an unrolled loop whose body is constants and a loop that adds to the elements of an array.
type strip struct {
	around    *For
	constants []Stmt
	inner     *For
	store     *Store
}

func stripOf(s *For) (out strip, ok bool) {
	last := len(s.Body.Stmts) - 1
	if s.Kind != Serial || s.Unroll < 2 || s.Unroll&(s.Unroll-1) != 0 || s.Step != 1 || last < 0 {
		return out, false
	}
	out = strip{around: s, constants: s.Body.Stmts[:last]}
	if out.inner, out.store, ok = sumsOf(s.Body.Stmts[last]); !ok || uses(out.store.Index, s.Var) {
		return out, false
	}
	store := out.store
	constants, ok := constantsOf(out.constants)
	for name := range constants {
		ok = ok && !uses(store.Index, &Var{Name: name})
	}
	return out, ok && !loadsAny(s.Body, map[string]bool{store.Array.Name: true})
}

// sumsOf is a loop in lanes from zero to a literal that adds to neighbouring elements of an array, and does nothing else.
func sumsOf(s Stmt) (inner *For, store *Store, ok bool) {
	inner, ok = s.(*For)
	if !ok || inner.Kind != Simd || inner.Step != 1 || len(inner.Body.Stmts) != 1 || !isLiteralZero(inner.Lo) {
		return nil, nil, false
	}
	_, literal := inner.Hi.(*Int)
	store, ok = inner.Body.Stmts[0].(*Store)
	return inner, store, ok && literal && store.Reduce.Commutes() && !store.Atomic && consecutive(store.Index, inner.Var)
}

// shortStrip is how many iterations a loop has at least for several to be in flight: with fewer, processors foresee its end and begin
// what follows (measured: SpMM with 16 columns on 18 real matrices; without the limit, rows of 5 to 15 entries lose up to a fifth).
const shortStrip = 16

// interleave is the loop with as many arrays as it writes iterations out, of which the first is the one that it has.
func (t strip) interleave(size Expr, names *Builder) Stmt {
	s := t.around
	end, begin := names.Index(s.Var.Name+"_end"), names.Index(s.Var.Name+"_rest")
	arrays := []*Array{t.store.Array}
	var several, body []Stmt
	for q := range s.Unroll {
		if q > 0 {
			a := names.Array(t.store.Array.Name, t.store.Array.Elem)
			first, _ := t.store.Reduce.Identity()
			arrays = append(arrays, a)
			several = append(several, &Alloc{Array: a, Size: size}, t.each(names, func(k *Var) Stmt {
				return &Store{Array: a, Index: at(t.store.Index, t.inner.Var, k), Value: Number(first, a.Elem)}
			}))
		}
		copied := map[string]Expr{s.Var.Name: SimplifyExpr(Add(s.Var, Const(q)))}
		body = append(body, copies(t.constants, copied, names)...)
		body = append(body, t.each(names, func(k *Var) Stmt {
			copied[t.inner.Var.Name] = k
			return &Store{Array: arrays[q], Index: replaceVars(t.store.Index, copied), Reduce: t.store.Reduce, Value: replaceVars(t.store.Value, copied)}
		}))
	}
	n, first := Const(s.Unroll), names.Index(s.Var.Name+"_begin")
	several = append(
		several, Set(begin, Add(first, Mul(Div(Sub(end, first), n), n))),
		&For{Var: s.Var, Lo: first, Hi: begin, Step: s.Unroll, Kind: Serial, Body: Do(body...)},
	)
	several = append(several, t.sum(arrays, names)...)
	rest := *s
	rest.Unroll, rest.Var, rest.Lo, rest.Hi = 0, names.Index(s.Var.Name), begin, end
	rest.Body = substitute(s.Body, s.Var, rest.Var)
	return Do(
		Let(first, s.Lo), Let(end, s.Hi), Declare(begin, first),
		When(Is(Sub(end, first), Ge, Const(shortStrip)), several...),
		&rest,
	)
}

// sum adds the arrays up in the first one.
func (t strip) sum(arrays []*Array, names *Builder) (out []Stmt) {
	for width := len(arrays) / 2; width > 0; width /= 2 {
		for q := range width {
			out = append(out, t.each(names, func(k *Var) Stmt {
				index := at(t.store.Index, t.inner.Var, k)
				return Update(arrays[q], index, t.store.Reduce, At(arrays[q+width], index))
			}))
		}
	}
	return out
}

// each is a loop like the inner one around another statement.
func (t strip) each(names *Builder, body func(k *Var) Stmt) Stmt {
	loop := *t.inner
	loop.Var = names.Index(t.inner.Var.Name)
	loop.Body = Do(body(loop.Var))
	return &loop
}

// copies are declarations of constants under new names and the prefetches among them, with the variables of copied replaced, to which
// the constants are added.
func copies(constants []Stmt, copied map[string]Expr, names *Builder) (out []Stmt) {
	for _, c := range constants {
		switch c := c.(type) {
		case *Decl:
			v := &Var{Name: names.Fresh(c.Var.Name), T: c.Var.T}
			out = append(out, Let(v, SimplifyExpr(replaceVars(c.Init, copied))))
			copied[c.Var.Name] = v
		case *Prefetch:
			out = append(out, &Prefetch{Array: c.Array, Index: SimplifyExpr(replaceVars(c.Index, copied)), Count: c.Count})
		}
	}
	return out
}
