package lower

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// guards make a kernel refuse extents that it was not compiled for.
func (l *lowerer) guards() []ir.Stmt {
	var out []ir.Stmt
	refuse := func(cond ir.Expr) {
		out = append(out, ir.When(cond, &ir.Return{Value: ir.Const(WrongSize)}))
	}
	for _, v := range l.program.Source.Vars() {
		n, bounded := l.program.Bounds[v]
		if bounded && n.Least == n.Most {
			refuse(ir.Is(l.slots.extents[v], ir.Ne, ir.Const(n.Least)))
			continue
		}
		if bounded && n.Least > 0 {
			refuse(ir.Is(l.slots.extents[v], ir.Lt, ir.Const(n.Least)))
		}
		if bounded {
			refuse(ir.Is(l.slots.extents[v], ir.Gt, ir.Const(n.Most)))
		}
	}
	for _, r := range l.program.Relations {
		if s, ok := r.(*cin.Split); ok && s.Tail > 0 {
			n := l.extent(s.Parent)
			switch known, ok := n.(*ir.Int); {
			case s.Joined:
				refuse(ir.Is(n, ir.Le, ir.Const(s.Factor)))
				refuse(ir.Is(n, ir.Gt, ir.Const(s.Factor+s.Tail)))
			case !ok || known.Value < s.Tail:
				refuse(ir.Is(n, ir.Lt, ir.Const(s.Tail)))
			}
		}
	}
	l.guardWindows(refuse)
	for _, counts := range l.products() {
		for _, cond := range l.overflows(counts) {
			refuse(cond)
		}
	}
	return out
}

// products lists the numbers that the kernel multiplies: the extents of fused variables that are counted through, and
// those of workspaces with a place for each element.
func (l *lowerer) products() (out [][]ir.Expr) {
	for _, r := range l.program.Relations {
		if f, ok := r.(*cin.Fuse); ok && !l.byPosition(f.Fused) {
			var counts []ir.Expr
			for _, v := range l.program.Roots(f.Fused) {
				counts = append(counts, l.extent(v))
			}
			out = append(out, counts)
		}
	}
	byName := func(a, b *index.Tensor) int { return cmp.Compare(a.Name, b.Name) }
	for _, t := range slices.SortedFunc(maps.Keys(l.program.Workspaces), byName) {
		if sized := workspaces[l.program.Workspaces[t]].sized; sized != nil && sized(l.format(t).Order()) {
			counts := []ir.Expr{ir.Const(int64(max(t.Elem.Size(), dtype.I64.Size())))} // a row lists places besides
			for _, v := range l.held(t) {
				counts = append(counts, l.count(v))
			}
			out = append(out, counts)
		}
	}
	return out
}

// byPosition reports whether a fused variable visits stored coordinates only, by their positions.
func (l *lowerer) byPosition(fused index.Var) bool {
	return slices.ContainsFunc(l.program.Relations, func(r cin.Relation) bool {
		p, ok := r.(*cin.Positions)
		return ok && p.Parent == fused
	})
}

// overflows lists the conditions, to be asked one after the other, under which a product is no 64-bit integer.
func (l *lowerer) overflows(counts []ir.Expr) (out []ir.Expr) {
	product := counts[0]
	for _, n := range counts[1:] {
		if x, y, ok := constants(product, n); ok && max(x, y) < 1<<31 {
			product = ir.Const(x * y)
			continue
		}
		out = append(out, ir.Is(product, ir.Gt, ir.Div(ir.Const(math.MaxInt64), ir.AtLeastOne(n))))
		product = ir.Mul(product, n)
	}
	return out
}
