package ir

import "fmt"

// StoreLanes is the number of elements that s writes.
func StoreLanes(s *Store) int { return max(s.Lanes, s.Value.Type().Lanes, 1) }

// EndsInReturn reports whether the last statement of b leaves the function.
func EndsInReturn(b *Block) bool {
	if len(b.Stmts) == 0 {
		return false
	}
	_, ok := b.Stmts[len(b.Stmts)-1].(*Return)
	return ok
}

// operands are the expressions directly under e.
func operands(e Expr) []Expr {
	switch e := e.(type) {
	case *Load:
		return []Expr{e.Index}
	case *Binary:
		return []Expr{e.X, e.Y}
	case *Compare:
		return []Expr{e.X, e.Y}
	case *Unary:
		return []Expr{e.X}
	case *Cast:
		return []Expr{e.X}
	case *Select:
		return []Expr{e.Cond, e.Then, e.Else}
	case *Lanes:
		return e.Of
	case *ReduceLanes:
		return e.Of
	case *Tail:
		return []Expr{e.X, e.Count, e.Else}
	case *Head:
		return []Expr{e.X, e.Count, e.Else}
	case *Where:
		return []Expr{e.X, e.Of, e.Else}
	case *Hash:
		return []Expr{e.Key, e.Size}
	default:
		return nil
	}
}

// EachExpr calls visit for e and every expression in it, from the outside in.
func EachExpr(e Expr, visit func(Expr)) {
	if e == nil {
		return
	}
	visit(e)
	for _, x := range operands(e) {
		EachExpr(x, visit)
	}
}

// EachStmt calls visit for s and every statement in it, from the outside in.
func EachStmt(s Stmt, visit func(Stmt)) {
	visit(s)
	switch s := s.(type) {
	case *Block:
		for _, t := range s.Stmts {
			EachStmt(t, visit)
		}
	case *For:
		EachStmt(s.Body, visit)
	case *While:
		EachStmt(s.Body, visit)
	case *Parallel:
		EachStmt(s.Body, visit)
	case *If:
		EachStmt(s.Then, visit)
		if s.Else != nil {
			EachStmt(s.Else, visit)
		}
	}
}

// Exprs are the expressions directly in s, not those of statements in it.
func Exprs(s Stmt) []Expr {
	switch s := s.(type) {
	case *Decl:
		return []Expr{s.Init}
	case *Assign:
		return []Expr{s.Value}
	case *Store:
		return []Expr{s.Index, s.Value}
	case *For:
		return given(s.Lo, s.Hi, s.Chunk)
	case *While:
		return []Expr{s.Cond}
	case *If:
		return []Expr{s.Cond}
	case *Parallel:
		return given(s.Threads, s.Cond)
	case *Return:
		return []Expr{s.Value}
	default:
		return arrayExprs(s)
	}
}

func arrayExprs(s Stmt) []Expr {
	switch s := s.(type) {
	case *Alloc:
		return []Expr{s.Size}
	case *Grow:
		return []Expr{s.Size}
	case *Fill:
		return []Expr{s.Count, s.Value}
	case *Prefetch:
		return []Expr{s.Index}
	case *Drain:
		return []Expr{s.If}
	case *PrefixSum:
		return []Expr{s.Count}
	case *Sort:
		return []Expr{s.Lo, s.Hi}
	case *SortPlaces:
		return []Expr{s.Count, s.Extent}
	case *MarkPlace:
		return []Expr{s.Place}
	case *ListPlaces:
		return []Expr{s.Lo, s.Hi}
	case *SortBy:
		return given(s.Count, s.Extent, s.Threads)
	default:
		return nil
	}
}

// given are expressions of which the last may be nil.
func given(exprs ...Expr) []Expr {
	if last := len(exprs) - 1; exprs[last] == nil {
		return exprs[:last]
	}
	return exprs
}

// Arrays are the arrays that s names directly, outside its expressions and inner statements.
func Arrays(s Stmt) []*Array {
	switch s := s.(type) {
	case *Store:
		return []*Array{s.Array}
	case *Alloc:
		return []*Array{s.Array}
	case *Grow:
		return []*Array{s.Array}
	case *Free:
		return []*Array{s.Array}
	case *Fill:
		return []*Array{s.Array}
	case *PrefixSum:
		return []*Array{s.Array}
	case *Sort:
		return []*Array{s.Array}
	case *SortBy:
		return []*Array{s.Perm, s.Key}
	case *SortPlaces:
		return []*Array{s.Array, s.Bits, s.Words}
	case *MarkPlace:
		return some(s.Bits, s.Words)
	case *ListPlaces:
		return some(s.Array, s.Bits, s.Words)
	default:
		return nil
	}
}

