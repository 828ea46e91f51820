package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// A result of half floats is summed in floats. Mostly a workspace does that already. Where the loops reduce into the
// result itself, its sums are kept in an array of their own beside it and rounded once at the end: that is right for
// every result whatever its levels, and only such results pay for it.

// sumsOf is the array for the sums of a result, nil where the loops set its elements once.
func sumsOf(p *cin.Program, b *ir.Builder) *ir.Array {
	t := p.Source.LHS.Tensor
	if !t.Elem.IsHalf() || !reducesInto(p.Body, t) {
		return nil
	}
	return b.Array(t.Name+"_sums", t.Elem.Accum())
}

func reducesInto(s cin.Stmt, t *index.Tensor) bool {
	switch s := s.(type) {
	case *cin.Forall:
		return reducesInto(s.Body, t)
	case *cin.Where:
		return reducesInto(s.Consumer, t) || reducesInto(s.Producer, t)
	case *cin.Assign:
		return s.LHS.Tensor == t && s.Reduce != ""
	default:
		return false
	}
}

// resultVals is the array that the loops write the result's values to.
func (l *lowerer) resultVals() *ir.Array {
	if l.sums != nil {
		return l.sums
	}
	return l.slots.vals(l.program.Source.LHS.Tensor)
}

// put writes one element of the result, or reduces into it.
func (l *lowerer) put(a *cin.Assign, at ir.Expr, e env) ir.Stmt {
	t, vals := a.LHS.Tensor.Elem.Accum(), l.resultVals()
	if own := l.own; own != nil {
		vals, at = own.vals, ir.Add(own.base, at)
	}
	return &ir.Store{
		Array: vals, Index: at, Reduce: scalarOp(a.Reduce, t), Value: ir.Convert(l.value(a.RHS, t, e), vals.Elem),
		Atomic: l.atomic && a.Reduce != "",
	}
}

// frameSums makes the array of sums, and rounds it into the result after the loops.
func (l *lowerer) frameSums() (before, after []ir.Stmt) {
	if l.sums == nil {
		return nil, nil
	}
	t := l.program.Source.LHS.Tensor
	vals := l.slots.vals(t)
	count := l.Index(t.Name + "_size")
	p := l.Index("p")
	round := &ir.Store{Array: vals, Index: p, Value: ir.Convert(ir.At(l.sums, p), vals.Elem)}
	return []ir.Stmt{
		ir.Let(count, l.positions(t, t.Order()-1)),
		&ir.Alloc{Array: l.sums, Size: ir.AtLeastOne(count)},
	}, []ir.Stmt{
		&ir.Parallel{
			Threads: l.slots.threads, Cond: ir.Is(count, ir.Gt, ir.Const(l.program.Team.Grain)),
			Body: ir.Do(&ir.For{Var: p, Lo: ir.Const(0), Hi: count, Step: 1, Kind: ir.Shared, Body: ir.Do(round)}),
		},
		&ir.Free{Array: l.sums},
	}
}
