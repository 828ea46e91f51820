package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// single is the writer of a row that is filled by one segment of terms, whose coordinates ascend: each term is the whole sum of its place, so the
// consumer runs at it, and nothing has to be accumulated, sorted or cleared.
type single struct {
	marked
	consumer cin.Stmt
}

func (w single) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	t := w.tensor.Elem
	sum := l.Scalar(w.tensor.Name+"_sum", t)
	value := ir.Apply(w.op, identity(w.op, t), l.value(a.RHS, t, e)) // so that a zero has the sign that it has elsewhere
	e.views = e.views.with(w.tensor, &view{element: func(*lowerer, *index.Access, env) ir.Expr { return sum }})
	return append([]ir.Stmt{ir.Let(sum, value)}, l.stmt(w.consumer, e)...)
}

// unlessSingle is the code that fills a workspace and reads it, with code beside it for rows of one segment of terms or none, which appends the terms as
// they come: a row of a product of sparse matrices is a multiple of another row where the first operand has one entry in it. Only results that are
// appended to in one pass have such rows.
func (l *lowerer) unlessSingle(s *cin.Where, w workspace, e env, following, filled []ir.Stmt) []ir.Stmt {
	var held marked
	switch w := w.(type) {
	case row:
		held = w.marked
	case adaptive:
		held = w.marked
	default:
		return filled
	}
	f, it := l.segments(s, e)
	if f == nil {
		return filled
	}
	before, r := l.narrowed(it, f.Var, e)
	terms := l.produce(s, single{held, s.Consumer.(*cin.Forall).Body}, e)
	return append(before, &ir.If{
		Cond: ir.Is(ir.Sub(r.Hi, r.Lo), ir.Le, ir.Const(1)),
		Then: ir.Do(append(terms, following...)...),
		Else: ir.Do(filled...),
	})
}

// segments is the loop in the producer of s of which each iteration adds one segment of terms, in order, to a row that is copied to the result; nil
// where there is no such loop. It walks the positions of the iterator.
func (l *lowerer) segments(s *cin.Where, e env) (f *cin.Forall, it lattice.Iterator) {
	if _, ok := l.result.(bounded); !ok || e.phase != computing || !l.isCopied(s) {
		return nil, it
	}
	f, ok := s.Producer.(*cin.Forall)
	if !ok {
		return nil, it
	}
	inner, ok := f.Body.(*cin.Forall)
	if !ok || inner.Var != cin.Written(s.Producer).Vars[0] {
		return nil, it
	}
	if _, ok := inner.Body.(*cin.Assign); !ok {
		return nil, it
	}
	it, segmented := l.segment(f, e)
	_, ascending := l.segment(inner, e)
	if !segmented || !ascending {
		return nil, it
	}
	return f, it
}

// segment is the only level that a serial loop walks, if its coordinates ascend, one at each position.
func (l *lowerer) segment(f *cin.Forall, e env) (it lattice.Iterator, ok bool) {
	lat := l.lattices.Loop(f)
	if f.Unit != cin.Serial || l.program.Derivation(f.Var) != nil || e.coord.get(f.Var) != nil || len(lat.Points) != 1 || len(lat.Iterators()) != 1 || lat.Full() {
		return it, false
	}
	it = lat.Iterators()[0]
	p := it.Props()
	return it, gapless(it) && p.Ordered && p.Unique && p.HasPos
}
