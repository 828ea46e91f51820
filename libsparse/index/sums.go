package index

import (
	"slices"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// verifySums checks that each sum(...) has an index to sum over. It sums over the indices that nothing else has, so that
// y(i,j) = A(i,j) / sum(A(i,j)) would divide each element by itself, where the sum of a row is meant: that needs a name of its own.
func (a *Assignment) verifySums() error {
	sum := idleSum(a.RHS, a.LHS.Vars, a.Reduce == dtype.Add || a.Reduce == "")
	if sum == nil {
		return nil
	}
	var left, shared []Var
	var names []string
	for _, v := range Uses(sum) {
		place := " on the left side"
		if slices.Contains(a.LHS.Vars, v) {
			left = append(left, v)
		} else {
			shared, place = append(shared, v), " in another factor or argument"
		}
		names = append(names, `"`+string(v)+`"`+place)
	}
	if len(shared) == 0 {
		left = left[:len(left)-1]
	}
	t := &Access{Tensor: NewTemporary(Names([]*Assignment{a}), a), Vars: left}
	return diag.Errorf(diag.Unsupported, "a sum(...) sums over no index: it takes those that nothing else has, and there is %s; "+
		"assign its argument to a name first, with the indices that the sum keeps, as in %s = ..., and write %[2]s for the sum",
		strings.Join(names, ", "), t)
}

// idleSum finds a sum(...) in e that has indices and sums over none of them. kept are the variables that are used outside e; apart says
// that the additive terms of e are summed each by itself, as in splitter.rewrite.
func idleSum(e Expr, kept []Var, apart bool) *Call {
	c, ok := e.(*Call)
	if !ok {
		return nil
	}
	sum := c.Op == dtype.Sum && c.Function == nil
	if used := Uses(c); sum && len(used) > 0 && !slices.ContainsFunc(used, func(v Var) bool { return !slices.Contains(kept, v) }) {
		return c
	}
	for i, arg := range c.Args {
		others, terms := kept, sum || apart && c.additive()
		if !terms {
			others = slices.Concat(kept, besides(c, i))
			terms = apart && c.distributes() && (c.Op != dtype.Div || i == 0)
		}
		if idle := idleSum(arg, others, terms); idle != nil {
			return idle
		}
	}
	return nil
}
