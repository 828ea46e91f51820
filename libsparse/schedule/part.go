package schedule

import (
	"cmp"
	"slices"
	"strings"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// part is a part of a right-hand side: inner is the precomputed expression, path the operators around it from the outside in,
// with the other arguments of those in rest, an expression that is only good for its variables.
type part struct {
	inner index.Expr
	path  []*index.Call
	rest  index.Expr
	// with is the right-hand side with something else in place of inner.
	with func(index.Expr) index.Expr
}

// part finds the expression that Of names in an assignment.
func (c Precompute) part(a *cin.Assign) (*part, error) {
	if c.Of == "" || c.Of == "all" {
		return &part{inner: a.RHS, with: func(w index.Expr) index.Expr { return w }}, nil
	}
	want := compact(c.Of)
	if p := find(a.RHS, want); p != nil {
		if len(index.Accesses(p.inner)) == 0 && len(variables(p.inner)) == 0 {
			return nil, failf(c, "%s is a constant, so there is nothing to compute; name a part that reads an operand", c.Of)
		}
		return p, nil
	}
	if p := factors(a.RHS, strings.Split(want, "*")); p != nil {
		return p, nil
	}
	return nil, failf(c, "%s is no part of %s", c.Of, index.String(a.RHS))
}

// compact is text without spaces.
func compact(text string) string { return strings.Join(strings.Fields(text), "") }

// means reports whether a text without spaces spells e; a tensor's name stands for its access.
func means(e index.Expr, text string) bool {
	if a, ok := e.(*index.Access); ok && a.Tensor.Name == text {
		return true
	}
	printed := compact(index.String(e))
	return printed == text || "("+printed+")" == text
}

// find looks for a subexpression.
func find(e index.Expr, text string) *part {
	if means(e, text) {
		return &part{inner: e, with: func(w index.Expr) index.Expr { return w }}
	}
	call, ok := e.(*index.Call)
	if !ok {
		return nil
	}
	for i, arg := range call.Args {
		p := find(arg, text)
		if p == nil {
			continue
		}
		args := slices.Clone(call.Args)
		others := append(slices.Delete(slices.Clone(args), i, i+1), p.rest)
		inside := p.with
		p.path = append([]*index.Call{call}, p.path...)
		p.rest = index.Term(call.Op, others...)
		p.with = func(w index.Expr) index.Expr {
			changed := slices.Clone(args)
			changed[i] = inside(w)
			return call.With(changed)
		}
		return p
	}
	return nil
}

// factors takes some factors of a product out, whatever the parentheses; nil where they are no proper part of it.
func factors(e index.Expr, texts []string) *part {
	var inner, rest index.Expr
	found := 0
	for _, f := range product(e) {
		into := &rest
		if slices.ContainsFunc(texts, func(t string) bool { return means(f, t) }) {
			into = &inner
			found++
		}
		if *into == nil {
			*into = f
		} else {
			*into = index.Term(dtype.Mul, *into, f)
		}
	}
	if found != len(texts) || inner == nil || rest == nil {
		return nil
	}
	with := func(w index.Expr) index.Expr { return index.Term(dtype.Mul, rest, w) }
	return &part{inner: inner, rest: rest, with: with, path: []*index.Call{index.NewCall(dtype.Mul, rest, inner)}}
}

// product lists the factors of nested products.
func product(e index.Expr) []index.Expr {
	if c, ok := e.(*index.Call); ok && c.Multiplies() {
		return append(product(c.Args[0]), product(c.Args[1])...)
	}
	return []index.Expr{e}
}

// distributes reports whether the part can be reduced by op before the operators around it are applied, to values of type t:
// whole numbers wrap, and are in another order then.
func (p *part) distributes(op dtype.Op, t dtype.T) bool {
	return !slices.ContainsFunc(p.path, func(c *index.Call) bool {
		linear := c.Multiplies() && op == dtype.Add
		shifted := c.Op == dtype.Add && (op == dtype.Min || op == dtype.Max) && !t.IsInt()
		return op != "" && !linear && !shifted
	})
}

// elem is the type that the values of the part are kept in, where the right-hand side has type t: the one in which it is read, as in an
// argument of a comparison. Real values stay real beside complex ones, as the operators around them are those of real values.
func (p *part) elem(t dtype.T) dtype.T {
	own := index.Elem(p.inner)
	place := &index.Tensor{Elem: own, PatternOnly: own == dtype.Invalid}
	t = cmp.Or(index.ReadType(p.with(&index.Access{Tensor: place}), t.Accum(), place), t)
	switch complex := own.IsComplex(); {
	case complex && !t.IsComplex():
		return t.Complex()
	case !complex && t.IsComplex():
		return t.Real()
	case !t.Holds(own):
		return own.Accum()
	default:
		return t.Accum()
	}
}

// complete refuses a part that has no value where nothing is stored, if the zero that a dense workspace over held has there means
// something to the operators around it or to the reduction.
func (c Precompute) complete(p *cin.Program, part *part, a *cin.Assign, held []index.Var) error {
	if len(part.path) > 0 && divides(part.inner) && p.Source.LHS.Tensor.Elem.IsInt() {
		return failf(c, "%s divides, and not everywhere would its value be read; divide in a part that is read as a whole", index.String(part.inner))
	}
	op := cmp.Or(a.Reduce, p.Source.Reduce) // what has no term is its identity, also where nothing is reduced
	harmless, around := part.zeros(op)
	reduced := slices.ContainsFunc(held, func(v index.Var) bool { return !p.Covers(a.LHS.Vars, v) })
	if harmless || len(part.path) == 0 && !reduced {
		return nil
	}
	if everywhere, _ := p.Source.Presence(part.inner); everywhere {
		return nil
	}
	return failf(c, "%s has no value where nothing is stored; in a workspace it is zero there, which changes %s", index.String(part.inner),
		cmp.Or(around, op))
}

// zeros reports whether zeros in place of what is missing of a part are harmless to the operators around it and to the reduction
// op, and the last operator that they concern.
func (p *part) zeros(op dtype.Op) (harmless bool, around dtype.Op) {
	harmless = op == dtype.Add
	for _, call := range p.path {
		switch call.Op {
		case dtype.Mul, dtype.Neg, dtype.And:
			if call.Op != dtype.Neg && (!call.Region.IsProduct() || !finite(p.rest)) {
				harmless, around = false, call.Op
			}
		case dtype.Add, dtype.Sub, dtype.Or:
			harmless = harmless && call.Region == index.Some(len(call.Args))
			around = call.Op
		default:
			harmless, around = false, call.Op
		}
	}
	return harmless, around
}

// gaps reports whether elements of a dense workspace over held that nothing was written to would make entries where a stores what
// has a term only. A scalar, and elements of a block that is stored as a whole, are told from those that were written.
func gaps(p *cin.Program, a *cin.Assign, part *part, produce []*cin.Forall, held []index.Var) bool {
	everywhere, _ := p.Source.Presence(part.inner)
	if len(held) == 0 || everywhere && !slices.ContainsFunc(produce, func(f *cin.Forall) bool { return emptied(p, f.Var, held) }) {
		return false
	}
	storage, workspace := p.Workspaces[a.LHS.Tensor]
	if result := p.Source.Result(); result.SamePattern != nil || result.Format.Dense() {
		return told(storage)
	}
	if workspace {
		return true
	}
	return len(part.path) > 0 || slices.ContainsFunc(held, func(v index.Var) bool {
		return slices.ContainsFunc(p.Roots(v), func(root index.Var) bool { return leavesGaps(p.Source.Table, a.LHS, part.inner, root) })
	})
}

// leavesGaps reports whether e has values at some coordinates of v only, or not at all for some, where result stores them apart.
func leavesGaps(b *bind.Table, result *index.Access, e index.Expr, v index.Var) bool {
	f := b.Of(result.Tensor).Format
	m := slices.Index(result.Vars, v)
	apart := m < 0 || f.LevelOf(m) < f.Sparse()
	return !lattice.Build(b, e, v).Dense() || apart && (len(f.Groups()) > 0 || b.Varies(e, v))
}

// emptied reports whether a loop over v, which the workspace over held does not have, may have no iterations.
func emptied(p *cin.Program, v index.Var, held []index.Var) bool {
	return slices.ContainsFunc(p.Roots(v), func(root index.Var) bool {
		return !p.Covers(held, root) && index.Least(p.Source.Extent(root)) == 0
	})
}

// finite reports whether e is finite where its operands are.
func finite(e index.Expr) bool {
	c, ok := e.(*index.Call)
	if !ok {
		return true
	}
	switch c.Op {
	case dtype.Mul, dtype.Add, dtype.Sub, dtype.Neg, dtype.Min, dtype.Max:
		return c.Function == nil && !slices.ContainsFunc(c.Args, func(arg index.Expr) bool { return !finite(arg) })
	default:
		return false
	}
}

// divides reports whether whole numbers are divided in e, which ends in an error where the divisor is zero.
func divides(e index.Expr) bool {
	c, ok := e.(*index.Call)
	return ok && (c.Op.Divides() || slices.ContainsFunc(c.Bodies(), divides) || slices.ContainsFunc(c.Args, divides))
}
