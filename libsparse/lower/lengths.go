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
	numbers := map[string]string{}
	for i, slot := range l.slots.slots {
		numbers[slot.Name()] = fmt.Sprintf("slot%d", i)
	}
	for i, slot := range l.slots.layout {
		if slot.Operand != Result || l.slots.slots[i].Array == nil {
			continue
		}
		var length ir.Expr
		switch slot.Kind {
		case "pos":
			parents := l.resultPositions(t, slot.Level-1)
			length = l.format(t).Levels[slot.Level].PosLen(l.stored(t, slot.Level), parents)
		case "crd":
			if p := l.format(t).Levels[slot.Level].Props(); p.ConversionOnly && !p.Locate {
				length = l.slots.counts[slot.Level]
			} else {
				length = l.resultPositions(t, slot.Level)
			}
		case "vals", "code":
			length = l.resultPositions(t, l.format(t).Order()-1)
		case "room_crd", "room_vals":
			length = l.slots.bound
		default: // starts and filled
			continue
		}
		l.slots.layout[i].length = length
		l.slots.layout[i].Length = ir.Formula(length, numbers)
	}
}

// resultPositions is the number of positions of a level of the result, once the first phase has counted its entries.
func (l *lowerer) resultPositions(t *index.Tensor, level int) ir.Expr {
	if l.of(t).SamePattern != nil {
		return l.positions(t, level)
	}
	n := ir.Expr(ir.Const(1))
	if first := l.slots.first; first > 0 { // the levels above are those of the operand
		n = l.positions(l.program.Source.Tensors()[0], first-1)
	}
	first := l.slots.first
	if level >= first {
		if kind, ok := l.format(t).Levels[first].(format.Layouter); ok && !l.format(t).Levels[first].Props().Locate {
			n, first = kind.Positions(l.slots.counts[first], n), first+1
		}
	}
	return l.positionsBelow(t, first, level, n)
}
