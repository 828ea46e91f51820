package asymptotic

import (
	"slices"

	"libsparse/libsparse/index"
)

// enumerator lists programs of a problem as nodes: the loops in all places and orders, and all protocols.
type enumerator struct {
	*problem
	*store
	taco     bool
	wheres   int
	expanded map[placing][]nodeID
	counted  map[placing]int64
}

func newEnumerator(p *problem, taco bool) *enumerator {
	return &enumerator{problem: p, store: newStore(), taco: taco, expanded: map[placing][]nodeID{}, counted: map[placing]int64{}}
}

// expand lists every program of a placing.
func (e *enumerator) expand(at placing) []nodeID {
	if out, ok := e.expanded[at]; ok {
		return out
	}
	var out []nodeID
	if at.g.producer == nil {
		orders(at.vars, func(order []uint8) { out = append(out, e.assignments(at, order)...) })
	} else {
		e.divide(at, func(order []uint8, d division) {
			for _, c := range e.expand(d.consumer) {
				for _, q := range e.expand(d.producer) {
					out = append(out, e.nest(order, e.where(at.g, c, q)))
				}
			}
		})
	}
	e.expanded[at] = out
	return out
}

// divide visits the divisions of a where, with the outer loops in every order.
func (e *enumerator) divide(at placing, visit func(order []uint8, d division)) {
	for _, d := range e.divisions(at) {
		if e.taco && (d.inside == 0 || size(d.consumer.held[at.g.ws]) > 1) {
			continue
		}
		orders(d.outside, func(order []uint8) {
			if e.taco {
				d.consumer.path = at.path + string(order)
				d.producer.path = d.consumer.path
			}
			visit(order, d)
		})
	}
}

func (e *enumerator) where(g *grouping, consumer, producer nodeID) nodeID {
	return e.node(node{kind: where, ws: int8(g.ws), sums: g.reducing, a: int32(consumer), b: int32(producer)})
}

// nest puts loops around a statement.
func (e *enumerator) nest(order []uint8, n nodeID) nodeID {
	for _, v := range slices.Backward(order) {
		n = e.node(node{kind: loop, v: v, a: int32(n)})
	}
	return n
}

// assignments lists the loop nests around one assignment, in one order, with every choice of protocols.
func (e *enumerator) assignments(at placing, order []uint8) []nodeID {
	n := node{kind: assign, ws: int8(at.g.lhs), vars: e.result.vars}
	if at.g.lhs >= 0 {
		n.vars = at.held[at.g.lhs]
	}
	path := append([]uint8(at.path), order...)
	if e.taco && at.g.lhs < 0 && !e.writes(path, e.wheres) {
		return nil
	}
	var out []nodeID
	for _, rhs := range e.protocols(at.g.rhs, &at.held, path, true) {
		n.a = int32(rhs)
		out = append(out, e.nest(order, e.node(n)))
	}
	return out
}

// protocols lists an expression with every choice of protocols of its reads. alone says that nothing else is read.
func (e *enumerator) protocols(t *term, held *held, path []uint8, alone bool) []exprID {
	if t.isCall() {
		out := e.protocols(t.args[0], held, path, alone && len(t.args) == 1)
		if len(t.args) == 1 {
			return e.pairs(t.call, out, []exprID{0})
		}
		for _, a := range t.args[1:] {
			out = e.pairs(t.call, out, e.protocols(a, held, path, false))
		}
		return out
	}
	x := expr{kind: read, leaf: int8(t.leaf)}
	sparse := true
	if t.ws >= 0 {
		x.leaf, x.vars = int8(maxLeaves+t.ws), held[t.ws]
	} else {
		x.vars, sparse = e.leaves[t.leaf].vars, e.leaves[t.leaf].sparse
	}
	if !sparse {
		return []exprID{e.expr(x)}
	}
	var out []exprID
	for _, steps := range e.stepped(x.vars, t.ws >= 0, alone, path) {
		x.steps = steps
		out = append(out, e.expr(x))
	}
	return out
}

// stepped lists the sets of variables that may be stepped over in a read.
func (e *enumerator) stepped(vars varset, workspace, alone bool, path []uint8) []varset {
	if e.taco {
		return e.problem.reads(vars, workspace, alone, path)
	}
	var out []varset
	for s := vars; ; s = (s - 1) & vars {
		out = append(out, s)
		if s == 0 {
			return out
		}
	}
}

// pairs lists the calls of c with each pair of a left and a right argument.
func (e *enumerator) pairs(c *index.Call, left, right []exprID) []exprID {
	op := e.callID(c)
	out := make([]exprID, 0, len(left)*len(right))
	for _, a := range left {
		for _, b := range right {
			out = append(out, e.expr(expr{kind: call, op: op, a: a, b: b}))
		}
	}
	return out
}
