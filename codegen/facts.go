package codegen

import "libsparse/libsparse/ir"

// facts is the uses of names in a whole function, which the emitter needs beforehand.
type facts struct {
	arrays   map[string]bool // arrays that occur
	written  map[string]bool // arrays that are written
	reads    map[string]bool // variables whose value is used
	assigned map[string]bool // variables that change after their declaration
	grown    map[string]bool // arrays that are reallocated
	local    map[string]bool // arrays that are allocated
	names    map[string]bool // every C name taken
}

func gather(slots []ir.Slot, f *ir.Func) *facts {
	m := func() map[string]bool { return map[string]bool{} }
	x := &facts{arrays: m(), written: m(), reads: m(), assigned: m(), grown: m(), local: m(), names: m()}
	for _, s := range slots {
		if s.Array != nil {
			x.names[name(s.Array.Name)] = true
		} else {
			x.names[name(s.Var.Name)] = true
		}
	}
	ir.EachStmt(f.Body, func(s ir.Stmt) {
		x.stmt(s)
		for _, e := range ir.Exprs(s) {
			ir.EachExpr(e, x.expr)
		}
	})
	return x
}

func (x *facts) stmt(s ir.Stmt) {
	for i, a := range ir.Arrays(s) {
		x.arrays[a.Name] = true
		_, sortBy := s.(*ir.SortBy)
		if !sortBy || i == 0 {
			x.written[a.Name] = true
		}
	}
	switch s := s.(type) {
	case *ir.Prefetch:
		x.arrays[s.Array.Name] = true
	case *ir.Decl:
		x.names[name(s.Var.Name)] = true
	case *ir.For:
		x.names[name(s.Var.Name)] = true
	case *ir.Alloc:
		x.local[s.Array.Name] = true
		x.names[name(s.Array.Name)] = true
	case *ir.Grow:
		x.grown[s.Array.Name] = true
	}
	if v := ir.SetBy(s); v != nil {
		x.assigned[v.Name] = true
		x.reads[v.Name] = true // it needs a declaration even if only assigned
	}
}

func (x *facts) expr(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Var:
		x.reads[e.Name] = true
	case *ir.Load:
		x.arrays[e.Array.Name] = true
	case *ir.Aligned:
		x.arrays[e.Array.Name] = true
	}
}

// fresh is a C name like base that no variable or array of the function has, and takes it.
func (x *facts) fresh(base string) string {
	for x.names[base] || reserved[base] {
		base += "_"
	}
	x.names[base] = true
	return base
}

// stable reports whether body leaves the value of e alone.
func stable(e ir.Expr, body *ir.Block) bool {
	changed := map[string]bool{}
	ir.EachStmt(body, func(s ir.Stmt) {
		if v := ir.SetBy(s); v != nil {
			changed[v.Name] = true
		}
		for _, a := range ir.Arrays(s) {
			changed[a.Name] = true
		}
	})
	ok := true
	ir.EachExpr(e, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Var:
			ok = ok && !changed[e.Name]
		case *ir.Load:
			ok = ok && !changed[e.Array.Name]
		}
	})
	return ok
}

// canFail reports whether s allocates.
func canFail(s ir.Stmt) bool {
	found := false
	ir.EachStmt(s, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Alloc:
			found = found || !s.OnStack()
		case *ir.Grow, *ir.SortBy:
			found = true
		}
	})
	return found
}

// hasShared reports whether s contains a Shared loop.
func hasShared(s ir.Stmt) bool {
	found := false
	ir.EachStmt(s, func(s ir.Stmt) {
		if loop, ok := s.(*ir.For); ok && loop.Kind == ir.Shared {
			found = true
		}
	})
	return found
}
