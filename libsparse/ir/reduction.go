package ir

import (
	"math"

	"libsparse/libsparse/dtype"
)

// reduction is a Simd loop that reduces one value of each iteration into a scalar.
type reduction struct {
	loop *For
	sum  *Var
	op   dtype.Op
	// value is the value of an iteration, with the constants of the body replaced by what they stand for.
	value Expr
}

// reductionOf reads s as a reduction.
func reductionOf(s *For) (r reduction, ok bool) {
	if s.Kind != Simd || s.Step != 1 || len(s.Body.Stmts) == 0 {
		return r, false
	}
	last := len(s.Body.Stmts) - 1
	a, ok := s.Body.Stmts[last].(*Assign)
	if !ok || !a.Reduce.Commutes() || uses(a.Value, a.Var) || a.Var.T.Lanes > 1 {
		return r, false
	}
	constants, ok := constantsOf(s.Body.Stmts[:last])
	if !ok || constants[a.Var.Name] != nil || uses(s.Lo, a.Var) || uses(s.Hi, a.Var) {
		return r, false
	}
	return reduction{loop: s, sum: a.Var, op: a.Reduce, value: replaceVars(a.Value, constants)}, true
}

// constantsOf are the initial values of the variables that statements declare, each with those before it replaced; ok is false
// where statements have another effect.
func constantsOf(stmts []Stmt) (values map[string]Expr, ok bool) {
	values = map[string]Expr{}
	for _, s := range stmts {
		switch s := s.(type) {
		case *Comment, *Prefetch:
		case *Decl:
			if !s.Const {
				return nil, false
			}
			values[s.Var.Name] = replaceVars(s.Init, values)
		default:
			return nil, false
		}
	}
	return values, true
}

// replaceVars is e with variables replaced by values.
func replaceVars(e Expr, values map[string]Expr) Expr {
	if len(values) == 0 {
		return e
	}
	return MapExpr(e, func(e Expr) Expr {
		if v, ok := e.(*Var); ok && values[v.Name] != nil {
			return values[v.Name]
		}
		return e
	})
}

// shifted is e at v + n.
func shifted(e Expr, v *Var, n int64) Expr {
	return at(e, v, &Binary{Op: dtype.Add, X: v, Y: Const(n)})
}

// at is e with x in place of v.
func at(e Expr, v *Var, x Expr) Expr {
	return SimplifyExpr(replaceVars(e, map[string]Expr{v.Name: x}))
}

// gathers reports whether elements that e loads don't follow each other as v counts.
func gathers(e Expr, v *Var) bool {
	found := false
	EachExpr(e, func(e Expr) {
		l, ok := e.(*Load)
		found = found || ok && uses(l.Index, v) && !consecutive(l.Index, v)
	})
	return found
}

// readableBehind reports whether the values of r may be computed for iterations behind the last, before the end that the loop says.
func (r reduction) readableBehind() bool {
	ok := r.loop.Within != nil
	EachExpr(r.value, func(e Expr) {
		if l, load := e.(*Load); load {
			ok = ok && inPlace(l.Index, r.loop.Var)
		}
	})
	return ok
}

// inPlace reports whether an index of an array is v itself, a coordinate that is stored at v, or a place among several that an element at one of these
// has: the array then has an element for each v that something is stored at. One that v is moved by, by a number that may differ from one loop to the
// next, may be behind its last.
func inPlace(index Expr, v *Var) bool {
	if !uses(index, v) {
		return true
	}
	switch x := index.(type) {
	case *Var, *Load: // what the load's own index is made of is asked apart
		return true
	case *Cast:
		return inPlace(x.X, v)
	case *Binary:
		return (x.Op == dtype.Mul || x.Op == dtype.Add && !isVar(x.X, v) && !isVar(x.Y, v)) && inPlace(x.X, v) && inPlace(x.Y, v)
	default:
		return false
	}
}

// accumulators are the vectors that partial sums of a reduction are kept in: some for each of several values, which are reduced
// by the same loop.
type accumulators struct {
	vectorizer
	reduction
	names *Builder
	// values are what is reduced, each to a sum of its own.
	values []Expr
	lanes  int
	// each is how many vectors each value has, which take turns.
	each int
}

// elem is the type of the sums.
func (a *accumulators) elem() dtype.T { return a.sum.T.Elem }

// identity is the value that sums begin with.
func (a *accumulators) identity() Expr {
	e, _ := a.op.Identity()
	return Number(e, a.elem())
}

// vectors are the values for lanes iterations at once; ok is false where they can't be vectors.
func (a *accumulators) vectors() (out []Expr, ok bool) {
	for _, value := range a.values {
		x, ok := a.expr(value, a.loop.Var, a.lanes)
		if !ok || x.Type().Lanes < 2 || !a.Vectorizes(a.op, a.elem()) || !a.Vectorizes("", a.elem()) {
			return nil, false
		}
		if x.Type().Elem != a.elem() {
			x = &Cast{X: x, To: a.elem()}
		}
		out = append(out, x)
	}
	return out, true
}

