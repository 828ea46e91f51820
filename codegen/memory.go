package codegen

import "libsparse/libsparse/ir"

// escape says what a failed allocation does: return NoMemory, or jump to the end of an iteration or statement of a
// parallel region, which must not be left, after noting the failure there.
type escape struct {
	label string // "": return
	floor int    // live arrays below stay alive
	used  *bool
}

// alloc writes the allocation of a local array.
func (e *emitter) alloc(s *ir.Alloc) {
	if n, ok := s.Size.(*ir.Int); ok {
		zero := ""
		if s.Zero {
			zero = " = {0}"
		}
		e.line("%s %s[%d] __attribute__((aligned(64)))%s;", s.Array.Elem.C(), name(s.Array.Name), max(n.Value, 1), zero)
		return
	}
	e.heapAlloc(s)
	e.line("if (!%s) {", name(s.Array.Name))
	e.fail()
	e.line("}")
	e.live = append(e.live, name(s.Array.Name))
}

// heapAlloc writes the declaration of a heap array, without the check that it succeeded.
func (e *emitter) heapAlloc(s *ir.Alloc) {
	e.uses.header("stdlib.h")
	kind, a := "allocate", name(s.Array.Name)
	if s.Zero {
		kind = "allocate_zero"
	}
	restrict := "restrict "
	if e.facts.grown[s.Array.Name] {
		restrict = ""
	}
	e.line("%s *%s%s = %s(%s, sizeof *%s);", s.Array.Elem.C(), restrict, a, e.memory(kind), e.index(s.Size), a)
}

// memory notes the use of an allocation function and returns its name.
func (e *emitter) memory(kind string) string {
	e.uses.add(helper{kind: kind})
	return helper{kind: kind}.name()
}

func (e *emitter) grow(s *ir.Grow) {
	e.uses.header("stdlib.h")
	a, capacity := name(s.Array.Name), name(s.Capacity.Name)
	e.line("if (%s > %s) {", e.expr(widened(s.Size), precAdd), capacity)
	e.depth++
	size, room := e.facts.fresh(a+"_size"), e.facts.fresh(a+"_grown")
	e.line("const int64_t %s = %s > 2 * %s ? %s : 2 * %s;", size, e.expr(widened(s.Size), precAdd), capacity,
		e.expr(widened(s.Size), precOr), capacity)
	e.line("%s *const %s = realloc(%s, (size_t)%s * sizeof *%s);", s.Array.Elem.C(), room, a, size, a)
	e.line("if (!%s) {", room)
	e.fail()
	e.line("}")
	e.line("%s = %s;", a, room)
	e.line("%s = %s;", capacity, narrowed(s.Capacity.T, size))
	e.depth--
	e.line("}")
}

func (e *emitter) free(s *ir.Free) {
	e.uses.header("stdlib.h")
	e.line("free(%s);", name(s.Array.Name))
	for i, a := range e.live {
		if a == name(s.Array.Name) {
			e.live = append(e.live[:i:i], e.live[i+1:]...)
			return
		}
	}
}

// fail writes what a failed allocation does, one level deeper.
func (e *emitter) fail() {
	e.depth++
	e.freeAbove(e.escape.floor)
	if e.escape.label == "" {
		e.line("return %d;", ir.NoMemory)
	} else {
		*e.escape.used = true
		e.line("%s = 1;", e.region.failed)
		e.line("goto %s;", e.escape.label)
	}
	e.depth--
}

// freeAbove releases the live arrays from floor on, the innermost first.
func (e *emitter) freeAbove(floor int) {
	for i := len(e.live) - 1; i >= floor; i-- {
		e.line("free(%s);", e.live[i])
	}
}

// guarded writes something in which a failed allocation jumps to its end.
func (e *emitter) guarded(label string, write func()) {
	outer, used := e.escape, false
	label = e.facts.fresh(label)
	e.escape = escape{label: label, floor: len(e.live), used: &used}
	write()
	if used {
		e.line("%s:;", label)
	}
	e.escape = outer
}
