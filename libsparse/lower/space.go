package lower

import (
	"cmp"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// How many values derived variables have.

// spanOf narrows e to the values that v takes here; variables of the source take all of theirs.
func (l *lowerer) spanOf(v index.Var, e *env) (pre []ir.Stmt) {
	if _, ok := e.span.lookup(v); ok {
		return nil
	}
	switch r := l.program.Derivation(v).(type) {
	case *cin.Split:
		if v == r.Inner && r.Parts == 0 { // where a workspace is read, the parent's values may be unknown
			e.narrow(v, span{start: ir.Const(0), count: ir.Const(r.Factor)})
			return nil
		}
		pre = l.spanOf(r.Parent, e)
		n, width := l.window(r.Parent, *e).count, l.widthOf(r, *e)
		switch {
		case v == r.Inner:
			e.narrow(v, span{start: ir.Const(0), count: width})
		case r.Parts > 0:
			e.narrow(v, span{start: ir.Const(0), count: ir.Const(r.Parts)})
		default:
			e.narrow(v, span{start: ir.Const(0), count: ceilDiv(n, width)})
		}
	case *cin.Fuse:
		pre = append(l.spanOf(r.Outer, e), l.spanOf(r.Inner, e)...)
		e.narrow(v, span{start: ir.Const(0), count: ir.Mul(l.window(r.Outer, *e).count, l.window(r.Inner, *e).count)})
	case *cin.Positions:
		var all format.Range
		pre, all = l.rangeOf(r, e)
		begin, count := l.Index(string(v)+"_begin"), l.Index(string(v)+"_count")
		pre = append(pre, ir.Let(begin, all.Lo), ir.Let(count, ir.Sub(all.Hi, begin)))
		e.narrow(v, span{start: begin, count: count})
	case *cin.Rename:
		pre = l.spanOf(r.Of, e)
		e.narrow(v, l.window(r.Of, *e))
	}
	return pre
}

// widthOf is the width of the strips of s, whose parent's values are known.
func (l *lowerer) widthOf(s *cin.Split, e env) ir.Expr {
	if s.Parts > 0 {
		return ceilDiv(l.window(s.Parent, e).count, ir.Const(s.Parts))
	}
	return ir.Const(s.Factor)
}

// stripOf narrows the values of the parent of s to the strip whose number is known, and in it to those of the inner half
// that are visited. It completes the last link of e.chain.
func (l *lowerer) stripOf(s *cin.Split, e *env) []ir.Stmt {
	pre := l.spanOf(s.Parent, e)
	parent, width := l.window(s.Parent, *e), l.widthOf(s, *e)
	done := ir.Mul(e.coord.get(s.Outer), width)
	base := shift(done, parent.start)
	strip := span{start: base, count: width}
	if r, ok := e.span.lookup(s.Inner); ok {
		strip, done = span{start: shift(r.start, base), count: r.count}, shift(r.start, done)
	}
	if !exact(s, width, parent.count) {
		strip.count = ir.Min(strip.count, ir.Sub(parent.count, done))
	}
	e.narrow(s.Parent, strip)
	if n := len(e.chain); n > 0 {
		e.chain[n-1].base = base
	}
	return pre
}

// count is how many values v has at most, where a workspace is kept for each.
func (l *lowerer) count(v index.Var) ir.Expr {
	v = l.program.Original(v)
	s, ok := l.program.Derivation(v).(*cin.Split)
	if !ok {
		return l.extent(v)
	}
	given := ir.Const(cmp.Or(s.Parts, s.Factor)) // the count of one half: of the outer one where it is the number of parts
	if (v == s.Outer) == (s.Parts > 0) {
		return given
	}
	return ceilDiv(l.count(s.Parent), given)
}

// exact reports whether n values are known to fill every strip of s.
func exact(s *cin.Split, width, n ir.Expr) bool {
	w, total, ok := constants(width, n)
	return ok && w != 0 && total%w == 0 && (s.Parts == 0 || s.Parts*w == total)
}

// ceilDiv is n / by rounded up.
func ceilDiv(n, by ir.Expr) ir.Expr {
	return ir.SimplifyExpr(ir.Div(ir.Add(n, ir.Sub(by, ir.Const(1))), by))
}

// shift is by + x.
func shift(x, by ir.Expr) ir.Expr { return ir.SimplifyExpr(ir.Add(by, x)) }

func constants(x, y ir.Expr) (a, b int64, ok bool) {
	m, okX := x.(*ir.Int)
	n, okY := y.(*ir.Int)
	if !okX || !okY {
		return 0, 0, false
	}
	return m.Value, n.Value, true
}

func isZero(x ir.Expr) bool {
	n, ok := x.(*ir.Int)
	return ok && n.Value == 0
}
