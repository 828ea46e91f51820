package ir

import "slices"

// Interleave is m with loops rewritten that are unrolled around sums in local arrays: each iteration that is written out adds to arrays of
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
		for _, t := range strip.sums {
			ok = ok && local[t.store.Array.Name] != nil
		}
		if !ok {
			return s
		}
		return strip.interleave(local, names)
	})
}

// strip is an unrolled loop whose body is constants and loops that add to the elements of an array each.
type strip struct {
	around    *For
	constants []Stmt
	sums      []sums
}

// sums is a loop in lanes that adds to neighbouring elements of an array.
type sums struct {
	inner *For
	store *Store
}

func stripOf(s *For) (out strip, ok bool) {
	first := slices.IndexFunc(s.Body.Stmts, func(t Stmt) bool { _, loop := t.(*For); return loop })
	if s.Kind != Serial || s.Unroll < 2 || s.Unroll&(s.Unroll-1) != 0 || s.Step != 1 || first < 0 {
		return out, false
	}
	out = strip{around: s, constants: s.Body.Stmts[:first]}
	constants, ok := constantsOf(out.constants)
	added := map[string]bool{}
	for _, t := range s.Body.Stmts[first:] {
		one, adds := sumsOf(t)
		if !adds || added[one.store.Array.Name] || uses(one.store.Index, s.Var) {
			return out, false
		}
		for name := range constants {
			ok = ok && !uses(one.store.Index, &Var{Name: name})
		}
		added[one.store.Array.Name] = true
		out.sums = append(out.sums, one)
	}
	return out, ok && !loadsAny(s.Body, added)
}

// sumsOf is a loop in lanes from zero to a literal that adds to neighbouring elements of an array, and does nothing else.
func sumsOf(s Stmt) (out sums, ok bool) {
	inner, ok := s.(*For)
	if !ok || inner.Kind != Simd || inner.Step != 1 || len(inner.Body.Stmts) != 1 || !isLiteralZero(inner.Lo) {
		return out, false
	}
	_, literal := inner.Hi.(*Int)
	store, ok := inner.Body.Stmts[0].(*Store)
	return sums{inner, store}, ok && literal && store.Reduce.Commutes() && !store.Atomic && consecutive(store.Index, inner.Var)
}

// shortStrip is how many iterations a loop has at least for several to be in flight: with fewer, processors foresee its end and begin
// what follows (measured: SpMM with 16 columns on 18 real matrices; without the limit, rows of 5 to 15 entries lose up to a fifth).
const shortStrip = 16

// interleave is the loop with as many arrays of each kind as it writes iterations out, of which the first is the one that it has.
func (t strip) interleave(local map[string]*Alloc, names *Builder) Stmt {
	s := t.around
	end, begin := names.Index(s.Var.Name+"_end"), names.Index(s.Var.Name+"_rest")
	arrays := make([][]*Array, len(t.sums))
	var several, body []Stmt
	for q := range s.Unroll {
		copied := map[string]Expr{s.Var.Name: SimplifyExpr(Add(s.Var, Const(q)))}
		body = append(body, copies(t.constants, copied, names)...)
		for n, one := range t.sums {
			a := one.store.Array
			if q > 0 {
				a = names.Array(one.store.Array.Name, one.store.Array.Elem)
				several = append(several, one.begin(a, local[one.store.Array.Name].Size, names)...)
			}
			arrays[n] = append(arrays[n], a)
			body = append(body, one.each(names, func(k *Var) Stmt {
				copied[one.inner.Var.Name] = k
				return &Store{Array: a, Index: replaceVars(one.store.Index, copied), Reduce: one.store.Reduce, Value: replaceVars(one.store.Value, copied)}
			}))
		}
	}
	n, first := Const(s.Unroll), names.Index(s.Var.Name+"_begin")
	several = append(
		several, Set(begin, Add(first, Mul(Div(Sub(end, first), n), n))),
		&For{Var: s.Var, Lo: first, Hi: begin, Step: s.Unroll, Kind: Serial, Body: Do(body...)},
	)
	for n, one := range t.sums {
		several = append(several, one.add(arrays[n], names)...)
	}
	rest := *s
	rest.Unroll, rest.Var, rest.Lo, rest.Hi = 0, names.Index(s.Var.Name), begin, end
	rest.Body = substitute(s.Body, s.Var, rest.Var)
	return Do(
		Let(first, s.Lo), Let(end, s.Hi), Declare(begin, first),
		When(Is(Sub(end, first), Ge, Const(shortStrip)), several...),
		&rest,
	)
}

// begin declares another array of sums, with nothing in them.
func (t sums) begin(a *Array, size Expr, names *Builder) []Stmt {
	first, _ := t.store.Reduce.Identity()
	return []Stmt{&Alloc{Array: a, Size: size}, t.each(names, func(k *Var) Stmt {
		return &Store{Array: a, Index: at(t.store.Index, t.inner.Var, k), Value: Number(first, a.Elem)}
	})}
}

// add adds the arrays up in the first one.
func (t sums) add(arrays []*Array, names *Builder) (out []Stmt) {
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
func (t sums) each(names *Builder, body func(k *Var) Stmt) Stmt {
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