// run is the statements that reduce all iterations, and for each value the vector that is left.
func (a *accumulators) run() (stmts []Stmt, sums []Expr, ok bool) {
	vectors, ok := a.vectors()
	if !ok {
		return nil, nil, false
	}
	parts := make([][]*Var, len(vectors))
	for i := range vectors {
		for range a.each {
			v := &Var{Name: a.names.Fresh(a.sum.Name + "_lanes"), T: Type{Elem: a.elem(), Lanes: a.lanes}}
			parts[i] = append(parts[i], v)
			stmts = append(stmts, Declare(v, a.identity()))
		}
	}
	switch least, most := trips(a.loop); {
	case least == most:
		stmts = append(stmts, a.counted(vectors, parts, least)...)
	case a.each == 1 && a.alike(least, most):
		stmts = append(stmts, a.upTo(vectors, parts, a.before(least))...)
	default:
		stmts = append(stmts, a.open(vectors, parts)...)
	}
	for _, p := range parts {
		sums = append(sums, a.tree(p))
	}
	return stmts, sums, true
}

// trips is the least and the largest number of iterations of a loop, as far as its bounds say.
func trips(s *For) (least, most int64) {
	if isLiteralZero(s.Lo) {
		switch hi := s.Hi.(type) {
		case *Int:
			return hi.Value, hi.Value
		case *Var:
			if hi.Most > 0 {
				return hi.Least, hi.Most
			}
		}
	}
	return 0, math.MaxInt64
}

func isLiteralZero(e Expr) bool {
	n, ok := e.(*Int)
	return ok && n.Value == 0
}

// add reduces, for vector number turn of each value, what the loop has from place on.
func (a *accumulators) add(vectors []Expr, parts [][]*Var, place Expr, turn int) (out []Stmt) {
	for i, x := range vectors {
		out = append(out, &Assign{Var: parts[i][turn], Reduce: a.op, Value: at(x, a.loop.Var, place)})
	}
	return out
}

// last reduces the count elements before the place end, which are no more than a vector has.
func (a *accumulators) last(vectors []Expr, parts [][]*Var, end, count Expr) (out []Stmt) {
	begin := SimplifyExpr(Sub(end, Const(int64(a.lanes))))
	for i, x := range vectors {
		sum := parts[i][0]
		out = append(out, Set(sum, &Tail{X: Apply(a.op, sum, at(x, a.loop.Var, begin)), Count: count, Else: sum}))
	}
	return out
}

// turns are the statements for the vectors of each value in turn, from place on.
func (a *accumulators) turns(vectors []Expr, parts [][]*Var, place Expr) (out []Stmt) {
	for turn := range a.each {
		out = append(out, a.add(vectors, parts, Add(place, Const(int64(turn*a.lanes))), turn)...)
	}
	return out
}

// counted is the loop from zero to n. The rest that fills no vector is read again together with what stands before it.
func (a *accumulators) counted(vectors []Expr, parts [][]*Var, n int64) (out []Stmt) {
	step := int64(a.lanes * a.each)
	main := n / step * step
	v := &Var{Name: a.names.Fresh(a.loop.Var.Name), T: a.loop.Var.T}
	kind := Unrolled
	if main/step > maxUnrolled {
		kind = Serial
	}
	out = append(out, &For{Var: v, Lo: Const(0), Hi: Const(main), Step: step, Kind: kind, Body: Do(a.turns(vectors, parts, v)...)})
	for turn := 0; main+int64(a.lanes) <= n; turn++ {
		out = append(out, a.add(vectors, parts, Const(main), turn)...)
		main += int64(a.lanes)
	}
	if main < n {
		out = append(out, a.last(vectors, parts, Const(n), Const(n-main))...)
	}
	return out
}

// before is how many of n iterations are in vectors before the last, which may be full.
func (a *accumulators) before(n int64) int64 { return (n - 1) / int64(a.lanes) * int64(a.lanes) }

// upTo is the loop from zero to a bound that is known at run time, of which vectors before the last have as many iterations as they are told.
func (a *accumulators) upTo(vectors []Expr, parts [][]*Var, before int64) (out []Stmt) {
	for k := int64(0); k < before; k += int64(a.lanes) {
		out = append(out, a.add(vectors, parts, Const(k), 0)...)
	}
	end := a.loop.Hi
	return append(out, a.last(vectors, parts, end, SimplifyExpr(Sub(end, Const(before))))...)
}

