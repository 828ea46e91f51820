package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Stream is m with whole vectors of a result sent past the caches where its caller says that it is too large for them: a store
// would read the line first that it replaces, and drive out what is read again. The array has to be only written, in whole
// vectors at aligned places; its address is looked at when the function begins.
func Stream(m *Module, target Target) *Module {
	streamed := slices.IndexFunc(m.Slots, func(s Slot) bool { return s.Streams != nil })
	if streamed < 0 {
		return m
	}
	slot, changed := m.Slots[streamed], false
	out := mapFuncs(m, func(f *Func) *Block {
		names := builderFor(m.Slots, f)
		x := &streamer{array: slot.Streams, bytes: int64(target.VectorBytes()), names: names}
		if x.bytes <= 1 || reads(f.Body, x.array) {
			return f.Body
		}
		x.past = names.Scalar(slot.Streams.Name+"_past", dtype.Bool)
		body := x.body(f.Body.Stmts)
		if !x.found {
			return f.Body
		}
		changed = true
		past := All(Is(slot.Var, Ne, Const(0)), &Aligned{Array: x.array, Bytes: x.bytes})
		return Do(append([]Stmt{&Decl{Var: x.past, Init: past, Const: true}}, body...)...)
	})
	if !changed {
		return m
	}
	return out
}

// streamer rewrites one function.
type streamer struct {
	array *Array
	bytes int64 // of a vector
	past  *Var  // whether vectors go past the caches
	names *Builder
	found bool
}

// body is the statements of a function or of what its threads run, with each loop that sends vectors past the caches followed by a Drain.
func (x *streamer) body(list []Stmt) (out []Stmt) {
	for _, s := range list {
		if region, ok := s.(*Parallel); ok {
			out = append(out, &Parallel{Threads: region.Threads, Cond: region.Cond, Body: Do(x.body(region.Body.Stmts)...)})
			continue
		}
		before := x.found
		x.found = false
		out = append(out, x.stmt(s, nil))
		if x.found {
			out = append(out, &Drain{If: x.past})
		}
		x.found = x.found || before
	}
	return out
}

// stmt is s with the outermost statements in it that are whole in both forms. Loops are those around it.
func (x *streamer) stmt(s Stmt, loops []*For) Stmt {
	if x.whole(s, loops) {
		x.found = true
		return &If{Cond: x.past, Then: Do(x.streaming(s, nil)), Else: Do(s)}
	}
	inner := func(b *Block, loops []*For) *Block {
		list := make([]Stmt, len(b.Stmts))
		for i, t := range b.Stmts {
			list[i] = x.stmt(t, loops)
		}
		return Do(list...)
	}
	switch s := s.(type) {
	case *Block:
		return inner(s, loops)
	case *For:
		loop := *s
		loop.Body = inner(s.Body, append(slices.Clone(loops), s))
		return &loop
	case *While:
		return &While{Cond: s.Cond, Body: inner(s.Body, loops)}
	case *If:
		branch := &If{Cond: s.Cond, Then: inner(s.Then, loops)}
		if s.Else != nil {
			branch.Else = x.stmt(s.Else, loops)
		}
		return branch
	}
	return s
}

// whole reports whether s does nothing but store whole vectors at aligned places of the array: a store, or a loop over them between
// literal bounds.
func (x *streamer) whole(s Stmt, loops []*For) bool {
	switch s := s.(type) {
	case *Store:
		lanes := x.bytes / int64(x.array.Elem.Size())
		return s.Array.Name == x.array.Name && s.Reduce == "" && !s.Atomic && int64(StoreLanes(s)) == lanes && factor(s.Index, loops)%lanes == 0
	case *For:
		_, lo := s.Lo.(*Int)
		_, hi := s.Hi.(*Int)
		loops = append(slices.Clone(loops), s)
		return lo && hi && s.Kind != Shared && !slices.ContainsFunc(s.Body.Stmts, func(t Stmt) bool { return !x.whole(t, loops) })
	default:
		return false
	}
}

// streaming is a statement that is whole with streaming stores and loop variables of its own, which replace those outside.
func (x *streamer) streaming(s Stmt, values map[string]Expr) Stmt {
	if s, ok := s.(*Store); ok {
		return &Store{Array: s.Array, Index: replaceVars(s.Index, values), Value: replaceVars(s.Value, values), Lanes: s.Lanes, Streams: true}
	}
	loop := *s.(*For)
	loop.Var = x.names.Index(loop.Var.Name)
	inner := map[string]Expr{s.(*For).Var.Name: loop.Var}
	for name, value := range values {
		inner[name] = value
	}
	var list []Stmt
	for _, t := range loop.Body.Stmts {
		list = append(list, x.streaming(t, inner))
	}
	loop.Body = Do(list...)
	return &loop
}

// factor is a number that divides e whatever its variables are, given the loops that some of them count.
func factor(e Expr, loops []*For) int64 {
	switch e := e.(type) {
	case *Int:
		return e.Value
	case *Var:
		for _, loop := range loops {
			if lo, ok := loop.Lo.(*Int); ok && loop.Var.Name == e.Name {
				return divisor(lo.Value, loop.Step)
			}
		}
	case *Binary:
		x, y := factor(e.X, loops), factor(e.Y, loops)
		switch e.Op {
		case dtype.Add, dtype.Sub:
			return divisor(x, y)
		case dtype.Mul:
			return x * y
		}
	}
	return 1
}

// divisor is the greatest common divisor of a and b, which aren't negative; 0 is divided by all.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// reads reports whether an element of a is loaded or reduced into.
func reads(b *Block, a *Array) bool {
	found := loadsAny(b, map[string]bool{a.Name: true})
	EachStmt(b, func(s Stmt) {
		store, ok := s.(*Store)
		found = found || ok && store.Array.Name == a.Name && store.Reduce != ""
	})
	return found
}
