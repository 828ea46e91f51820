package asymptotic

import "slices"

// The programs that TACO can compile, by the paper's restrictions: at most one where, counting the workspace through which entries of
// the result are inserted. Workspaces have at most one mode, and are located in unless nothing else is read. All modes of a
// sparse operand are stepped over, but the mode of the outermost loop may be located in.

// writes reports whether TACO can write the result in a nest with this loop order and number of wheres. Leading modes are appended to
// as long as they are in the order of the loops, the others are inserted into; TACO inserts into the last mode only.
func (p *problem) writes(order []uint8, wheres int) bool {
	if !p.result.sparse {
		return true
	}
	stored, appended := size(p.result.vars), 0
	for _, v := range order {
		if !p.result.vars.has(v) {
			break
		}
		appended++
	}
	inserted := stored - appended
	return inserted == 0 || inserted == 1 && wheres == 0
}

// reads lists the sets of variables that TACO may step over in a read, in a nest with this loop order.
func (p *problem) reads(vars varset, workspace, alone bool, order []uint8) []varset {
	if workspace && !alone {
		return []varset{0}
	}
	if workspace || vars == 0 {
		return []varset{vars}
	}
	first := order[slices.IndexFunc(order, vars.has)]
	return []varset{vars, vars &^ (1 << first)}
}

// wheres counts the wheres of a grouping.
func (g *grouping) wheres() int {
	if g.producer == nil {
		return 0
	}
	return 1 + g.consumer.wheres() + g.producer.wheres()
}
