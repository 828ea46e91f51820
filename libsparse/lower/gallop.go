package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Galloping merges: the coordinate that is visited is the largest under a cursor, and cursors that are behind it search for
// it in steps that double, so that a level with few coordinates passes long runs of another.

// gallops reports whether f visits a point so: an intersection of levels that can be searched.
func (l *lowerer) gallops(f *cin.Forall, lat lattice.Lattice, cs []*cursor, e env) bool {
	return f.Gallop && len(lat.Points) == 1 && len(cs) > 1 && !slices.ContainsFunc(cs, func(c *cursor) bool {
		return !unique(c.it) || l.valid(c.it, c.pos, e) != nil
	})
}

// gallop moves cursors on from coordinate v: where all stand there each to its next position, else those before v to the
// first position that isn't.
func (l *lowerer) gallop(cs []*cursor, v *ir.Var, e env) []ir.Stmt {
	var met []ir.Expr
	var forward, search []ir.Stmt
	for _, c := range cs {
		met = append(met, ir.Is(c.coord, ir.Eq, v))
		forward = append(forward, ir.Increment(c.pos))
		search = append(search, ir.When(ir.Is(c.coord, ir.Lt, v), l.leap(c, v, e)...))
	}
	return []ir.Stmt{&ir.If{Cond: ir.All(met...), Then: ir.Do(forward...), Else: ir.Do(search...)}}
}

// leap moves a cursor that stands before v.
func (l *lowerer) leap(c *cursor, v *ir.Var, e env) []ir.Stmt {
	before := l.before(c.it, v, e)
	step := l.positionVar(c.it, "_step")
	ahead := ir.Add(c.pos, step)
	out := []ir.Stmt{
		ir.Declare(step, ir.Const(1)),
		&ir.While{
			Cond: ir.Is(ir.Is(ahead, ir.Lt, c.end), ir.LogAnd, before(ahead)),
			Body: ir.Do(ir.Set(c.pos, ahead), ir.Set(step, ir.Mul(ir.Const(2), step))),
		},
	}
	stmts, found := l.search(l.positionName(c.it)+"_next", ir.Next(c.pos), ir.Min(ahead, c.end), before)
	return append(append(out, stmts...), ir.Set(c.pos, found))
}
