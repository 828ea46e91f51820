package codegen

import (
	"slices"

	"libsparse/libsparse/ir"
)

// frame is a stretch of code with one exit: a function, or what one thread does between two points where it meets the
// others. A failed allocation sets the flag and jumps to the label, where every heap array of the frame is released.
// Those that a jump may pass over are declared as NULL at the top.
type frame struct {
	flag, label string
	arrays      []*ir.Array     // in order of allocation
	atTop       map[string]bool // arrays that are allocated by the frame's own statements, so that the label frees them
	declared    map[string]bool // arrays that are declared where they are allocated: nothing can fail before
	used        bool            // something jumps to the label
}

// newFrame finds the arrays of a frame, not those of parallel regions in it.
func newFrame(flag, label string, list []ir.Stmt) *frame {
	f := &frame{flag: flag, label: label, atTop: map[string]bool{}, declared: map[string]bool{}}
	private := map[*ir.Alloc]bool{}
	ir.EachStmt(&ir.Block{Stmts: list}, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Parallel:
			ir.EachStmt(s.Body, func(s ir.Stmt) {
				if a, ok := s.(*ir.Alloc); ok {
					private[a] = true
				}
			})
		case *ir.Alloc:
			if !s.OnStack() && !private[s] && !f.owns(s.Array) {
				f.arrays = append(f.arrays, s.Array)
			}
		}
	})
	for _, s := range list {
		if a, ok := s.(*ir.Alloc); ok && !a.OnStack() {
			f.atTop[a.Array.Name] = true
		}
	}
	if first := slices.IndexFunc(list, canFail); first >= 0 {
		for _, a := range allocations(list[first:]) {
			f.declared[a.Array.Name] = true
		}
	}
	return f
}

// owns reports whether a is an array of the frame.
func (f *frame) owns(a *ir.Array) bool {
	return slices.ContainsFunc(f.arrays, func(b *ir.Array) bool { return a.Name == b.Name && a.Elem == b.Elem })
}

// allocations lists the heap allocations that list begins with. Declarations of scalars may stand between them.
func allocations(list []ir.Stmt) []*ir.Alloc {
	var out []*ir.Alloc
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Alloc:
			if s.OnStack() {
				return out
			}
			out = append(out, s)
		case *ir.Decl:
			if len(out) == 0 || loads(s.Init) {
				return out
			}
		default:
			return out
		}
	}
	return out
}

// loads reports whether x reads an array.
func loads(x ir.Expr) bool {
	found := false
	ir.EachExpr(x, func(x ir.Expr) {
		_, load := x.(*ir.Load)
		found = found || load
	})
	return found
}

// enter begins a frame and writes the declarations at its top.
func (e *emitter) enter(f *frame) {
	e.frame, e.live = f, nil
	for _, a := range f.arrays {
		if !f.declared[a.Name] {
			e.line("%s%s = NULL;", e.heapPointer(a), name(a.Name))
		}
	}
}

// exit writes the end of a frame, where its arrays are released.
func (e *emitter) exit() {
	f := e.frame
	if !f.used {
		return
	}
	e.depth--
	if len(f.arrays) == 0 {
		e.line("%s:;", f.label)
	} else {
		e.line("%s:", f.label)
	}
	e.depth++
	for _, a := range slices.Backward(f.arrays) {
		e.line("free(%s);", name(a.Name))
	}
}

// fail writes the reaction to a failed allocation, one level deeper.
func (e *emitter) fail() {
	e.depth++
	if e.region == nil && len(e.frame.arrays) == 0 {
		e.line("return %d;", ir.NoMemory)
	} else {
		e.line("%s = %d;", e.frame.flag, ir.NoMemory)
		e.jump()
	}
	e.depth--
}

// jump writes a jump to the end of the frame.
func (e *emitter) jump() {
	e.frame.used = true
	e.line("goto %s;", e.frame.label)
}

// guarded writes statements of a parallel region, which must not be left, as a frame of their own.
func (e *emitter) guarded(label string, list []ir.Stmt) {
	outer, live := e.frame, e.live
	e.enter(newFrame(e.region.failed, e.facts.fresh(label), list))
	e.stmts(list)
	e.exit()
	e.frame, e.live = outer, live
}
