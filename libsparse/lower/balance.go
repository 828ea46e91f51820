package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Threads divide the rows of a sparse operand by what is stored in them: a power law puts most entries into few rows. Where a
// block of rows begins is searched in the positions that the operand has anyway, so that no statistics are needed, and
// the same kernel serves even rows and skewed ones.

// weight is how much work the iterations of a loop before a given one are.
type weight func(at ir.Expr) ir.Expr

// weigh finds the weight of the iterations of the shared loop of f: one for each, and one for each entry below them. It is nil
// where nothing says that iterations differ.
func (l *lowerer) weigh(f *cin.Forall, e env) weight {
	v := l.program.Original(f.Var)
	if _, windowed := e.space[v]; windowed || l.program.Derivation(v) != nil {
		return nil
	}
	original := f.With(f.Body)
	original.Var = v
	followed, _ := l.inStoredOrder(original, e)
	walked := lattice.Loop(cin.Value(f.Body), v).Iterators()
	var below []*index.Access
	for _, a := range index.Accesses(l.program.Source.RHS) {
		_, temporary := l.spaces[a.Tensor]
		first := a.Tensor.Order() > 1 && a.Vars[a.Tensor.Format.ModeOrder[0]] == v
		if !first || temporary || a.Windowed() || !slices.Contains(l.program.Team.Weighed, a.Tensor) {
			continue
		}
		// Coordinates are positions of a dense first level; the positions of one that is walked are what the loop counts.
		full, counted := a.Tensor.Format.Levels[0].Props().Full, a.Tensor.Format.Levels[0].Props().Ordered
		if followed.Access != nil {
			counted = followed.Key == lattice.Key(a, 0)
		}
		if len(walked) == 0 && full && counted || len(walked) == 1 && walked[0].Key == lattice.Key(a, 0) && !full {
			below = append(below, a)
		}
	}
	if len(below) == 0 {
		return nil
	}
	return func(at ir.Expr) ir.Expr {
		sum := at
		for _, a := range below {
			sum = ir.Add(sum, l.entriesBefore(a, at))
		}
		return sum
	}
}

// entriesBefore is the number of entries of an uneven access below the positions of its first level before at.
func (l *lowerer) entriesBefore(a *index.Access, at ir.Expr) ir.Expr {
	t := a.Tensor
	for level := 1; level < t.Order(); level++ {
		switch p := t.Format.Levels[level].Props(); {
		case p.Full:
			at = ir.Mul(at, l.modeExtent(a, level))
		case p.HasPos && !p.Padded && !p.RowRelative:
			at = ir.IndexAt(l.slots.storage(t, level, nil).Pos, at)
		default:
			return at
		}
	}
	return at
}

// weighed is one of the parts of equal weight that the iterations of s are cut into.
func (l *lowerer) weighed(s *ir.For, w weight, part *ir.Var, parts ir.Expr) []ir.Stmt {
	name := s.Var.Name
	each := l.Index(name + "_share")
	from := func(n ir.Expr) func(ir.Expr) ir.Expr {
		return func(at ir.Expr) ir.Expr { return ir.Is(w(at), ir.Lt, ir.Mul(n, each)) }
	}
	stmts, begin := l.search(name+"_begin", s.Lo, s.Hi, from(part))
	last, end := l.search(name+"_end", begin, s.Hi, from(ir.Next(part)))
	mine := *s
	mine.Kind, mine.Chunk, mine.Lo, mine.Hi = ir.Serial, nil, begin, end
	return slices.Concat([]ir.Stmt{ir.Let(each, ceilDiv(w(s.Hi), parts))}, stmts, last, []ir.Stmt{&mine})
}

// balanced is a region whose shared loop is divided by weight; a loop too short for a team is one part.
func (l *lowerer) balanced(stmts []ir.Stmt, w weight) []ir.Stmt {
	parts := l.Index("parts")
	many := ir.Mul(l.slots.threads, ir.Const(chunks))
	before := []ir.Stmt{ir.Let(parts, &ir.Select{Cond: l.enough(), Then: many, Else: ir.Const(1)})}
	for i, s := range stmts {
		if shared(s) {
			part := l.Index("part")
			stmts[i] = &ir.For{
				Var: part, Lo: ir.Const(0), Hi: parts, Step: 1, Kind: ir.Shared, Chunk: ir.Const(1),
				Body: ir.Do(l.weighed(s.(*ir.For), w, part, parts)...),
			}
		}
	}
	team := &ir.Parallel{Threads: l.slots.threads, Cond: ir.Is(parts, ir.Gt, ir.Const(1)), Body: ir.Do(stmts...)}
	return append(before, team)
}
