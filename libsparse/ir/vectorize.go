package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// maxUnrolled is the number of vector iterations up to which a loop is written out.
const maxUnrolled = 32

// Vectorize is m with its Simd loops from zero to a literal rewritten into statements on vectors of the target: the widest first, then halves for the rest. Where the end is
// only known to be between two numbers, vectors have as many lanes as the least of them fills, and the last one ends where the loop does. Loops that do more than store,
// element by element, values computed from neighbouring elements and invariants stay as they are.
//
// Compilers do this too, but only with explicit vectors do small arrays stay in registers across an outer loop.
func Vectorize(m *Module, target Target) *Module {
	x := vectorizer{Target: target}
	wanted := func(s *For) bool { return s.Kind == Simd || isOpenEnded(s) }
	return rewriteLoops(m, wanted, func(s *For, names *Builder) Stmt {
		switch {
		case isOpenEnded(s):
			return x.openEnded(s, names)
		case s.Kind == Simd:
			return x.rewrite(s, names)
		default:
			return s
		}
	})
}

// vectorizer rewrites loops for a target.
type vectorizer struct {
	Target
	// gather says that elements which don't follow each other may be loaded one by one.
	gather bool
	// Gathering is what is known of those.
	Gathering
	// chooses says that both arms of a selection by values are computed, in loops that C compilers leave to scalars.
	chooses bool
}

func (x vectorizer) rewrite(s *For, names *Builder) Stmt {
	least, most := trips(s)
	if least < 2 || s.Step != 1 {
		return s
	}
	x.chooses = inBody(s, calls)
	stores, size := storesOf(s.Body, s.Var)
	if len(stores) == 0 || x.VectorBytes()/size < 2 {
		return s
	}
	if least < most {
		return x.upTo(s, stores, x.VectorBytes()/size, least, most, names)
	}
	var out []Stmt
	done := int64(0)
	for lanes := x.VectorBytes() / size; lanes >= 1; lanes /= 2 {
		trips := (least - done) / int64(lanes)
		if trips == 0 {
			continue
		}
		body, ok := x.body(stores, s.Var, lanes)
		if !ok {
			return s
		}
		end := done + trips*int64(lanes)
		out = append(out, vectorPart(s, body, done, end, lanes)...)
		done = end
	}
	return &Block{Stmts: out}
}

// upTo is a loop that ends at run time, after least to most iterations: in vectors, of which the last ends where the loop does. All are computed before the first is stored, so
// that elements of two vectors get the same value from both, and no load waits for a store that it overlaps.
func (x vectorizer) upTo(s *For, stores []*Store, lanes int, least, most int64, names *Builder) Stmt {
	lanes = filled(lanes, least)
	before := (least - 1) / int64(lanes)
	body, ok := x.body(stores, s.Var, lanes)
	if !ok || len(body) > 1 || lanes < 2 || before != (most-1)/int64(lanes) || before > maxUnrolled {
		return s
	}
	store := body[0].(*Store)
	value := store.Value
	if store.Reduce != "" {
		value = Apply(store.Reduce, &Load{Array: store.Array, Index: store.Index, Lanes: lanes}, value)
	}
	if value.Type() != (Type{Elem: store.Array.Elem, Lanes: lanes}) {
		return s
	}
	var computed, stored []Stmt
	for k := range before + 1 {
		begin := Expr(Const(k * int64(lanes)))
		if k == before {
			begin = SimplifyExpr(Sub(s.Hi, Const(int64(lanes))))
		}
		v := &Var{Name: names.Fresh(store.Array.Name + "_lanes"), T: value.Type()}
		computed = append(computed, Let(v, at(value, s.Var, begin)))
		stored = append(stored, &Store{Array: store.Array, Index: at(store.Index, s.Var, begin), Value: v, Lanes: lanes})
	}
	return Do(append(computed, stored...)...)
}

// filled is a number of lanes, halved until n iterations fill them.
func filled(lanes int, n int64) int {
	for int64(lanes) > n {
		lanes /= 2
	}
	return lanes
}