// open is the loop between bounds that are known at run time.
func (a *accumulators) open(vectors []Expr, parts [][]*Var) []Stmt {
	s, step := a.loop, Const(int64(a.lanes*a.each))
	place, end := a.names.Index(s.Var.Name), a.names.Index(s.Var.Name+"_end")
	out := []Stmt{Declare(place, s.Lo), Let(end, s.Hi)}
	if isLiteralZero(s.Lo) {
		return append(out, a.fromZero(vectors, parts, place, end)...)
	}
	more, behind := Is(Add(place, step), Lt, end), a.readableBehind()
	if !behind {
		more.(*Compare).Op = Le
	}
	out = append(out, Repeat(more, append(a.turns(vectors, parts, place), Increase(place, step))...))
	rest := a.oneByOne(parts, place, end)
	if !behind {
		return append(out, rest...)
	}
	within := s.Within
	if _, literal := within.(*Int); !literal {
		within = a.names.Once(s.Var.Name+"_within", within)
	}
	return append(out, &If{
		Cond: Is(Add(place, step), Le, within),
		Then: Do(a.first(vectors, parts, place, end)...),
		Else: Do(rest...),
	})
}

// first reduces what there is from place to end, which is no more than a vector for each turn: the first lanes of what is read from place on, which takes no
// branch that depends on the length.
func (a *accumulators) first(vectors []Expr, parts [][]*Var, place, end *Var) (out []Stmt) {
	for turn := range a.each {
		begin := SimplifyExpr(Add(place, Const(int64(turn*a.lanes))))
		for i, x := range vectors {
			sum := parts[i][turn]
			out = append(out, Set(sum, &Head{X: Apply(a.op, sum, at(x, a.loop.Var, begin)), Count: Sub(end, begin), Else: sum}))
		}
	}
	return out
}

// oneByOne adds the elements from place to end, which are no more than a vector for each turn, to the lanes that they have there.
func (a *accumulators) oneByOne(parts [][]*Var, place, end *Var) (out []Stmt) {
	for i, x := range a.values {
		kept, v := a.names.Array(parts[i][0].Name, a.elem()), a.names.Index(a.loop.Var.Name)
		out = append(out, &Alloc{Array: kept, Size: Const(int64(a.lanes * a.each))})
		for turn, sum := range parts[i] {
			out = append(out, &Store{Array: kept, Index: Const(int64(turn * a.lanes)), Value: sum, Lanes: a.lanes})
		}
		out = append(out, Loop(v, place, end, Update(kept, Sub(v, place), a.op, Convert(at(x, a.loop.Var, v), a.elem()))))
		for turn, sum := range parts[i] {
			out = append(out, Set(sum, &Load{Array: kept, Index: Const(int64(turn * a.lanes)), Lanes: a.lanes}))
		}
	}
	return out
}

// fromZero is the loop from zero to a bound that is known at run time. Its last vector is read together with what stands before it, so that its terms
// are the last lanes; where too little stands before it, elements get there one by one.
func (a *accumulators) fromZero(vectors []Expr, parts [][]*Var, place, end *Var) (out []Stmt) {
	lanes := Const(int64(a.lanes))
	least, _ := trips(a.loop)
	if step := Const(int64(a.lanes * a.each)); a.each > 1 {
		out = append(out, Repeat(Is(Add(place, step), Le, end), append(a.turns(vectors, parts, place), Increase(place, step))...))
	}
	out = append(out, Repeat(Is(Add(place, lanes), Lt, end), append(a.add(vectors, parts, place, 0), Increase(place, lanes))...))
	last := a.last(vectors, parts, end, Sub(end, place))
	if least >= int64(a.lanes) {
		return append(out, last...)
	}
	var rest []Stmt
	for i, x := range a.values {
		sum, kept, v := parts[i][0], a.names.Array(parts[i][0].Name, a.elem()), a.names.Index(a.loop.Var.Name)
		value := Convert(at(x, a.loop.Var, v), a.elem())
		rest = append(
			rest, &Alloc{Array: kept, Size: lanes}, &Store{Array: kept, Index: Const(0), Value: sum, Lanes: a.lanes},
			Loop(v, place, end, Update(kept, Add(Sub(v, end), lanes), a.op, value)),
			Set(sum, &Load{Array: kept, Index: Const(0), Lanes: a.lanes}),
		)
	}
	return append(out, &If{
		Cond: Is(end, Ge, lanes),
		Then: Do(last...),
		Else: Do(rest...),
	})
}

// tree is the sum of vectors, in pairs of neighbours, then pairs of these.
func (a *accumulators) tree(parts []*Var) Expr {
	if len(parts) == 1 {
		return parts[0]
	}
	half := len(parts) / 2
	return Apply(a.op, a.tree(parts[:half]), a.tree(parts[half:]))
}
