package lower

import (
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// prefetch is the statements by which the loop of f over the positions p of an iterator, up to end, asks for what its body will read by the
// coordinate v some iterations later, which may be those of a later segment: those before the loop, and those in it. How far ahead that is
// follows from the end, so that the loop itself needn't look whether there are so many positions (measured: a comparison for each entry of
// tolokers_adj and rows of 256 columns takes 14 % of a product's time). The distance is shorter in the last segments, and 0 in the last of
// all: a matrix with most of its entries in the last row gains nothing.
func (l *lowerer) prefetch(f *cin.Forall, it lattice.Iterator, p, v *ir.Var, end ir.Expr, body []ir.Stmt, e env) (before, out []ir.Stmt) {
	_, workspace := l.program.Workspaces[it.Access.Tensor]
	if f.Prefetch == 0 || workspace || !gapless(it) && !it.Props().Branchless {
		return nil, nil
	}
	rows := gathered(body, v)
	if len(rows) == 0 {
		return nil, nil
	}
	ahead, coordinate := l.Index(p.Name+"_ahead"), l.Index(v.Name+"_ahead")
	left := ir.Sub(l.positions(it.Access.Tensor, it.Level), end)
	before = []ir.Stmt{ir.Let(ahead, ir.Min(ir.Const(f.Prefetch), left))}
	out = []ir.Stmt{ir.Let(coordinate, l.coordinate(it, ir.Add(p, ahead), e))}
	for _, row := range rows {
		row.Index = ir.MapExpr(row.Index, func(x ir.Expr) ir.Expr {
			if w, ok := x.(*ir.Var); ok && w.Name == v.Name {
				return coordinate
			}
			return x
		})
		if f.Begins {
			out = append(out, begin(row)...)
		} else {
			out = append(out, row)
		}
	}
	return before, out
}

// begin asks for each line of the first quarter of a row, behind which a processor that foresees streams reads on (measured: of Sapphire Rapids' hints
// for rows of 256 to 1,024 bytes, these take 0.93 to 0.97 of the time of one for every second line of the whole).
func begin(row *ir.Prefetch) (lines []ir.Stmt) {
	const line, part = 64, 4
	for at := int64(0); at < max(1, row.Count/part); at += int64(line / row.Array.Elem.Size()) {
		lines = append(lines, &ir.Prefetch{Array: row.Array, Index: ir.Add(row.Index, ir.Const(at)), Count: 1})
	}
	return lines
}

// gathered is what statements read by the coordinate v: of each array the first place, with the innermost loop at its begin. Places that depend on
// other variables of the statements are left out.
func gathered(body []ir.Stmt, v *ir.Var) (rows []*ir.Prefetch) {
	inner := map[string]*ir.For{}
	local := map[string]bool{}
	read := func(load *ir.Load) {
		if slices.ContainsFunc(rows, func(r *ir.Prefetch) bool { return r.Array == load.Array }) {
			return
		}
		if row := rowOf(load, v, inner, local); row != nil {
			rows = append(rows, row)
		}
	}
	ir.EachStmt(ir.Do(body...), func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.For:
			inner[s.Var.Name] = s
		case *ir.Decl:
			local[s.Var.Name] = s.Var.Name != v.Name
		}
		if s, ok := s.(*ir.Store); ok && s.Reduce != "" {
			read(&ir.Load{Array: s.Array, Index: s.Index})
		}
		for _, x := range ir.Exprs(s) {
			ir.EachExpr(x, func(x ir.Expr) {
				if load, ok := x.(*ir.Load); ok {
					read(load)
				}
			})
		}
	})
	return rows
}

// rowOf is what a load reads by v in all iterations of the loop inside, nil where it doesn't depend on v or on more than that loop.
func rowOf(load *ir.Load, v *ir.Var, inner map[string]*ir.For, local map[string]bool) *ir.Prefetch {
	row := &ir.Prefetch{Array: load.Array, Count: 1}
	byCoordinate, plain := false, true
	row.Index = ir.MapExpr(load.Index, func(x ir.Expr) ir.Expr {
		switch x := x.(type) {
		case *ir.Load:
			plain = false
		case *ir.Var:
			byCoordinate = byCoordinate || x.Name == v.Name
			plain = plain && !local[x.Name]
			if loop := inner[x.Name]; loop != nil {
				hi, literal := loop.Hi.(*ir.Int)
				plain = plain && literal && row.Count == 1
				if literal {
					row.Count = max(1, hi.Value)
				}
				return loop.Lo
			}
		}
		return x
	})
	if !byCoordinate || !plain {
		return nil
	}
	return row
}
