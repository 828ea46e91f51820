package lower

import (
	"fmt"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// lengths completes the slots of the result's arrays by their lengths: expressions over extents, counts, and where the result shares
// levels of an operand, the operand's arrays.
func (l *lowerer) lengths() {
	t := l.program.Source.LHS.Tensor
	for i, slot := range l.slots.layout {
		if slot.Operand != Result || l.slots.slots[i].Array == nil {
			continue
		}
		var length ir.Expr
		switch slot.Kind {
		case "pos":
			parents := l.resultPositions(t, slot.Level-1)
			length = t.Format.Levels[slot.Level].PosLen(l.resultStorage(t, slot.Level), parents)
		case "crd":
			if p := t.Format.Levels[slot.Level].Props(); p.ConversionOnly && !p.Locate {
				length = l.slots.counts[slot.Level]
			} else {
				length = l.resultPositions(t, slot.Level)
			}
		case "vals":
			length = l.resultPositions(t, t.Order()-1)
		default: // starts
			continue
		}
		l.slots.layout[i].length = length
		l.slots.layout[i].Length = ir.Formula(l.slots.numbered(length))
	}
}

// resultStorage is the extents that the length of a level's pos depends on.
func (l *lowerer) resultStorage(t *index.Tensor, level int) format.Storage {
	s := format.Storage{Extent: l.extentOfMode(t, level), Rows: ir.Const(1)}
	if level > 0 {
		s.Rows = l.extentOfMode(t, level-1)
	}
	return s
}

// resultPositions is the number of positions of a level of the result, once the first phase has counted its entries.
func (l *lowerer) resultPositions(t *index.Tensor, level int) ir.Expr {
	if t.SamePattern != nil {
		return l.positions(t, level)
	}
	n := ir.Expr(ir.Const(1))
	if first := l.slots.first; first > 0 { // the levels above are those of the operand
		n = l.positions(l.program.Source.Tensors()[0], first-1)
	}
	for i := l.slots.first; i <= level; i++ {
		kind := t.Format.Levels[i]
		layouter, fixed := kind.(format.Layouter)
		switch {
		case kind.Props().Locate:
			n = ir.Mul(n, l.extentOfMode(t, i))
		case fixed:
			n = layouter.Positions(l.slots.counts[i], n)
		default:
			n = l.slots.counts[i]
		}
	}
	return n
}

// numbered is e with variables and arrays named by their slots: slot0, slot1 and so on.
func (s *slots) numbered(e ir.Expr) ir.Expr {
	name := func(is func(ir.Slot) bool) string {
		for i, slot := range s.slots {
			if is(slot) {
				return fmt.Sprintf("slot%d", i)
			}
		}
		panic("BUG: a length depends on what is no slot")
	}
	return ir.MapExpr(e, func(e ir.Expr) ir.Expr {
		switch e := e.(type) {
		case *ir.Var:
			return &ir.Var{Name: name(func(slot ir.Slot) bool { return slot.Var == e }), T: e.T}
		case *ir.Load:
			return &ir.Load{Array: &ir.Array{Name: name(func(slot ir.Slot) bool { return slot.Array == e.Array }), Elem: e.Array.Elem}, Index: e.Index}
		default:
			return e
		}
	})
}
