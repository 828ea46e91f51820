package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Across is m with loops in lanes rewritten that are unrolled around a loop which sums: as many iterations as they are unrolled by run at once, each in a
// lane of its own. They need the same bounds inside, as rows of a slice in SELL have. Where only some of them have something to sum
// (For.Ends), which is in the last iterations inside, the others keep what they have. Of iterations outside that are too few for all lanes, those that there
// are are summed one after the other. Places on a diagonal are neighbours, of which lanes have a range: its ends are tested.
//
// Where the loop inside is unrolled, each lane has as many partial sums, to which the terms of its element go in turn, whatever their number: the lanes that Accumulate
// has of as many vectors, and they are added up in the same order, so that an element has the same bits in either format.
//
// This is vectorisation of the outer loop, for loops inside that are too short or gather too much to be vectorised themselves. Loops that can't be
// rewritten are left to Together.
func Across(m *Module, target Target) *Module {
	return rewriteLoops(m, grouped, func(s *For, names *Builder) Stmt {
		if !grouped(s) {
			return s
		}
		if c, ok := acrossOf(s); ok {
			x := vectorizer{Target: target, gather: true, Gathering: c.loop.Gathering}
			if body, ok := c.together(x, names); ok {
				return body
			}
		}
		return s
	})
}

// grouped reports whether s is a loop in lanes that is unrolled around another.
func grouped(s *For) bool {
	inside := func(s Stmt) bool { _, loop := s.(*For); return loop }
	return s.Kind == Simd && s.Unroll > 1 && slices.ContainsFunc(s.Body.Stmts, inside)
}

// across is a loop whose iterations can be lanes.
type across struct {
	results
	reduction
	// valid says, where it isn't nil, whether an iteration inside has something to sum: an element of a vector that isn't negative.
	valid *Load
	// place and extent say the same, where they aren't nil: a place, which counts with the iterations, is at least 0 and before extent.
	place, extent Expr
}

func acrossOf(s *For) (c across, ok bool) {
	at := slices.IndexFunc(s.Body.Stmts, func(t Stmt) bool { _, loop := t.(*For); return loop })
	if at < 1 || !powerOfTwo(s.Unroll) || s.Step != 1 {
		return c, false
	}
	inside := *s.Body.Stmts[at].(*For)
	if inside.Kind != Serial || !powerOfTwo(max(inside.Unroll, 1)) || !c.conditional(&inside, s.Var) {
		return c, false
	}
	inside.Kind = Simd // as far as sums are concerned
	d, declares := s.Body.Stmts[at-1].(*Decl)
	if c.reduction, ok = reductionOf(&inside); !ok || !declares || d.Var.Name != c.sum.Name || !isIdentity(d.Init, c.reduction) {
		return c, false
	}
	c.results, ok = resultsOf(s, s.Body.Stmts[:at-1], s.Body.Stmts[at+1:])
	return c, ok && c.sameBounds(&inside) && !usesAny(c.value, c.constants)
}

// conditional takes the condition off the body of a loop inside that has one, and notes it; it reports whether lanes, which v counts, can test it.
func (c *across) conditional(inside *For, v *Var) bool {
	test, ok := inside.Body.Stmts[0].(*If)
	if !ok {
		return !inside.Ends
	}
	if len(inside.Body.Stmts) > 1 || test.Else != nil {
		return false
	}
	inside.Body = test.Then
	if inside.Ends {
		c.valid, ok = notNegative(test.Cond)
		return ok && consecutive(c.valid.Index, v)
	}
	c.place, c.extent, ok = inRange(test.Cond)
	return ok && inside.Unroll < 2 && consecutive(c.place, v) && !uses(c.extent, v) && !uses(c.extent, inside.Var)
}

// inRange is the place and the extent, where e says that a place is at least 0 and before an extent.
func inRange(e Expr) (place, extent Expr, ok bool) {
	both, ok := e.(*Binary)
	if !ok || both.Op != dtype.And {
		return nil, nil, false
	}
	from, okX := both.X.(*Compare)
	to, okY := both.Y.(*Compare)
	if !okX || !okY || from.Op != Ge || !isLiteralZero(from.Y) || to.Op != Lt || ExprText(from.X) != ExprText(to.X) {
		return nil, nil, false
	}
	return to.X, to.Y, true
}

// notNegative is the element that e says is not negative.
func notNegative(e Expr) (*Load, bool) {
	c, ok := e.(*Compare)
	if !ok || c.Op != Ge || !isLiteralZero(c.Y) {
		return nil, false
	}
	x := c.X
	if cast, ok := x.(*Cast); ok {
		x = cast.X
	}
	l, ok := x.(*Load)
	return l, ok && l.Lanes < 2 && l.Array.Elem.IsInt()
}

// usesAny reports whether e has one of the variables that statements declare.
func usesAny(e Expr, stmts []Stmt) bool {
	return slices.ContainsFunc(stmts, func(s Stmt) bool {
		d, ok := s.(*Decl)
		return ok && uses(e, d.Var)
	})
}

func powerOfTwo(n int64) bool { return n > 0 && n&(n-1) == 0 }
