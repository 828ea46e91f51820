package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// openEnded is a loop of an unknown number of iterations on vectors, of which the last ends where the loop does, unless the loop changes elements that
// it would compute twice. What is less than a vector runs one by one, or, where the loop calls functions, as a vector of elements that are loaded one by
// one: an element has the same bits wherever it stands.
func (x vectorizer) openEnded(s *For, names *Builder) Stmt {
	function := inBody(s, calls)
	x.gather, x.chooses = function, true // without functions, scalars that are loaded one by one take no longer
	stores, size := storesOf(valuesOf(s), s.Var)
	once, ok := separate(stores)
	lanes := x.VectorBytes() / size
	if !ok || lanes < 2 {
		return s
	}
	body, ok := x.body(stores, s.Var, lanes)
	if !ok {
		return s
	}
	begin, place, end := names.Index(s.Var.Name+"_begin"), names.Index(s.Var.Name), names.Index(s.Var.Name+"_end")
	at := func(from Expr) []Stmt { return simplifyBlock(substitute(&Block{Stmts: body}, s.Var, from)).Stmts }
	step := Const(int64(lanes))
	out := []Stmt{
		Let(begin, s.Lo), Let(end, s.Hi), Declare(place, begin),
		Repeat(Is(Add(place, step), Le, end), append(at(place), Increase(place, step))...),
	}
	if !once {
		fits := All(Is(place, Lt, end), Is(Sub(end, begin), Ge, step))
		out = append(out, When(fits, append(at(SimplifyExpr(Sub(end, step))), Set(place, end))...))
	}
	if function {
		return Do(append(out, When(Is(place, Lt, end), x.fewer(stores, s.Var, lanes, place, end, names)...))...)
	}
	rest := *s
	rest.Lo, rest.Hi, rest.Kind = place, end, Serial
	return Do(append(out, &rest)...)
}

// fewer is the stores for v from place to end, which are fewer than lanes, by vectors: what they load for each is copied side by side, that for the
// last as often as there are lanes, and the values that belong to them are copied to where they are stored.
func (x vectorizer) fewer(stores []*Store, v *Var, lanes int, place, end *Var, names *Builder) (out []Stmt) {
	for _, s := range stores {
		kept := map[string]*Array{} // by what is loaded
		if s.Reduce != "" {
			s = &Store{Array: s.Array, Index: s.Index, Value: Apply(s.Reduce, &Load{Array: s.Array, Index: s.Index}, Convert(s.Value, s.Array.Elem))}
		}
		value := loadsOf(s.Value, v, func(l *Load) Expr {
			a := kept[ExprText(l)]
			if a == nil {
				k := names.Index("k")
				a = names.Array(l.Array.Name+"_few", l.Array.Elem)
				kept[ExprText(l)] = a
				last := Apply(dtype.Min, Add(place, k), Sub(end, Const(1)))
				out = append(out, &Alloc{Array: a, Size: Const(int64(lanes))}, Count(k, Const(int64(lanes)), &Store{Array: a, Index: k, Value: at(l, v, last)}))
			}
			return &Load{Array: a, Index: v}
		})
		few, k := names.Array(s.Array.Name+"_few", s.Array.Elem), names.Index("k")
		vector, ok := x.body([]*Store{{Array: few, Index: v, Value: value}}, v, lanes)
		if !ok {
			panic("BUG: elements side by side are no vector: " + ExprText(value))
		}
		out = append(out, &Alloc{Array: few, Size: Const(int64(lanes))})
		out = append(out, substitute(&Block{Stmts: vector}, v, Const(0)).Stmts...)
		out = append(out, Count(k, Sub(end, place), &Store{Array: s.Array, Index: at(s.Index, v, Add(place, k)), Value: &Load{Array: few, Index: k}}))
	}
	return out
}

