package lower

import (
	"reflect"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Which of two operands has the next coordinate of a union can't be predicted where entries are scattered. Where what is written is the same but
// for the values, the values of all cases are computed, and one is chosen without a branch.

// choose is a chain of branches over the points of a union of two levels as statements without branches; ok is false where it can't be.
func (l *lowerer) choose(f *cin.Forall, points []lattice.Point, matches []match, chain ir.Stmt) (out []ir.Stmt, ok bool) {
	a, assigns := f.Body.(*cin.Assign)
	cases := casesOf(chain)
	if !f.Choose || !assigns || len(matches) != 2 || len(points) != 3 || len(cases) != len(points) || !plain(a.RHS) {
		return nil, false
	}
	codes := make([]int64, len(points))
	code := ir.Expr(ir.Const(0))
	for bit, m := range matches {
		if m.held == nil || !m.it.Props().Unique || m.it.Props().Padded {
			return nil, false
		}
		code = ir.Add(code, ir.Mul(&ir.Cast{X: m.held, To: dtype.I64}, ir.Const(1<<bit)))
		for k, p := range points {
			if p.Has(m.it.Key) {
				codes[k] |= 1 << bit
			}
		}
	}
	for k, s := range cases[0] {
		stmts, ok := l.chosen(s, k, cases, codes, code)
		if !ok {
			return nil, false
		}
		out = append(out, stmts...)
	}
	return out, true
}

// Whether two operands have the next coordinate of an intersection can't be predicted either. A result with the pattern of one of them is written
// at the place of that one's cursor, which stands there until it passes: what is written last is the value, or zero.

// overwritten is the case of an intersection of two levels as statements without branches, which write at every step; ok is false where it can't be.
func (l *lowerer) overwritten(f *cin.Forall, points []lattice.Point, matches []match, chain ir.Stmt) (out []ir.Stmt, ok bool) {
	a, assigns := f.Body.(*cin.Assign)
	if !assigns || a.Reduce != "" || a.LHS.Windowed() || !cheap(a.RHS) || len(points) != 1 || len(points[0].Located) > 0 {
		return nil, false
	}
	store, held := onlyStore(casesOf(chain)), bothHold(matches)
	if store == nil || held == nil || store.Index != matches[0].first && store.Index != matches[1].first {
		return nil, false
	}
	choices := l.Array("choices", store.Array.Elem.Accum())
	always := *store
	always.Value = ir.Convert(ir.At(choices, &ir.Cast{X: held, To: dtype.I64}), store.Array.Elem)
	return []ir.Stmt{
		&ir.Alloc{Array: choices, Size: ir.Const(2)},
		ir.Put(choices, ir.Const(0), zero(choices.Elem)),
		ir.Put(choices, ir.Const(1), unrounded(store.Value, choices.Elem)),
		&always,
	}, true
}

// onlyStore is the plain store that is all of a single case, nil where there is more or something else.
func onlyStore(cases [][]ir.Stmt) *ir.Store {
	if len(cases) != 1 || len(cases[0]) != 1 {
		return nil
	}
	store, ok := cases[0][0].(*ir.Store)
	if !ok || store.Atomic || store.Reduce != "" || ir.StoreLanes(store) > 1 {
		return nil
	}
	return store
}

// bothHold is whether two levels hold the coordinate that is visited, nil where these aren't two lists in order.
func bothHold(matches []match) ir.Expr {
	if len(matches) != 2 {
		return nil
	}
	var held []ir.Expr
	for _, m := range matches {
		if m.held == nil || !m.it.Props().Unique || m.it.Props().Padded {
			return nil
		}
		held = append(held, m.held)
	}
	return ir.All(held...)
}

// cheap reports whether e can be computed where it isn't needed, and takes no longer than a wrong turn of a branch.
func cheap(e index.Expr) bool {
	switch e := e.(type) {
	case *index.Access:
		return !e.Windowed()
	case *index.Call:
		return plain(e) && slices.Contains([]dtype.Op{dtype.Mul, dtype.Add, dtype.Sub, dtype.Neg, dtype.First, dtype.Second}, e.Op) &&
			len(index.Accesses(e)) <= 3 && !slices.ContainsFunc(e.Args, func(arg index.Expr) bool { return !cheap(arg) })
	default:
		return plain(e)
	}
}

// casesOf are the statements of the branches of a chain without a last else, nil where their numbers differ.
func casesOf(chain ir.Stmt) (cases [][]ir.Stmt) {
	for chain != nil {
		branch, ok := chain.(*ir.If)
		if !ok {
			return nil
		}
		cases, chain = append(cases, branch.Then.Stmts), branch.Else
		if len(branch.Then.Stmts) != len(cases[0]) {
			return nil
		}
	}
	return cases
}

// chosen is statement k of all cases, of which s is that of the first: one that is the same in all, or a store of values that differ.
func (l *lowerer) chosen(s ir.Stmt, k int, cases [][]ir.Stmt, codes []int64, code ir.Expr) (out []ir.Stmt, ok bool) {
	same := true
	for _, stmts := range cases[1:] {
		same = same && reflect.DeepEqual(s, stmts[k])
	}
	if same {
		return []ir.Stmt{s}, true
	}
	first, ok := s.(*ir.Store)
	if !ok || first.Atomic || ir.StoreLanes(first) > 1 {
		return nil, false
	}
	choices := l.Array("choices", first.Array.Elem.Accum())
	out = []ir.Stmt{&ir.Alloc{Array: choices, Size: ir.Const(int64(len(cases)) + 1)}}
	for n, stmts := range cases {
		store, ok := stmts[k].(*ir.Store)
		if !ok {
			return nil, false
		}
		value := *store
		value.Value = first.Value
		if !reflect.DeepEqual(s, &value) {
			return nil, false
		}
		out = append(out, ir.Put(choices, ir.Const(codes[n]), unrounded(store.Value, choices.Elem)))
	}
	store := *first
	store.Value = ir.Convert(ir.At(choices, code), first.Array.Elem)
	return append(out, &store), true
}

// unrounded is a value of type t before it is rounded to a half, if it is one. Halves themselves would be written in pairs by C compilers, and a
// processor waits for a pair before it reads one of it (measured: 2.6 times as long for sums of new matrices).
func unrounded(x ir.Expr, t dtype.T) ir.Expr {
	if cast, ok := x.(*ir.Cast); ok && cast.X.Type().Elem == t {
		return cast.X
	}
	return ir.Convert(x, t)
}