// vectorPart runs body, which handles lanes elements, from element lo to hi.
func vectorPart(s *For, body []Stmt, lo, hi int64, lanes int) []Stmt {
	trips := (hi - lo) / int64(lanes)
	if trips == 1 {
		at := &Int{Value: lo, T: s.Var.T.Elem}
		return simplifyBlock(substitute(&Block{Stmts: body}, s.Var, at)).Stmts
	}
	kind := Unrolled
	if trips > maxUnrolled {
		kind = Serial
	}
	return []Stmt{&For{
		Var: s.Var, Lo: &Int{Value: lo, T: s.Var.T.Elem}, Hi: &Int{Value: hi, T: s.Var.T.Elem},
		Step: int64(lanes), Kind: kind, Body: &Block{Stmts: body},
	}}
}

// storesOf are the statements of b if all are stores, and the size of the largest element in them that varies with v.
func storesOf(b *Block, v *Var) ([]*Store, int) {
	var stores []*Store
	size := 1
	for _, s := range b.Stmts {
		if _, ok := s.(*Comment); ok {
			continue
		}
		store, ok := s.(*Store)
		if !ok || StoreLanes(store) > 1 || store.Atomic {
			return nil, 1
		}
		stores = append(stores, store)
		size = max(size, store.Array.Elem.Size(), widest(store.Value, v))
	}
	return stores, size
}

// widest is the size of the largest element in e that varies with v: what doesn't is computed once, and indices are never
// vectors.
func widest(e Expr, v *Var) int {
	size := e.Type().Elem.Size()
	switch e := e.(type) {
	case *Binary:
		size = max(size, widest(e.X, v), widest(e.Y, v))
	case *Unary:
		size = max(size, widest(e.X, v))
	case *Cast:
		size = max(size, widest(e.X, v))
	case *Select:
		size = max(size, widest(e.Then, v), widest(e.Else, v))
	case *Compare:
		size = max(widest(e.X, v), widest(e.Y, v))
	}
	if !uses(e, v) {
		return e.Type().Elem.Size()
	}
	return size
}

// body is the stores of one iteration over v, for lanes iterations at once. ok is false if it can't be.
func (x vectorizer) body(stores []*Store, v *Var, lanes int) (body []Stmt, ok bool) {
	for _, s := range stores {
		if !consecutive(s.Index, v) || !x.Vectorizes(s.Reduce, s.Array.Elem) {
			return nil, false
		}
		value, ok := x.expr(s.Value, v, lanes)
		if !ok {
			return nil, false
		}
		if value.Type().Elem != s.Array.Elem {
			value = &Cast{X: value, To: s.Array.Elem}
		}
		body = append(body, &Store{Array: s.Array, Index: s.Index, Reduce: s.Reduce, Value: value, Lanes: lanes})
	}
	return body, true
}

// uses reports whether v occurs in e.
func uses(e Expr, v *Var) bool {
	found := false
	EachExpr(e, func(e Expr) {
		if w, ok := e.(*Var); ok && w.Name == v.Name {
			found = true
		}
	})
	return found
}

// isVar reports whether e is v itself.
func isVar(e Expr, v *Var) bool {
	w, ok := e.(*Var)
	return ok && w.Name == v.Name
}

// consecutive reports whether e is v plus something that does not depend on v.
func consecutive(e Expr, v *Var) bool {
	switch e := e.(type) {
	case *Var:
		return e.Name == v.Name
	case *Binary:
		switch e.Op {
		case dtype.Add:
			return consecutive(e.X, v) && !uses(e.Y, v) || consecutive(e.Y, v) && !uses(e.X, v)
		case dtype.Sub:
			return consecutive(e.X, v) && !uses(e.Y, v)
		}
	}
	return false
}

