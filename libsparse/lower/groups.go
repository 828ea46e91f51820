package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Rows in groups: formats such as SELL and ELL have the places of neighbouring rows side by side, and BSR has blocks of several rows. A loop over
// these rows that is unrolled visits groups of as many, whose iterations may run in lanes (ir.Across) or at once (ir.Together).

// group is the number of the groups in which the loop of f visits rows, known in the env that is returned; nil where no operand has any.
// followed is the key of the level whose order the loop follows, empty where it counts.
func (l *lowerer) group(f *cin.Forall, followed string, e env) (*ir.Var, env) {
	_, windowed := e.span.lookup(f.Var)
	if f.Unroll < 2 || windowed || f.Unit == cin.Lanes || f.Order != nil || l.program.Derivation(f.Var) != nil {
		return nil, e
	}
	for _, a := range index.Accesses(cin.Value(f.Body)) {
		size, ok := l.groupSize(a, f, followed)
		if !ok {
			continue
		}
		group := l.Index(string(f.Var) + "_group")
		number := ir.Expr(group)
		if size > f.Unroll {
			number = ir.Div(group, ir.Const(size/f.Unroll))
		}
		e.groups = e.groups.with(l.key(a, 0), number)
		return group, e
	}
	return nil, e
}

// groupSize is how many rows of an access have their places side by side or share blocks, where the loop of f can visit them in groups.
func (l *lowerer) groupSize(a *index.Access, f *cin.Forall, followed string) (size int64, ok bool) {
	stored := l.format(a.Tensor)
	if stored.Order() < 2 || a.Windowed() || a.Vars[stored.ModeOrder[0]] != f.Var {
		return 0, false
	}
	rows := stored.Levels[0].Props()
	switch below := stored.Levels[1].(type) {
	case format.Grouped:
		size = below.Group()
	case format.Blocks:
		size, _ = below.Block()
	default:
		return 0, false
	}
	if !rows.Full || (followed == "") != rows.Ordered || (followed != "" && followed != l.key(a, 0)) {
		return 0, false
	}
	return size, size%f.Unroll == 0
}

// inGroups is the loop over rows that ends stmts as one over groups around one over the rows of a group.
func (l *lowerer) inGroups(f *cin.Forall, group *ir.Var, stmts []ir.Stmt) []ir.Stmt {
	if len(stmts) == 0 {
		return nil
	}
	last := len(stmts) - 1
	rows := *stmts[last].(*ir.For)
	n, size := rows.Hi, ir.Const(f.Unroll)
	groups := ir.Loop(group, ir.Const(0), ceilDiv(n, size), &rows)
	groups.Kind, groups.Chunk = rows.Kind, l.chunk(rows.Kind, groups.Hi)
	rows.Lo = ir.Mul(group, size)
	rows.Hi, rows.Kind, rows.Chunk = ir.Min(n, ir.Add(rows.Lo, size)), ir.Simd, nil
	return append(stmts[:last:last], groups)
}