// loadsOf is e with f of each load that varies with v, from the outside in.
func loadsOf(e Expr, v *Var, f func(*Load) Expr) Expr {
	switch e := e.(type) {
	case *Load:
		if uses(e.Index, v) {
			return f(e)
		}
		return e
	case *Unary:
		return &Unary{Op: e.Op, X: loadsOf(e.X, v, f)}
	case *Cast:
		return &Cast{X: loadsOf(e.X, v, f), To: e.To}
	case *Binary:
		return &Binary{Op: e.Op, X: loadsOf(e.X, v, f), Y: loadsOf(e.Y, v, f)}
	case *Compare:
		return &Compare{Op: e.Op, X: loadsOf(e.X, v, f), Y: loadsOf(e.Y, v, f)}
	case *Select:
		return &Select{Cond: loadsOf(e.Cond, v, f), Then: loadsOf(e.Then, v, f), Else: loadsOf(e.Else, v, f)}
	default:
		return e
	}
}

// calls reports whether e has a function that processors have no instruction for.
func calls(e Expr) bool {
	found := false
	EachExpr(e, func(e Expr) {
		switch e := e.(type) {
		case *Unary:
			found = found || e.Op.Approximates() && e.Type().Elem.IsFloat()
		case *Binary:
			found = found || e.Op.Approximates() && e.Type().Elem.IsFloat()
		}
	})
	return found
}

// calculates reports whether e has an operator on floats, or chooses among floats by a comparison of floats.
func calculates(e Expr) bool {
	found := false
	EachExpr(e, func(e Expr) {
		switch e := e.(type) {
		case *Unary, *Binary:
			found = found || e.Type().Elem.IsFloat()
		case *Select:
			c, ok := e.Cond.(*Compare)
			found = found || ok && c.X.Type().Elem.IsFloat() && e.Type().Elem.IsFloat()
		}
	})
	return found
}

// inBody reports whether a property holds for an expression in the body of a loop.
func inBody(s *For, holds func(Expr) bool) bool {
	return slices.ContainsFunc(s.Body.Stmts, func(t Stmt) bool { return slices.ContainsFunc(Exprs(t), holds) })
}

// isOpenEnded reports whether C compilers leave a loop to scalars that vectors would do: one of an unknown number of iterations that calls functions, or that
// isn't known to be fit for lanes.
func isOpenEnded(s *For) bool {
	if least, most := trips(s); least == most || s.Step != 1 || s.Unroll > 1 || s.Ends {
		return false
	}
	return s.Kind == Simd && inBody(s, calls) || s.Kind == Serial && inBody(s, calculates)
}

// valuesOf is the body of a loop with its constants replaced by what they stand for.
func valuesOf(s *For) *Block {
	body := s.Body.Stmts
	first := 0
	for first < len(body) {
		if d, ok := body[first].(*Decl); !ok || !d.Const {
			break
		}
		first++
	}
	constants, _ := constantsOf(body[:first])
	return MapStmt(Do(body[first:]...), func(e Expr) Expr {
		if v, ok := e.(*Var); ok && constants[v.Name] != nil {
			return constants[v.Name]
		}
		return e
	}, func(s Stmt) Stmt { return s }).(*Block)
}

// separate reports whether iterations of stores may run in any order: each array that they store to is stored to once, and loaded nowhere but at
// that index. once says that an iteration that runs twice gives other values.
func separate(stores []*Store) (once, ok bool) {
	ok = len(stores) > 0
	index := map[string]string{}
	for _, s := range stores {
		ok = ok && index[s.Array.Name] == ""
		index[s.Array.Name] = ExprText(s.Index)
		once = once || s.Reduce != ""
	}
	for _, s := range stores {
		for _, e := range Exprs(s) {
			EachExpr(e, func(e Expr) {
				if l, load := e.(*Load); load && index[l.Array.Name] != "" {
					once, ok = true, ok && index[l.Array.Name] == ExprText(l.Index)
				}
			})
		}
	}
	return once, ok
}
