package asymptotic

import "slices"

// TACO's subset of the programs, as the paper restricts them: at most one where, counting the workspace through which
// entries of the result are inserted; workspaces of at most one mode, which are located in unless they are read alone;
// sparse operands with all modes stepped over, or the one that is looped over first located in.

// writes reports whether TACO can write the result in a nest of loops in this order, beside that many wheres. The
// modes from the first one on that isn't at its place in the nest are inserted; TACO inserts in the last one only.
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

// reads is the sets of variables that TACO may step over in a read, in a nest of loops in this order.
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
