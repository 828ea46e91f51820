package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Precompute puts a workspace below the outermost At loops: the loops inside compute the factors named by Of (all of
// the right-hand side where Of is empty) into it, and a second nest reads it.
type Precompute struct {
	Of      []*index.Tensor
	At      int
	Name    string
	Storage cin.Storage
}

func (c Precompute) String() string {
	of := "all"
	if len(c.Of) > 0 {
		names := make([]string, len(c.Of))
		for i, t := range c.Of {
			names[i] = t.Name
		}
		of = strings.Join(names, "*")
	}
	return fmt.Sprintf("precompute(%s, %s, at=%d, %s)", of, c.Name, c.At, c.Storage)
}

// Apply implements Command.
func (c Precompute) Apply(p *cin.Program) (*cin.Program, error) {
	loops, innermost := nest(p.Body)
	assign, ok := innermost.(*cin.Assign)
	if !ok || c.At > len(loops) {
		return nil, failf(c, "the loops have to be directly nested")
	}
	inner, rest, err := c.factors(assign.RHS)
	if err != nil {
		return nil, err
	}
	uses := func(v index.Var, exprs ...index.Expr) bool { return slices.Contains(index.Vars(exprs...), p.Root(v)) }
	outside, inside := loops[:c.At], loops[c.At:]
	var held []index.Var               // the workspace's variables
	var produce, consume []*cin.Forall // the loops of each side
	for _, f := range inside {
		kept := uses(f.Var, assign.LHS) || (rest != nil && uses(f.Var, rest))
		if uses(f.Var, inner) {
			produce = append(produce, f)
			if kept {
				held = append(held, f.Var)
			}
		}
		if kept {
			consume = append(consume, f)
		}
	}
	if c.Storage == cin.List {
		// What is sorted is read in the order in which the result is stored.
		rank := func(v index.Var) int {
			if m := slices.Index(assign.LHS.Vars, v); m >= 0 {
				return assign.LHS.Tensor.Format.LevelOf(m)
			}
			return -1
		}
		slices.SortStableFunc(held, func(a, b index.Var) int { return cmp.Compare(rank(a), rank(b)) })
		slices.SortStableFunc(consume, func(a, b *cin.Forall) int { return cmp.Compare(rank(a.Var), rank(b.Var)) })
	}
	w := c.workspace(p, held)
	q := p.Clone()
	q.Workspaces[w] = c.Storage
	access := &index.Access{Tensor: w, Vars: held}
	value := index.Expr(access)
	if rest != nil {
		value = index.Term(dtype.Mul, rest, access)
	}
	reduced := func(loops []*cin.Forall, keep func(v index.Var) bool) dtype.Op {
		if slices.ContainsFunc(loops, func(f *cin.Forall) bool { return !keep(f.Var) }) {
			return assign.Reduce
		}
		return ""
	}
	q.Body = rebuild(outside, &cin.Where{
		Consumer: rebuild(consume, &cin.Assign{LHS: assign.LHS, RHS: value, Reduce: reduced(
			append(slices.Clone(outside), consume...), func(v index.Var) bool { return uses(v, assign.LHS) })}),
		Producer: rebuild(produce, &cin.Assign{LHS: access, RHS: inner, Reduce: reduced(
			produce, func(v index.Var) bool { return slices.Contains(held, v) })}),
	})
	return q, nil
}

// factors divides a product into the part that is precomputed and the rest.
func (c Precompute) factors(rhs index.Expr) (inner, rest index.Expr, err error) {
	if len(c.Of) == 0 {
		return rhs, nil, nil
	}
	for _, f := range product(rhs) {
		part := &rest
		if a, ok := f.(*index.Access); ok && slices.Contains(c.Of, a.Tensor) {
			part = &inner
		}
		if *part == nil {
			*part = f
		} else {
			*part = index.Term(dtype.Mul, *part, f)
		}
	}
	if inner == nil || rest == nil {
		return nil, nil, failf(c, "%s is no product of these and something else", index.String(rhs))
	}
	return inner, rest, nil
}

// product lists the factors of nested products.
func product(e index.Expr) []index.Expr {
	if c, ok := e.(*index.Call); ok && c.Op == dtype.Mul {
		return append(product(c.Args[0]), product(c.Args[1])...)
	}
	return []index.Expr{e}
}

func (c Precompute) workspace(p *cin.Program, held []index.Var) *index.Tensor {
	f := format.AllDense(len(held))
	if c.Storage != cin.Tile {
		// The coordinates in use are one run of positions, walked like the later levels of COO.
		for i := range f.Levels {
			f.Levels[i] = format.Singleton{Unique: i == len(held)-1}
		}
	}
	w := &index.Tensor{Name: c.Name, Format: f, Elem: p.Source.LHS.Tensor.Elem.Accum(), Index: p.Source.LHS.Tensor.Index}
	for _, v := range held {
		w.Extents = append(w.Extents, p.Source.Extent(p.Root(v)))
	}
	return w
}
