package codegen

import "libsparse/libsparse/ir"

// stride is how many counters a thread has, one for each of as many loops at most, so that those of two threads are on cache lines of
// their own, also where processors fetch lines in pairs.
const stride = 16

// own finds the loops of a region whose parts have owners: those with parts that every thread comes to once.
//
// A thread begins with the parts that it had in the last call, whose data the caches of its processor may still have and whose
// branches it foresees. Then it takes parts that their owners haven't begun, so that nobody waits for one whose processor is
// slower, or does other things.
func (e *emitter) own(body *ir.Block) {
	e.region.owned = map[*ir.For]int{}
	for _, s := range body.Stmts {
		if loop, ok := s.(*ir.For); ok && isOwned(loop) && len(e.region.owned) < stride {
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

// ownedLoop writes a loop whose parts have owners. iterations writes what a thread does with those of a part.
func (e *emitter) ownedLoop(s *ir.For, place int, iterations func(begin, end ir.Expr)) {
	turn := e.facts.fresh(name(s.Var.Name) + "_turn")
	each := func(part *ir.Var, parts string) {
		e.line("for (int64_t %s; (%[1]s = next_part(%s, %d, &%s, %s)) < %[5]s;) {", name(part.Name), e.region.begun, place, turn, parts)
	}
	e.uses.add(helper{kind: "next_part"})
	e.line("int64_t %s = 0;", turn)
	if isSingle(s) {
		each(s.Var, e.bound(s, false))
		e.depth++
		iterations(s.Var, nil)
	} else {
		begin, end := e.chunks(s, each)
		iterations(begin, end)
	}
	e.depth--
	e.line("}")
}

// chunks opens a loop over parts of as many iterations as the chunk of s says. A thread that has no team takes all as one.
func (e *emitter) chunks(s *ir.For, each func(part *ir.Var, parts string)) (begin, end ir.Expr) {
	trips, chunk, parts, part := e.local(s, "_trips"), e.local(s, "_chunk"), e.local(s, "_parts"), e.local(s, "_part")
	text := func(x ir.Expr) string { return e.index(ir.SimplifyExpr(x)) }
	quotient := func(x, y ir.Expr) ir.Expr { return ir.Div(ir.Add(x, ir.Sub(y, ir.Const(1))), y) } // rounded up
	e.line("const int64_t %s = %s;", trips.Name, text(quotient(ir.Sub(s.Hi, s.Lo), ir.Const(s.Step))))
	if many := text(s.Chunk); e.region.several == "" {
		e.line("const int64_t %s = %s;", chunk.Name, many)
	} else {
		e.line("const int64_t %s = %s ? %s : %s;", chunk.Name, e.region.several, many, text(ir.AtLeastOne(trips)))
	}
	e.line("const int64_t %s = %s;", parts.Name, text(quotient(trips, chunk)))
	each(part, parts.Name)
	e.depth++
	at := func(trips ir.Expr) ir.Expr { return ir.SimplifyExpr(ir.Add(s.Lo, ir.Mul(trips, ir.Const(s.Step)))) }
	return at(ir.Mul(part, chunk)), at(ir.Min(trips, ir.Mul(ir.Next(part), chunk)))
}

// local is a new variable with a name that says which loop it belongs to.
func (e *emitter) local(s *ir.For, suffix string) *ir.Var {
	return &ir.Var{Name: e.facts.fresh(name(s.Var.Name) + suffix), T: ir.Index}
}

// isOwned reports whether the parts of a loop have owners, where every thread comes to it once.
func isOwned(s *ir.For) bool { return s.Kind == ir.Shared && s.Chunk != nil }

// isSingle reports whether each part of a shared loop is one iteration, whose number is that of the part.
func isSingle(s *ir.For) bool { return isInt(s.Lo, 0) && isInt(s.Chunk, 1) && s.Step == 1 }

// isInt reports whether x is the integer n.
func isInt(x ir.Expr, n int64) bool {
	literal, ok := x.(*ir.Int)
	return ok && literal.Value == n
}
