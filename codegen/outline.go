package codegen

import (
	"slices"

	"libsparse/libsparse/ir"
)

// split takes a function apart where all that it does is one parallel region behind a condition: the checks and
// declarations before the region, and the region; nil for another function.
//
// Such a region becomes a function of its own, which one thread calls without OpenMP: opening a region costs it some
// 400 ns, as much as a product of a hundred rows.
func (e *emitter) split(f *ir.Func) (head []ir.Stmt, region *ir.Parallel) {
	list := f.Body.Stmts
	if n := len(list); ir.EndsInReturn(f.Body) {
		if status, ok := list[n-1].(*ir.Return).Value.(*ir.Int); !ok || status.Value != ir.OK {
			return nil, nil
		}
		list = list[:n-1]
	}
	if len(list) == 0 || e.opts.Serial || ir.Divides(f.Body) {
		return nil, nil
	}
	head, last := list[:len(list)-1], list[len(list)-1]
	region, ok := last.(*ir.Parallel)
	if !ok || region.Cond == nil || canFail(region.Body) || writesScalars(e.slots, region) || !only(head, isCheck) {
		return nil, nil
	}
	return head, region
}

// isCheck reports whether s only looks: a comment, a declaration, or a check that may end the function.
func isCheck(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Comment, *ir.Decl:
		return true
	case *ir.If:
		return s.Else == nil && ir.EndsInReturn(s.Then) && len(s.Then.Stmts) == 1
	}
	return false
}

// only reports whether f holds for every statement of list.
func only(list []ir.Stmt, f func(ir.Stmt) bool) bool {
	return !slices.ContainsFunc(list, func(s ir.Stmt) bool { return !f(s) })
}

// writesScalars reports whether s assigns to a scalar that the caller reads.
func writesScalars(slots []ir.Slot, s ir.Stmt) bool {
	assigned := gather(slots, &ir.Func{Body: ir.Do(s)}).assigned
	for _, slot := range slots {
		if slot.Out && slot.Var != nil && assigned[slot.Var.Name] {
			return true
		}
	}
	return false
}

// outlined writes a function that split has taken apart: the region's function, and one that calls it with a team.
func (e *emitter) outlined(f *ir.Func, called string, head []ir.Stmt, s *ir.Parallel) {
	if before, loop := onlyLoop(s.Body); loop != nil {
		e.parted(f, called, append(slices.Clone(head), before...), s, loop)
		return
	}
	work := called + "_work"
	list := append(e.needed(head, s.Body), s.Body)
	e.facts = gather(e.slots, &ir.Func{Name: f.Name, Body: ir.Do(list...)})
	e.region = &region{}
	e.own(s.Body)
	begun := e.region.begun
	e.region.several = begun // one thread has no counters
	parameter, argument, none := "", "", ""
	if begun != "" {
		parameter, argument, none = ", int64_t *"+begun, ", "+begun, ", NULL"
	}
	e.open("static void %s(int64_t *slots%s)", work, parameter)
	e.stmts(list[:len(list)-1])
	e.collective(s.Body.Stmts, true)
	e.close()

	alone := &ir.Parallel{Threads: s.Threads, Cond: s.Cond, Body: ir.Do()}
	e.caller(f, called, head, alone, func(team string) {
		if e.region.begun = begun; begun != "" {
			e.counters(team)
		}
		e.pragma("omp parallel num_threads(%s)", team)
		e.line("%s(slots%s);", work, argument)
	}, func() { e.line("%s(slots%s);", work, none) })
}

// onlyLoop is the loop of a region that has nothing else but constants before, where its parts have owners.
func onlyLoop(region *ir.Block) (before []ir.Stmt, loop *ir.For) {
	last := len(region.Stmts) - 1
	if last < 0 || !only(region.Stmts[:last], isConstant) {
		return nil, nil
	}
	if loop, ok := region.Stmts[last].(*ir.For); ok && isOwned(loop) {
		return region.Stmts[:last], loop
	}
	return nil, nil
}

func isConstant(s ir.Stmt) bool {
	d, ok := s.(*ir.Decl)
	return ok && d.Const
}