// expr is e for v, v+1, ... at once, or e itself where it does not depend on v.
func (x vectorizer) expr(e Expr, v *Var, lanes int) (Expr, bool) {
	if !uses(e, v) {
		return e, true
	}
	switch e := e.(type) {
	case *Load:
		return x.load(e, v, lanes)
	case *Binary:
		left, okX := x.expr(e.X, v, lanes)
		right, okY := x.expr(e.Y, v, lanes)
		return &Binary{Op: e.Op, X: left, Y: right}, okX && okY && x.Vectorizes(e.Op, e.Type().Elem)
	case *Unary:
		arg, ok := x.expr(e.X, v, lanes)
		return &Unary{Op: e.Op, X: arg}, ok && (lanes == 1 || x.Vectorizes(e.Op, e.X.Type().Elem))
	case *Cast:
		return x.cast(e, v, lanes)
	case *Select:
		return x.selection(e, v, lanes)
	default: // the number of the iteration itself, a condition
		return nil, false
	}
}

func (x vectorizer) cast(e *Cast, v *Var, lanes int) (Expr, bool) {
	if c, ok := e.X.(*Compare); ok {
		return x.comparison(c, e.To, v, lanes)
	}
	if l, ok := e.X.(*Load); ok && l.Array.Elem == dtype.Bool && consecutive(l.Index, v) {
		// Bytes of truth values are numbers: nothing else is done with them than to convert them.
		return &Cast{X: &Load{Array: l.Array, Index: l.Index, Lanes: lanes}, To: e.To}, x.Vectorizes("", e.To)
	}
	arg, ok := x.expr(e.X, v, lanes)
	return &Cast{X: arg, To: e.To}, ok && x.Vectorizes("", e.To) && x.Vectorizes("", e.X.Type().Elem)
}

// comparison is 1 of type to in the lanes where c holds, else 0.
func (x vectorizer) comparison(c *Compare, to dtype.T, v *Var, lanes int) (Expr, bool) {
	op, t := comparisons[c.Op], c.X.Type().Elem
	left, okX := x.expr(c.X, v, lanes)
	right, okY := x.expr(c.Y, v, lanes)
	if lanes == 1 {
		return &Cast{X: &Compare{Op: c.Op, X: left, Y: right}, To: to}, okX && okY
	}
	if op == "" || !okX || !okY || c.Y.Type().Elem != t || !x.Vectorizes(op, t) || !x.Vectorizes("", to) {
		return nil, false
	}
	holds := &Binary{Op: op, X: left, Y: right}
	if to == t {
		return holds, true
	}
	return &Cast{X: holds, To: to}, true
}

// selection is the lanes of one arm where a comparison of floats holds, and those of the other in the others. Both arms are computed: comparisons of
// integers may say where an arm may be loaded.
func (x vectorizer) selection(e *Select, v *Var, lanes int) (Expr, bool) {
	then, okX := x.expr(e.Then, v, lanes)
	otherwise, okY := x.expr(e.Else, v, lanes)
	if !uses(e.Cond, v) {
		return &Select{Cond: e.Cond, Then: then, Else: otherwise}, okX && okY && then.Type() == otherwise.Type()
	}
	c, ok := e.Cond.(*Compare)
	if !ok || !okX || !okY || !x.chooses || lanes == 1 || !c.X.Type().Elem.IsFloat() {
		return e, ok && x.chooses && lanes == 1
	}
	integer := dtype.I64
	if c.X.Type().Elem == dtype.F32 {
		integer = dtype.I32
	}
	holds, ok := x.comparison(c, integer, v, lanes)
	return &Where{X: spread(then, lanes), Of: Sub(holds, &Int{Value: 1, T: integer}), Else: spread(otherwise, lanes)}, ok
}

// spread is a vector of as many lanes: x itself, or x in each.
func spread(x Expr, lanes int) Expr {
	if x.Type().Lanes == lanes {
		return x
	}
	return &Lanes{Of: slices.Repeat([]Expr{x}, lanes)}
}

// load is the elements that e loads for v, v+1, ...: neighbours together, others one by one where that is wanted.
func (x vectorizer) load(e *Load, v *Var, lanes int) (Expr, bool) {
	ok := x.Vectorizes("", e.Array.Elem)
	if consecutive(e.Index, v) {
		return &Load{Array: e.Array, Index: e.Index, Lanes: lanes}, ok
	}
	out := &Lanes{Gathering: x.Gathering}
	for k := range lanes {
		out.Of = append(out.Of, shifted(e, v, int64(k)))
	}
	return out, ok && x.gather && lanes > 1
}
