package codegen

import (
	"strings"

	"libsparse/libsparse/ir"
)

// alloc writes the allocation of a stack array.
func (e *emitter) alloc(s *ir.Alloc) {
	zero := ""
	if s.Zero {
		zero = " = {0}"
	}
	n := s.Size.(*ir.Int).Value
	e.line("%s %s[%d] __attribute__((aligned(64)))%s;", elemType(s.Array.Elem), name(s.Array.Name), max(n, 1), zero)
}

// allocGroup writes the run of heap allocations that list begins with, and one check that all have succeeded. It
// returns the number of statements written.
func (e *emitter) allocGroup(list []ir.Stmt) int {
	group := allocations(list)
	missing := make([]string, len(group))
	written := 0
	for i := 0; i < len(group); written++ {
		s, ok := list[written].(*ir.Alloc)
		if !ok {
			e.stmt(list[written])
			continue
		}
		e.heapAlloc(s, e.frame.declared[s.Array.Name])
		e.live = append(e.live, name(s.Array.Name))
		missing[i] = "!" + name(s.Array.Name)
		i++
	}
	e.line("if (%s) {", strings.Join(missing, " || "))
	e.fail()
	e.line("}")
	return written
}

// heapAlloc writes the allocation of a heap array, with its declaration or not, without the check that it succeeded.
func (e *emitter) heapAlloc(s *ir.Alloc, declare bool) {
	kind, a, pointer := "allocate", name(s.Array.Name), ""
	if s.Zero {
		kind = "allocate_zero"
	}
	if declare {
		pointer = e.heapPointer(s.Array)
	}
	e.line("%s%s = %s(%s, sizeof *%s);", pointer, a, e.memory(kind), e.index(s.Size), a)
}

// heapPointer is the type of a heap array, ready for the name to follow.
func (e *emitter) heapPointer(a *ir.Array) string {
	if e.facts.grown[a.Name] {
		return elemType(a.Elem) + " *"
	}
	return elemType(a.Elem) + " *restrict "
}

// memory notes the use of an allocation function and returns its name.
func (e *emitter) memory(kind string) string {
	e.uses.add(helper{kind: kind})
	return helper{kind: kind}.name()
}

// grow writes the reallocation of an array that is too small. Where it fails the array is gone.
func (e *emitter) grow(s *ir.Grow) {
	a, room := name(s.Array.Name), name(s.Capacity.Name)
	e.line("if (%s > %s) {", e.expr(widened(s.Size), precAdd), room)
	e.depth++
	doubled := &ir.Binary{Op: "mul", X: &ir.Int{Value: 2, T: ir.Index.Elem}, Y: asIndex(s.Capacity)}
	larger := &ir.Binary{Op: "max", X: asIndex(s.Size), Y: doubled}
	e.line("%s", e.update(room, "", larger, s.Capacity.T))
	e.line("%s = %s(%s, %s, sizeof *%s);", a, e.memory("resize"), a, room, a)
	e.line("if (!%s) {", a)
	e.fail()
	e.line("}")
	e.depth--
	e.line("}")
}

// free writes the release of an array, unless the end of the frame releases it.
func (e *emitter) free(s *ir.Free) {
	a := name(s.Array.Name)
	owned := e.frame != nil && e.frame.owns(s.Array)
	if owned && e.frame.atTop[s.Array.Name] {
		return
	}
	e.line("free(%s);", a)
	if owned {
		e.line("%s = NULL;", a)
	}
	for i, b := range e.live {
		if b == a {
			e.live = append(e.live[:i:i], e.live[i+1:]...)
			return
		}
	}
}