// parted writes a function that split has taken apart, whose region is a loop with parts that have owners: a function for a part, and one
// that calls it for all. In a function of its own a part has more registers: short rows take a tenth less of the time.
func (e *emitter) parted(f *ir.Func, called string, head []ir.Stmt, s *ir.Parallel, loop *ir.For) {
	part := called + "_part"
	begin, end := e.local(loop, "_begin"), e.local(loop, "_end")
	mine := *loop
	mine.Kind, mine.Chunk, mine.Lo, mine.Hi = ir.Serial, nil, begin, end
	list := append(e.needed(head, &mine), &mine)
	e.facts = gather(e.slots, &ir.Func{Name: f.Name, Body: ir.Do(list...)})
	e.region = &region{}
	if isSingle(loop) {
		e.open("static __attribute__((noinline)) void %s(int64_t *slots, const int64_t %s)", part, name(loop.Var.Name))
		e.stmts(list[:len(list)-1])
		e.iteration(loop)
	} else {
		e.open("static __attribute__((noinline)) void %s(int64_t *slots, const int64_t %s, const int64_t %s)", part, begin.Name, end.Name)
		e.stmts(list[:len(list)-1])
		e.iterations(loop, begin, end)
	}
	e.close()

	bounds := *loop
	bounds.Body = ir.Do()
	region := &ir.Parallel{Threads: s.Threads, Cond: s.Cond, Body: ir.Do(&bounds)}
	call := func(begin, end ir.Expr) {
		if end == nil {
			e.line("%s(slots, %s);", part, e.index(begin))
		} else {
			e.line("%s(slots, %s, %s);", part, e.index(begin), e.index(end))
		}
	}
	e.caller(f, called, head, region, func(team string) {
		e.own(ir.Do(loop))
		e.counters(team)
		e.pragma("omp parallel num_threads(%s)", team)
		e.line("{")
		e.depth++
		e.ownedLoop(loop, 0, call)
		e.depth--
		e.line("}")
	}, func() {
		if !isSingle(loop) {
			call(loop.Lo, loop.Hi)
			return
		}
		e.head(&bounds, e.bound(&bounds, true))
		e.depth++
		call(loop.Var, nil)
		e.depth--
		e.line("}")
	})
}

// caller writes the function that calls the code of a region with a team, or without.
func (e *emitter) caller(f *ir.Func, called string, head []ir.Stmt, s *ir.Parallel, several func(team string), alone func()) {
	list := append(e.needed(head, s), s)
	e.facts = gather(e.slots, &ir.Func{Name: f.Name, Body: ir.Do(list...)})
	e.region = &region{}
	e.open("int32_t %s(int64_t *slots)", called)
	e.stmts(list[:len(list)-1])
	team := e.team(s)
	e.line("if (%s > 1) {", team)
	e.depth++
	several(team)
	e.depth--
	e.line("} else {")
	e.depth++
	alone()
	e.depth--
	e.line("}")
	e.line("return %d;", ir.OK)
	e.close()
	e.region = nil
}

// needed lists what of head stands before s: its declarations, if read, and comments before a region's body, and its
// checks before a region.
func (e *emitter) needed(head []ir.Stmt, s ir.Stmt) []ir.Stmt {
	_, returns := s.(*ir.Parallel)
	list := []ir.Stmt{s}
	for _, h := range slices.Backward(head) {
		reads := gather(e.slots, &ir.Func{Body: ir.Do(list...)}).reads
		switch h := h.(type) {
		case *ir.If:
			if !returns {
				continue
			}
		case *ir.Comment:
			if returns {
				continue
			}
		case *ir.Decl:
			if !reads[h.Var.Name] {
				continue
			}
		}
		list = slices.Insert(list, 0, h)
	}
	return list[: len(list)-1 : len(list)-1]
}

// open writes the beginning of a function.
func (e *emitter) open(format string, args ...any) {
	e.frame = newFrame("status", e.facts.fresh("done"), nil)
	e.line("")
	e.line(format, args...)
	e.line("{")
	e.depth++
	e.prologue()
}

// close writes its end.
func (e *emitter) close() {
	e.depth--
	e.line("}")
}
