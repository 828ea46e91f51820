package codegen

import (
	"fmt"

	"libsparse/libsparse/ir"
)

// region is a parallel region. Where something in it allocates, every thread notes a failure in its own copy of a
// flag that the end of the region combines: a thread must neither leave the region nor skip a shared loop.
type region struct {
	failed  string          // the name of the flag; "" if nothing in it can fail
	several string          // what is true where there are several threads: a condition, the array of counters, or "", where there always are
	owned   map[*ir.For]int // the loops whose parts have owners, with the places of their counters
	begun   string          // the array of these counters
}

func (e *emitter) parallel(s *ir.Parallel) {
	e.region = &region{}
	clauses := ""
	if canFail(s.Body) {
		e.region.failed = e.facts.fresh("failed")
		e.line("int %s = 0;", e.region.failed)
		clauses += fmt.Sprintf(" reduction(| : %s)", e.region.failed)
	}
	if e.opts.Serial {
		e.line("(void)%s;", e.expr(widened(s.Threads), precUnary))
	} else {
		team := e.team(s)
		e.region.several = team + " > 1"
		if e.own(s.Body); e.region.begun != "" {
			e.line("{")
			e.depth++
			e.counters(team)
		}
		e.pragma("omp parallel num_threads(%s)%s", team, clauses)
	}
	e.line("{")
	e.depth++
	e.collective(s.Body.Stmts, true)
	e.depth--
	e.line("}")
	if e.region.begun != "" {
		e.depth--
		e.line("}")
	}
	failed := e.region.failed
	e.region = nil
	if failed != "" {
		e.line("if (%s) {", failed)
		e.fail()
		e.line("}")
	}
}

// team is the number of threads of a region, declared where a condition decides between one and all.
func (e *emitter) team(s *ir.Parallel) string {
	threads := e.index(s.Threads)
	if s.Cond == nil {
		return threads
	}
	team := e.facts.fresh("team")
	e.line("const int64_t %s = %s ? %s : 1;", team, e.expr(s.Cond, precOr), threads)
	return team
}

// collective writes statements that every thread of the region reaches. last says that the region ends after them.
func (e *emitter) collective(list []ir.Stmt, last bool) {
	for i, s := range list {
		e.collectiveStmt(s, last && onlyCleanup(list[i+1:]))
	}
}

// onlyCleanup reports whether nothing in list needs the results of other threads.
func onlyCleanup(list []ir.Stmt) bool {
	for _, s := range list {
		switch s.(type) {
		case *ir.Free, *ir.Comment, *ir.Drain:
		default:
			return false
		}
	}
	return true
}

func (e *emitter) collectiveStmt(s ir.Stmt, last bool) {
	nested := func(b *ir.Block) {
		e.depth++
		e.collective(b.Stmts, false)
		e.depth--
	}
	switch s := s.(type) {
	case *ir.Alloc:
		e.collectiveAlloc(s)
		return
	case *ir.Decl:
		e.collectiveDecl(s)
		return
	case *ir.Free, *ir.Comment:
		e.stmt(s)
		return
	case *ir.For:
		if s.Kind == ir.Shared {
			e.sharedLoop(s, last)
			return
		}
	}
	if !hasShared(s) {
		e.private(s)
		return
	}
	switch s := s.(type) {
	case *ir.Block:
		e.line("{")
		nested(s)
		e.line("}")
	case *ir.For:
		e.head(s, e.bound(s, true))
		nested(s.Body)
		e.line("}")
	case *ir.While:
		e.line("while (%s) {", e.value(s.Cond))
		nested(s.Body)
		e.line("}")
	case *ir.If:
		e.branch(s, nested)
	default:
		panic(fmt.Sprintf("BUG: no shared loop can be in a %T", s))
	}
}

// collectiveAlloc writes an allocation whose failure must not keep the thread from what follows.
func (e *emitter) collectiveAlloc(s *ir.Alloc) {
	if s.OnStack() {
		e.alloc(s)
		return
	}
	e.heapAlloc(s, true)
	e.line("%s |= !%s;", e.region.failed, name(s.Array.Name))
}

// collectiveDecl writes a declaration that doesn't touch arrays which may be missing.
func (e *emitter) collectiveDecl(s *ir.Decl) {
	unless := ""
	ir.EachExpr(s.Init, func(x ir.Expr) {
		if load, ok := x.(*ir.Load); ok && e.region.failed != "" && e.facts.local[load.Array.Name] {
			unless = e.region.failed
		}
	})
	e.decl(s, unless)
}

// private writes a statement without shared loops, which a thread that has failed skips.
func (e *emitter) private(s ir.Stmt) {
	if e.region.failed == "" {
		e.stmt(s)
		return
	}
	e.line("if (!%s) {", e.region.failed)
	e.depth++
	e.guarded("skip", []ir.Stmt{s})
	e.depth--
	e.line("}")
}

// sharedLoop writes a loop whose iterations the threads divide. last says that the region ends after it, so that no
// thread need wait for the others twice.
func (e *emitter) sharedLoop(s *ir.For, last bool) {
	if place, ok := e.region.owned[s]; ok {
		e.ownedLoop(s, place, func(begin, end ir.Expr) { e.iterations(s, begin, end) })
		if !last {
			e.pragma("omp barrier")
		}
		return
	}
	schedule := "static"
	hi := e.bound(s, false)
	if s.Chunk != nil {
		schedule = "dynamic, " + e.index(s.Chunk)
	}
	nowait := ""
	if last {
		nowait = " nowait"
	}
	if !e.opts.Serial {
		e.pragma("omp for schedule(%s)%s", schedule, nowait)
	}
	e.head(s, hi)
	e.depth++
	e.iteration(s)
	e.depth--
	e.line("}")
}

// iterations writes those of a shared loop from begin to end, or a single one where end is nil.
func (e *emitter) iterations(s *ir.For, begin, end ir.Expr) {
	if end == nil {
		e.iteration(s)
		return
	}
	last, named := end.(*ir.Var)
	if !named {
		last = e.local(s, "_end")
		e.line("const int64_t %s = %s;", last.Name, e.index(end))
	}
	mine := *s
	mine.Lo, mine.Hi = begin, last
	e.head(&mine, last.Name)
	e.depth++
	e.iteration(s)
	e.depth--
	e.line("}")
}

// iteration writes what a thread does in one iteration of a shared loop.
func (e *emitter) iteration(s *ir.For) {
	if e.region.failed != "" {
		e.line("if (%s) {", e.region.failed)
		e.line("    continue;")
		e.line("}")
	}
	e.guarded("next_"+name(s.Var.Name), s.Body.Stmts)
}
