package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Threads divide the rows of a sparse operand by the entries in them: a power law puts most entries into few rows. Where a
// block of rows begins is searched in the positions that the operand has anyway, so that no statistics are needed, and
// the same kernel serves even rows and skewed ones.

// weight is how much work the iterations of a loop before a given one are.
type weight func(at ir.Expr) ir.Expr

// weigh finds the weight of the iterations of the shared loop of f: one for each, and one for each entry below them. It is nil
// where nothing says that iterations differ.
func (l *lowerer) weigh(f *cin.Forall, e env) weight {
	v := l.program.Original(f.Var)
	if _, windowed := e.span.lookup(v); windowed || l.program.Derivation(v) != nil {
		return nil
	}
	original := *f
	original.Var = v
	followed, _ := l.inStoredOrder(&original, e)
	walked := l.lattices.Loop(f).Iterators()
	var below []*index.Access
	for _, a := range index.Accesses(l.program.Source.RHS) {
		first := l.format(a.Tensor).Order() > 1 && a.Vars[l.format(a.Tensor).ModeOrder[0]] == v
		owner := l.program.Source.Owner(a.Tensor)
		again := slices.ContainsFunc(below, func(b *index.Access) bool { return l.program.Source.Owner(b.Tensor) == owner })
		if first && !again && !a.Windowed() && slices.Contains(l.program.Team.Balanced, owner) && l.countsRows(a, walked, followed.Key) {
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

// countsRows reports whether a loop counts the positions of the first level of a: its coordinates where that is dense, or what
// is walked or followed.
func (l *lowerer) countsRows(a *index.Access, walked []lattice.Iterator, followed string) bool {
	key, p := l.key(a, 0), l.format(a.Tensor).Levels[0].Props()
	if len(walked) == 1 {
		return walked[0].Key == key && !p.Full
	}
	return len(walked) == 0 && p.Full && (followed == "" && p.Ordered || followed == key)
}

// entriesBefore is the number of entries of an uneven access below the positions of its first level before at.
func (l *lowerer) entriesBefore(a *index.Access, at ir.Expr) ir.Expr {
	t := a.Tensor
	for level := 1; level < l.format(t).Order(); level++ {
		switch p := l.format(t).Levels[level].Props(); {
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

// inParts lowers the loop f with its iterations cut into parts, which the threads of a team divide. Each part runs before and
// after around its iterations.
func (l *lowerer) inParts(f *cin.Forall, e env, part *ir.Var, parts ir.Expr, before, after []ir.Stmt) []ir.Stmt {
	around := func(body []ir.Stmt) []ir.Stmt { return slices.Concat(before, body, after) }
	stmts := l.privately(f, e)
	at := slices.IndexFunc(stmts, shared)
	if at < 0 { // nothing is left to be divided
		return []ir.Stmt{shareEach(ir.Count(part, ir.Const(1), around(stmts)...))}
	}
	stmts[at] = shareEach(ir.Count(part, parts, around(l.cut(stmts[at].(*ir.For), l.weigh(f, e), part, parts))...))
	return stmts
}

// cut is one of the parts that the iterations of a loop are cut into, neighbouring ones in each: parts of equal weight, if
// they have any.
func (l *lowerer) cut(s *ir.For, w weight, part *ir.Var, parts ir.Expr) []ir.Stmt {
	mine, share := *s, l.Index(s.Var.Name+"_share")
	mine.Kind, mine.Chunk = ir.Serial, nil
	if w == nil {
		trips := ceilDiv(ir.Sub(s.Hi, s.Lo), ir.Const(s.Step))
		mine.Lo = shift(ir.Mul(ir.Mul(part, share), ir.Const(s.Step)), s.Lo)
		mine.Hi = ir.Min(s.Hi, ir.Add(mine.Lo, ir.Mul(share, ir.Const(s.Step))))
		return []ir.Stmt{ir.Let(share, ceilDiv(trips, parts)), &mine}
	}
	from := func(n ir.Expr) func(ir.Expr) ir.Expr {
		return func(at ir.Expr) ir.Expr { return ir.Is(w(at), ir.Lt, ir.Mul(n, share)) }
	}
	first, begin := l.search(s.Var.Name+"_begin", s.Lo, s.Hi, from(part))
	last, end := l.search(s.Var.Name+"_end", begin, s.Hi, from(ir.Next(part)))
	mine.Lo, mine.Hi = begin, end
	return slices.Concat([]ir.Stmt{ir.Let(share, ceilDiv(w(s.Hi), parts))}, first, last, []ir.Stmt{&mine})
}

// balanced is a region whose shared loop is divided by weight; one thread takes it as one part, and so does any number where it is too
// short for a team. A team has chunks parts for each thread, or fewer where these would be so short that taking one costs as much as it saves.
func (l *lowerer) balanced(f *cin.Forall, e env) []ir.Stmt {
	parts := l.Index("parts")
	long := max(l.program.Team.Grain/leastShare, 1)
	many := ir.Max(l.slots.threads, ir.Min(ir.Mul(l.slots.threads, ir.Const(chunks)), ir.Div(l.work(), ir.Const(long))))
	several := ir.All(l.enough(), ir.Is(l.slots.threads, ir.Gt, ir.Const(1)))
	return []ir.Stmt{
		ir.Let(parts, &ir.Select{Cond: several, Then: many, Else: ir.Const(1)}),
		l.several(parts, l.inParts(f, e, l.Index("part"), parts, nil, nil)...),
	}
}