// some are arrays of which the last may be nil.
func some(arrays ...*Array) []*Array {
	if last := len(arrays) - 1; arrays[last] == nil {
		return arrays[:last]
	}
	return arrays
}

// SetBy is the variable that s sets, nil if there is none. A declaration sets none.
func SetBy(s Stmt) *Var {
	switch s := s.(type) {
	case *Assign:
		return s.Var
	case *Grow:
		return s.Capacity
	case *ListPlaces:
		return s.Count
	default:
		return nil
	}
}

// MapExpr is e with every expression replaced by f of it, from the inside out. Parts that f leaves alone are shared.
func MapExpr(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case nil:
		return nil
	case *Load:
		e = &Load{Array: x.Array, Index: MapExpr(x.Index, f), Lanes: x.Lanes}
	case *Binary:
		e = &Binary{Op: x.Op, X: MapExpr(x.X, f), Y: MapExpr(x.Y, f)}
	case *Compare:
		e = &Compare{Op: x.Op, X: MapExpr(x.X, f), Y: MapExpr(x.Y, f)}
	case *Unary:
		e = &Unary{Op: x.Op, X: MapExpr(x.X, f)}
	case *Cast:
		e = &Cast{X: MapExpr(x.X, f), To: x.To}
	case *Select:
		e = &Select{Cond: MapExpr(x.Cond, f), Then: MapExpr(x.Then, f), Else: MapExpr(x.Else, f)}
	case *Lanes:
		e = &Lanes{Of: mapExprs(x.Of, f), Gathering: x.Gathering}
	case *ReduceLanes:
		e = &ReduceLanes{Op: x.Op, Of: mapExprs(x.Of, f)}
	case *Tail:
		e = &Tail{X: MapExpr(x.X, f), Count: MapExpr(x.Count, f), Else: MapExpr(x.Else, f)}
	case *Head:
		e = &Head{X: MapExpr(x.X, f), Count: MapExpr(x.Count, f), Else: MapExpr(x.Else, f)}
	case *Where:
		e = &Where{X: MapExpr(x.X, f), Of: MapExpr(x.Of, f), Else: MapExpr(x.Else, f)}
	case *Hash:
		e = &Hash{Key: MapExpr(x.Key, f), Size: MapExpr(x.Size, f)}
	}
	return f(e)
}

func mapExprs(list []Expr, f func(Expr) Expr) []Expr {
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = MapExpr(e, f)
	}
	return out
}

// MapStmt is s with every expression replaced by onExpr of it and then every statement, from the inside out, by
// onStmt of it. The block of a loop or branch is mapped too, and must stay a block.
func MapStmt(s Stmt, onExpr func(Expr) Expr, onStmt func(Stmt) Stmt) Stmt {
	e := func(x Expr) Expr { return MapExpr(x, onExpr) }
	b := func(x *Block) *Block { return MapStmt(x, onExpr, onStmt).(*Block) }
	switch x := s.(type) {
	case *Block:
		out := make([]Stmt, len(x.Stmts))
		for i, t := range x.Stmts {
			out[i] = MapStmt(t, onExpr, onStmt)
		}
		s = &Block{Stmts: out}
	case *For:
		s = &For{Var: x.Var, Lo: e(x.Lo), Hi: e(x.Hi), Step: x.Step, Kind: x.Kind, Chunk: e(x.Chunk), Unroll: x.Unroll, Within: e(x.Within), Ends: x.Ends, Gathering: x.Gathering, Body: b(x.Body)}
	case *While:
		s = &While{Cond: e(x.Cond), Body: b(x.Body)}
	case *If:
		branch := &If{Cond: e(x.Cond), Then: b(x.Then)}
		if x.Else != nil {
			branch.Else = MapStmt(x.Else, onExpr, onStmt)
		}
		s = branch
	case *Parallel:
		s = &Parallel{Threads: e(x.Threads), Cond: e(x.Cond), Body: b(x.Body)}
	default:
		s = mapLeaf(s, e)
	}
	return onStmt(s)
}

