package asymptotic

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Nest is one loop nest of a given schedule: an assignment, the order of its loops, and the formats of the operands that are
// converted before it runs.
type Nest struct {
	Assignment bind.Assignment
	Order      []index.Var
	Converted  map[*index.Tensor]format.Format
}

// read is the format in which the nest reads an operand.
func (n *Nest) read(t *index.Tensor) format.Format {
	if f, ok := n.Converted[t]; ok {
		return f
	}
	return n.Assignment.Of(t).Format
}

// Standing says where a schedule stands relative to a frontier.
type Standing struct {
	Program *Program
	// Class is the index of the frontier's class with the same cost, -1 if there is none.
	Class int
	// Below is a program of the frontier that dominates the schedule, nil if there is none.
	Below *Program
	// Depth is the depth of its deepest nest.
	Depth int
}

// Compare finds where nests stand relative to the frontier. They run one after the other, and all but the last compute temporaries.
// Full levels of operands are located in, all others are stepped over.
func (f *Frontier) Compare(nests []Nest) (*Standing, error) {
	c, err := f.importer(nests)
	if err != nil {
		return nil, err
	}
	s := &Standing{Class: -1}
	statements := make([]nodeID, len(nests))
	for i, nest := range nests {
		s.Depth = max(s.Depth, len(nest.Order))
		if statements[i], err = c.statement(&nest, nest.Order, func(a *index.Access) varset { return c.stepped(a, nest.read(a.Tensor)) }); err != nil {
			return nil, err
		}
	}
	n := c.sequence(statements)
	s.Program = c.program(n)
	cost := f.meter.total(n)
	for i, class := range f.Classes {
		if class.cost == cost {
			s.Class = i
		} else if f.meter.dominates(cost, class.cost) {
			s.Below = class.Programs[0]
		}
	}
	return s, nil
}

// importer turns the loop nests of a given schedule into nodes.
type importer struct {
	*enumerator
	temporaries map[*index.Tensor]int8
	used        leafset
}

func (f *Frontier) importer(nests []Nest) (*importer, error) {
	if len(nests) > maxWorkspaces {
		return nil, diag.Errorf(diag.Unsupported, "frontier: the schedule of %s has %d steps; at most %d can be compared",
			f.Assignment, len(nests), maxWorkspaces)
	}
	c := &importer{enumerator: &enumerator{problem: f.problem, store: f.meter.store}, temporaries: map[*index.Tensor]int8{}}
	for i, nest := range nests[:len(nests)-1] {
		c.temporaries[nest.Assignment.LHS.Tensor] = int8(i)
	}
	return c, nil
}

// sequence runs statements one after the other; each may read the temporaries of those before it.
func (c *importer) sequence(statements []nodeID) nodeID {
	last := len(statements) - 1
	body := statements[last]
	for i, n := range slices.Backward(statements[:last]) {
		body = c.node(node{kind: where, ws: int8(i), sums: true, a: int32(body), b: int32(n)})
	}
	return body
}

// statement is a nest with its loops in the given order; steps gives the variables that are stepped over in each read.
func (c *importer) statement(nest *Nest, order []index.Var, steps func(*index.Access) varset) (nodeID, error) {
	a := nest.Assignment
	c.used = 0
	n := node{kind: assign, ws: -1, vars: c.set(a.LHS.Vars)}
	if ws, ok := c.temporaries[a.LHS.Tensor]; ok {
		n.ws = ws
	}
	rhs, err := c.expr(a.RHS, steps)
	if err != nil {
		return 0, err
	}
	n.a = int32(rhs)
	var loops []uint8
	for _, v := range order {
		loops = append(loops, uint8(slices.Index(c.vars, v)))
	}
	return c.nest(loops, c.node(n)), nil
}

// stepped is the variables of a whose levels in format f don't store all coordinates.
func (c *importer) stepped(a *index.Access, f format.Format) varset {
	var s varset
	for level, kind := range f.Levels {
		if !kind.Props().Full {
			s |= c.set([]index.Var{a.Vars[f.ModeOrder[level]]})
		}
	}
	return s
}

func (c *importer) set(vars []index.Var) varset {
	var s varset
	for _, v := range vars {
		s |= 1 << slices.Index(c.vars, v)
	}
	return s
}

func (c *importer) expr(e index.Expr, steps func(*index.Access) varset) (exprID, error) {
	switch e := e.(type) {
	case *index.Call:
		out, err := c.expr(e.Args[0], steps)
		for _, arg := range e.Args[1:] {
			if err != nil {
				return 0, err
			}
			var next exprID
			next, err = c.expr(arg, steps)
			out = c.store.expr(expr{kind: call, op: c.callID(e), a: out, b: next})
		}
		if len(e.Args) == 1 {
			out = c.store.expr(expr{kind: call, op: c.callID(e), a: out})
		}
		return out, err
	case *index.Access:
		x := expr{kind: read, vars: c.set(e.Vars)}
		leaf, err := c.leaf(e)
		if x.leaf = leaf; err != nil {
			return 0, err
		}
		if leaf >= maxLeaves || c.leaves[leaf].sparse {
			x.steps = steps(e)
		}
		return c.store.expr(x), nil
	default:
		leaf := slices.IndexFunc(c.leaves, func(l leaf) bool { return l.expr == e })
		if leaf < 0 {
			return 0, diag.Errorf(diag.Unsupported, "frontier: %s is not in %s", index.String(e), c.assignment)
		}
		return c.store.expr(expr{kind: read, leaf: int8(leaf)}), nil
	}
}

// leaf is a leaf of the problem that reads the same as a, and that no other read of the schedule stands for yet.
func (c *importer) leaf(a *index.Access) (int8, error) {
	if ws, ok := c.temporaries[a.Tensor]; ok {
		return maxLeaves + ws, nil
	}
	for i, l := range c.leaves {
		if l.name == a.Tensor.Name && l.vars == c.set(a.Vars) && c.used&(1<<i) == 0 {
			c.used |= 1 << i
			return int8(i), nil
		}
	}
	return 0, diag.Errorf(diag.Unsupported, "frontier: %s is not in %s", a, c.assignment)
}
