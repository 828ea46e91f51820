package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// How many values derived variables have.

// spaceOf enters the values that v takes here into e.space; variables of the source take all of theirs.
func (l *lowerer) spaceOf(v index.Var, e *env) (pre []ir.Stmt) {
	if _, ok := e.space[v]; ok {
		return nil
	}
	switch r := l.program.Derivation(v).(type) {
	case *cin.Split:
		if v == r.Inner && r.Parts == 0 { // where a workspace is read, the parent's values may be unknown
			e.space[v] = span{start: integer(0), count: integer(r.Factor)}
			return nil
		}
		pre = l.spaceOf(r.Parent, e)
		n, width := l.window(r.Parent, *e).count, l.widthOf(r, *e)
		switch {
		case v == r.Inner:
			e.space[v] = span{start: integer(0), count: width}
		case r.Parts > 0:
			e.space[v] = span{start: integer(0), count: integer(r.Parts)}
		default:
			e.space[v] = span{start: integer(0), count: ceilDiv(n, width)}
		}
	case *cin.Fuse:
		pre = append(l.spaceOf(r.Outer, e), l.spaceOf(r.Inner, e)...)
		e.space[v] = span{start: integer(0), count: binary(dtype.Mul, l.window(r.Outer, *e).count, l.window(r.Inner, *e).count)}
	case *cin.Positions:
		var all format.Range
		pre, all = l.positionsBelow(r, e)
		begin := &ir.Var{Name: l.names.fresh(string(v) + "_begin"), T: ir.Index}
		count := &ir.Var{Name: l.names.fresh(string(v) + "_count"), T: ir.Index}
		pre = append(pre, constant(begin, all.Lo), constant(count, binary(dtype.Sub, all.Hi, begin)))
		e.space[v] = span{start: begin, count: count}
	case *cin.Rename:
		pre = l.spaceOf(r.Of, e)
		e.space[v] = l.window(r.Of, *e)
	}
	return pre
}

// widthOf is the width of the strips of s, whose parent's values are known.
func (l *lowerer) widthOf(s *cin.Split, e env) ir.Expr {
	if s.Parts > 0 {
		return ceilDiv(l.window(s.Parent, e).count, integer(s.Parts))
	}
	return integer(s.Factor)
}

// stripOf narrows the values of the parent of s to the strip whose number is known, and in it to those of the inner half
// that are visited. It completes the last link of e.chain.
func (l *lowerer) stripOf(s *cin.Split, e *env) []ir.Stmt {
	pre := l.spaceOf(s.Parent, e)
	parent, width := l.window(s.Parent, *e), l.widthOf(s, *e)
	done := binary(dtype.Mul, e.coord[s.Outer], width)
	base := plusZero(parent.start, done)
	strip := span{start: base, count: width}
	if r, ok := e.space[s.Inner]; ok {
		strip, done = span{start: plusAny(base, r.start), count: r.count}, plusAny(done, r.start)
	}
	if !exact(s, width, parent.count) {
		strip.count = binary(dtype.Min, strip.count, binary(dtype.Sub, parent.count, done))
	}
	e.space[s.Parent] = strip
	if n := len(e.chain); n > 0 {
		e.chain[n-1].base = base
	}
	return pre
}

// count is how many values v has at most, where a workspace is kept for each.
func (l *lowerer) count(v index.Var) ir.Expr {
	v = l.program.Original(v)
	s, ok := l.program.Derivation(v).(*cin.Split)
	switch {
	case !ok:
		return l.extent(v)
	case v == s.Outer && s.Parts > 0:
		return integer(s.Parts)
	case v == s.Outer:
		return ceilDiv(l.count(s.Parent), integer(s.Factor))
	case s.Parts > 0:
		return ceilDiv(l.count(s.Parent), integer(s.Parts))
	default:
		return integer(s.Factor)
	}
}

// exact reports whether n values are known to fill every strip of s.
func exact(s *cin.Split, width, n ir.Expr) bool {
	w, ok := width.(*ir.Int)
	total, okTotal := n.(*ir.Int)
	if !ok || !okTotal || w.Value == 0 {
		return false
	}
	return total.Value%w.Value == 0 && (s.Parts == 0 || s.Parts*w.Value == total.Value)
}

// ceilDiv is n / by rounded up.
func ceilDiv(n, by ir.Expr) ir.Expr {
	x, ok := n.(*ir.Int)
	d, okBy := by.(*ir.Int)
	if ok && okBy {
		return integer((x.Value + d.Value - 1) / d.Value)
	}
	return binary(dtype.Div, plus(n, binary(dtype.Sub, by, integer(1))), by)
}

// plusZero is x + y without a zero.
func plusZero(x, y ir.Expr) ir.Expr {
	if n, ok := x.(*ir.Int); ok && n.Value == 0 {
		return y
	}
	return plus(x, y)
}

// plusAny is x + y without a zero on either side.
func plusAny(x, y ir.Expr) ir.Expr {
	if n, ok := y.(*ir.Int); ok && n.Value == 0 {
		return x
	}
	return plusZero(x, y)
}

// minusAny is x - y without a zero y.
func minusAny(x, y ir.Expr) ir.Expr {
	if n, ok := y.(*ir.Int); ok && n.Value == 0 {
		return x
	}
	return binary(dtype.Sub, x, y)
}

// remainder is x modulo n, given the quotient.
func remainder(x, quotient, n ir.Expr) ir.Expr {
	return binary(dtype.Sub, x, binary(dtype.Mul, quotient, n))
}