// mapLeaf is a statement without inner statements, with its expressions mapped by e.
func mapLeaf(s Stmt, e func(Expr) Expr) Stmt {
	switch x := s.(type) {
	case *Decl:
		return &Decl{Var: x.Var, Init: e(x.Init), Const: x.Const}
	case *Assign:
		return &Assign{Var: x.Var, Reduce: x.Reduce, Value: e(x.Value)}
	case *Store:
		return &Store{Array: x.Array, Index: e(x.Index), Reduce: x.Reduce, Value: e(x.Value), Lanes: x.Lanes, Atomic: x.Atomic, Streams: x.Streams}
	case *Alloc:
		return &Alloc{Array: x.Array, Size: e(x.Size), Zero: x.Zero, Heap: x.Heap}
	case *Grow:
		return &Grow{Array: x.Array, Capacity: x.Capacity, Size: e(x.Size)}
	case *Prefetch:
		return &Prefetch{Array: x.Array, Index: e(x.Index), Count: x.Count, Beyond: x.Beyond}
	case *Drain:
		return &Drain{If: e(x.If)}
	case *Fill:
		return &Fill{Array: x.Array, Count: e(x.Count), Value: e(x.Value)}
	case *PrefixSum:
		return &PrefixSum{Array: x.Array, Count: e(x.Count)}
	case *Return:
		return &Return{Value: e(x.Value)}
	case *Free, *Comment:
		return s
	default:
		return mapOrder(s, e)
	}
}

// mapOrder maps statements that put lists in order.
func mapOrder(s Stmt, e func(Expr) Expr) Stmt {
	switch x := s.(type) {
	case *Sort:
		return &Sort{Array: x.Array, Lo: e(x.Lo), Hi: e(x.Hi)}
	case *SortPlaces:
		return &SortPlaces{Array: x.Array, Bits: x.Bits, Words: x.Words, Count: e(x.Count), Extent: e(x.Extent)}
	case *MarkPlace:
		return &MarkPlace{Bits: x.Bits, Words: x.Words, Place: e(x.Place)}
	case *ListPlaces:
		return &ListPlaces{Array: x.Array, Bits: x.Bits, Words: x.Words, Count: x.Count, Lo: e(x.Lo), Hi: e(x.Hi)}
	case *SortBy:
		sorted := &SortBy{Perm: x.Perm, Key: x.Key, Count: e(x.Count), Extent: e(x.Extent)}
		if x.Threads != nil {
			sorted.Threads = e(x.Threads)
		}
		return sorted
	default:
		panic(fmt.Sprintf("BUG: no map for statement %T", s))
	}
}

// rewriteLoops is m with f applied to its loops, from the inside out; m itself where none is wanted. f is given what names new
// variables of the function.
func rewriteLoops(m *Module, wanted func(*For) bool, f func(*For, *Builder) Stmt) *Module {
	found := false
	for _, fn := range m.Funcs {
		EachStmt(fn.Body, func(s Stmt) {
			loop, ok := s.(*For)
			found = found || ok && wanted(loop)
		})
	}
	if !found {
		return m
	}
	same := func(e Expr) Expr { return e }
	return mapFuncs(m, func(fn *Func) *Block {
		names := builderFor(m.Slots, fn)
		return names.declareOnce(MapStmt(fn.Body, same, func(s Stmt) Stmt {
			switch s := s.(type) {
			case *For:
				return f(s, names)
			case *Block:
				return flatten(s)
			}
			return s
		}).(*Block))
	})
}

// mapFuncs is m with the body of every function replaced by f of it.
func mapFuncs(m *Module, f func(*Func) *Block) *Module {
	out := &Module{Doc: m.Doc, Slots: m.Slots}
	for _, fn := range m.Funcs {
		out.Funcs = append(out.Funcs, &Func{Name: fn.Name, Body: f(fn)})
	}
	return out
}

// Divides reports whether s divides integers by what may be zero: such a function has a flag, which becomes its status.
func Divides(s Stmt) bool {
	found := false
	EachStmt(s, func(s Stmt) {
		for _, x := range Exprs(s) {
			EachExpr(x, func(x Expr) {
				b, ok := x.(*Binary)
				found = found || ok && b.Op.Divides() && b.Type().Elem.IsInt()
			})
		}
	})
	return found
}
