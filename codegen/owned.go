package codegen

import "libsparse/libsparse/ir"

// stride is how many counters lie between those of two threads, so that they are on cache lines of their own, also where
// processors fetch lines in pairs.
const stride = 16

// own finds the loops of a region whose parts have owners: those with parts that every thread comes to once.
//
// A thread begins with the parts that it had in the last call, whose data the caches of its processor may still have and whose
// branches it foresees. Then it takes parts that their owners haven't begun, so that nobody waits for one whose processor is
// slower, or does other things.
func (e *emitter) own(body *ir.Block) {
	e.region.owned = map[*ir.For]int{}
	for _, s := range body.Stmts {
		if loop, ok := s.(*ir.For); ok && loop.Kind == ir.Shared && loop.Chunk != nil && len(e.region.owned) < stride {
			e.region.owned[loop] = len(e.region.owned)
		}
	}
	if len(e.region.owned) > 0 {
		e.region.begun = e.facts.fresh("begun")
	}
}

// counters declares how many of its parts of each loop each thread of a team has begun.
func (e *emitter) counters(team string) {
	n := e.facts.fresh("n")
	e.line("int64_t %s[%d * %s];", e.region.begun, stride, team)
	e.line("for (int64_t %s = 0; %[1]s < %d * %s; %[1]s++) {", n, stride, team)
	e.line("    %s[%s] = 0;", e.region.begun, n)
	e.line("}")
}

// ownedLoop writes a loop whose parts have owners. last says that the region ends after it.
func (e *emitter) ownedLoop(s *ir.For, place int, last bool) {
	turn := e.facts.fresh(name(s.Var.Name) + "_turn")
	each := func(part, parts string) {
		e.line("for (int64_t %s; (%[1]s = next_part(%s, %d, &%s, %s)) < %[5]s;) {", part, e.region.begun, place, turn, parts)
	}
	e.uses.add(helper{kind: "next_part"})
	e.line("int64_t %s = 0;", turn)
	if isInt(s.Lo, 0) && isInt(s.Chunk, 1) && s.Step == 1 {
		each(name(s.Var.Name), e.bound(s, false))
		e.shared(s)
	} else {
		e.inChunks(s, each)
	}
	e.line("}")
	if !last {
		e.pragma("omp barrier")
	}
}

// inChunks writes a loop with parts of as many iterations as its chunk says. A thread that has no team takes all as one.
func (e *emitter) inChunks(s *ir.For, each func(part, parts string)) {
	local := func(suffix string) *ir.Var {
		return &ir.Var{Name: e.facts.fresh(name(s.Var.Name) + suffix), T: ir.Index}
	}
	trips, chunk, parts, part, end := local("_trips"), local("_chunk"), local("_parts"), local("_part"), local("_end")
	text := func(x ir.Expr) string { return e.index(ir.SimplifyExpr(x)) }
	quotient := func(x, y ir.Expr) ir.Expr { return ir.Div(ir.Add(x, ir.Sub(y, ir.Const(1))), y) } // rounded up
	e.line("const int64_t %s = %s;", trips.Name, text(quotient(ir.Sub(s.Hi, s.Lo), ir.Const(s.Step))))
	e.line("const int64_t %s = %s ? %s : %s;", chunk.Name, e.region.several, text(s.Chunk), trips.Name)
	e.line("const int64_t %s = %s ? %s : 1;", parts.Name, e.region.several, text(quotient(trips, chunk)))
	each(part.Name, parts.Name)
	e.depth++
	at := func(trips ir.Expr) ir.Expr { return ir.SimplifyExpr(ir.Add(s.Lo, ir.Mul(trips, ir.Const(s.Step)))) }
	e.line("const int64_t %s = %s;", end.Name, text(at(ir.Min(trips, ir.Mul(ir.Next(part), chunk)))))
	mine := *s
	mine.Lo = at(ir.Mul(part, chunk))
	e.head(&mine, end.Name)
	e.shared(s)
	e.line("}")
	e.depth--
}

// isInt reports whether x is the integer n.
func isInt(x ir.Expr, n int64) bool {
	literal, ok := x.(*ir.Int)
	return ok && literal.Value == n
}
