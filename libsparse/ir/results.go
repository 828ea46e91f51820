package ir

import "slices"

// results is what a loop around a reduction does beside it: constants in front, and stores of what the sum gives behind.
type results struct {
	around    *For
	constants []Stmt
	stores    []*Store
}

// resultsOf reads the statements in front of the reduction in the body of s, and those behind it. The latter have to be stores into arrays that the
// loop doesn't load from.
func resultsOf(s *For, before, after []Stmt) (r results, ok bool) {
	r = results{around: s, constants: before}
	written := map[string]bool{}
	for _, t := range after {
		store, ok := t.(*Store)
		if !ok || store.Atomic {
			return r, false
		}
		written[store.Array.Name] = true
		r.stores = append(r.stores, store)
	}
	_, ok = constantsOf(before)
	return r, ok && len(after) > 0 && !loadsAny(s.Body, written)
}

// sameBounds reports whether a loop inside has the same bounds in each iteration.
func (r results) sameBounds(inside *For) bool {
	constants, _ := constantsOf(r.constants)
	same := true
	for _, bound := range []Expr{inside.Lo, inside.Hi} {
		EachExpr(bound, func(e Expr) {
			v, ok := e.(*Var)
			same = same && !(ok && (v.Name == r.around.Var.Name || constants[v.Name] != nil))
		})
	}
	return same
}

// write is the stores of several iterations, from number at on, whose sums are the lanes of all; sum is the scalar that each iteration has.
func (r results) write(x vectorizer, sum, all, at *Var, names *Builder) (out []Stmt, ok bool) {
	values, _ := constantsOf(r.constants)
	values[sum.Name] = all
	stores := make([]*Store, len(r.stores))
	scatters := false
	for k, s := range r.stores {
		moved := map[string]Expr{r.around.Var.Name: at}
		of := func(e Expr) Expr { return replaceVars(replaceVars(e, values), moved) }
		stores[k] = &Store{Array: s.Array, Index: of(s.Index), Reduce: s.Reduce, Value: of(s.Value)}
		scatters = scatters || !consecutive(stores[k].Index, at)
	}
	if scatters {
		return r.each(sum, all, at, names), true
	}
	return x.body(stores, at, all.T.Lanes)
}

// each is the stores of several iterations one after the other.
func (r results) each(sum, all, first *Var, names *Builder) []Stmt {
	kept, n := names.Array(sum.Name, all.T.Elem), int64(all.T.Lanes)
	out := []Stmt{&Alloc{Array: kept, Size: Const(n)}, &Store{Array: kept, Index: Const(0), Value: all, Lanes: all.T.Lanes}}
	values, _ := constantsOf(r.constants)
	for q := range n {
		iteration := SimplifyExpr(Add(first, Const(q)))
		values[sum.Name] = At(kept, Const(q))
		of := func(e Expr) Expr { return at(replaceVars(e, values), r.around.Var, iteration) }
		for _, s := range r.stores {
			out = append(out, &Store{Array: s.Array, Index: of(s.Index), Reduce: s.Reduce, Value: of(s.Value)})
		}
	}
	return out
}

// writeSome is the stores of the iterations from number first to before end, which are no more than lanes of all.
func (r results) writeSome(sum, all, first, end *Var, names *Builder) []Stmt {
	kept, lane := names.Array(sum.Name, all.T.Elem), names.Index("lane")
	values, _ := constantsOf(r.constants)
	values[sum.Name] = At(kept, lane)
	loop := Count(lane, Min(Const(int64(all.T.Lanes)), Sub(end, first)))
	for _, s := range r.stores {
		of := func(e Expr) Expr { return at(replaceVars(e, values), r.around.Var, Add(first, lane)) }
		loop.Body.Stmts = append(loop.Body.Stmts, &Store{Array: s.Array, Index: of(s.Index), Reduce: s.Reduce, Value: of(s.Value)})
	}
	return []Stmt{&Alloc{Array: kept, Size: Const(int64(all.T.Lanes))}, &Store{Array: kept, Index: Const(0), Value: all, Lanes: all.T.Lanes}, loop}
}

// loadsAny reports whether b loads from one of some arrays.
func loadsAny(b *Block, arrays map[string]bool) bool {
	return slices.ContainsFunc(b.Stmts, func(s Stmt) bool {
		found := false
		EachStmt(s, func(s Stmt) {
			for _, e := range Exprs(s) {
				EachExpr(e, func(e Expr) {
					l, ok := e.(*Load)
					found = found || ok && arrays[l.Array.Name]
				})
			}
		})
		return found
	})
}
