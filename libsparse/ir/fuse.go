package ir

import "slices"

// Fuse is two lists of statements as one whose only serial loops, if they run over the same values and what is in them does not depend on what
// stands behind, are one loop: constants of both bodies first, so that what they have in common is loaded once. ok is false elsewhere.
//
// The lists are those of two strips, which write to arrays of their own or to other elements of one that neither reads.
func Fuse(a, b []Stmt) (both []Stmt, ok bool) {
	a, b = flat(a), flat(b)
	at, bt := onlyLoop(a), onlyLoop(b)
	if at < 0 || bt < 0 {
		return nil, false
	}
	x, y := a[at].(*For), b[bt].(*For)
	if x.Step != y.Step || x.Unroll != y.Unroll || ExprText(x.Lo) != ExprText(y.Lo) || ExprText(x.Hi) != ExprText(y.Hi) {
		return nil, false
	}
	one := *x
	renamed := substitute(y.Body, y.Var, x.Var)
	head, rest := constantsFirst(flat(x.Body.Stmts))
	headOfOther, restOfOther := constantsFirst(flat(renamed.Stmts))
	headOfOther, restOfOther = without(head, headOfOther, restOfOther)
	one.Body = Do(slices.Concat(head, headOfOther, rest, restOfOther)...)
	return slices.Concat(a[:at], b[:bt], []Stmt{&one}, a[at+1:], b[bt+1:]), true
}

// flat is statements without the blocks around some of them.
func flat(stmts []Stmt) (out []Stmt) {
	for _, s := range stmts {
		if block, ok := s.(*Block); ok {
			out = append(out, flat(block.Stmts)...)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// onlyLoop is the place of the serial loop among statements, -1 where there are none or several.
func onlyLoop(stmts []Stmt) int {
	place := -1
	for n, s := range stmts {
		if f, ok := s.(*For); ok && f.Kind == Serial {
			if place >= 0 {
				return -1
			}
			place = n
		}
	}
	return place
}

// constantsFirst divides statements into the constants and prefetches that they begin with, and the rest.
func constantsFirst(stmts []Stmt) (head, rest []Stmt) {
	for n := range stmts {
		if _, ok := constantsOf(stmts[:n+1]); !ok {
			return stmts[:n], stmts[n:]
		}
	}
	return stmts, nil
}

// without is constants and the statements behind them, without the constants that are known under other names.
func without(known, constants, stmts []Stmt) (left, behind []Stmt) {
	names := map[string]*Var{}
	for _, s := range known {
		if d, ok := s.(*Decl); ok {
			names[ExprText(d.Init)] = d.Var
		}
	}
	for n, s := range constants {
		d, ok := s.(*Decl)
		if !ok || names[ExprText(d.Init)] == nil {
			left = append(left, s)
			continue
		}
		others := substitute(Do(slices.Concat(constants[n+1:], stmts)...), d.Var, names[ExprText(d.Init)]).Stmts
		more, behind := without(known, others[:len(constants)-n-1], others[len(constants)-n-1:])
		return append(left, more...), behind
	}
	return left, stmts
}
