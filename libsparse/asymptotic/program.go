package asymptotic

import (
	"slices"
	"strconv"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Protocol is how the coordinates of a mode are accessed in its loop.
type Protocol byte

// The protocols. Reads step or locate, writes append or insert.
const (
	Step   Protocol = 's' // the loop visits the coordinates that are stored
	Locate Protocol = 'l' // the loop looks up each coordinate that it visits
	Append Protocol = 'a' // coordinates are written in lexicographic order
	Insert Protocol = 'i' // coordinates are written in any order
)

// Program is a program in protocolized concrete index notation.
type Program struct {
	Source bind.Assignment
	Body   cin.Stmt
	// Workspaces are the temporaries, in the order in which the program first reads or writes them.
	Workspaces []*index.Tensor
	// Protocols has, for each access of a sparse tensor or a workspace, the protocol of each mode.
	Protocols map[*index.Access][]Protocol
	// Order has, for each access, its modes in the order of the loops; the tensor is assumed to be stored in that order.
	Order map[*index.Access][]int

	text string
}

// program exports a node.
func (e *enumerator) program(n nodeID) *Program {
	x := &exporter{enumerator: e, workspaces: map[int8]*index.Tensor{}, program: &Program{
		Source: e.assignment, Protocols: map[*index.Access][]Protocol{}, Order: map[*index.Access][]int{},
	}}
	x.program.Body = x.stmt(n, nil, 0)
	x.program.text = x.program.print()
	return x.program
}

type exporter struct {
	*enumerator
	program    *Program
	workspaces map[int8]*index.Tensor // those in scope, by number
	sums       [maxWorkspaces]bool    // whether their producers may sum
}

// stmt exports a statement inside the loops of path. The loops from scope on are inside the where whose workspace it writes.
func (x *exporter) stmt(n nodeID, path []uint8, scope int) cin.Stmt {
	switch st := x.nodes[n]; st.kind {
	case loop:
		return &cin.Forall{Var: x.vars[st.v], Body: x.stmt(nodeID(st.a), append(slices.Clone(path), st.v), scope)}
	case where:
		w := x.workspace()
		x.workspaces[st.ws], x.sums[st.ws] = w, st.sums
		producer := x.stmt(nodeID(st.b), path, len(path))
		x.workspaces[st.ws] = w // the producer may have had one of that number
		consumer := x.stmt(nodeID(st.a), path, scope)
		return &cin.Where{Consumer: consumer, Producer: producer}
	case assign:
		return x.assign(st, path, scope)
	default:
		panic("BUG: an empty statement in a program")
	}
}

// workspace is a new tensor for the producer of a where.
func (x *exporter) workspace() *index.Tensor {
	t := &index.Tensor{Name: "w" + strconv.Itoa(len(x.program.Workspaces)+1), Elem: x.assignment.LHS.Tensor.Elem}
	x.program.Workspaces = append(x.program.Workspaces, t)
	return t
}

func (x *exporter) assign(st node, path []uint8, scope int) cin.Stmt {
	lhs := x.assignment.LHS
	if st.ws >= 0 {
		lhs = x.access(x.workspaces[st.ws], st.vars)
	} else {
		lhs = &index.Access{Tensor: lhs.Tensor, Vars: lhs.Vars}
	}
	out := &cin.Assign{LHS: lhs, RHS: x.export(exprID(st.a), path)}
	if st.ws >= 0 && x.sums[st.ws] || st.ws < 0 && len(x.assignment.Reduced()) > 0 {
		out.Reduce = x.assignment.Reduce
	}
	if st.ws >= 0 || x.result.sparse {
		x.written(lhs, path, scope)
	}
	return out
}

// access is an access of a workspace, whose modes are in the order of the problem's variables.
func (x *exporter) access(t *index.Tensor, vars varset) *index.Access {
	a := &index.Access{Tensor: t}
	for v := range x.vars {
		if vars.has(uint8(v)) {
			a.Vars = append(a.Vars, x.vars[v])
		}
	}
	return a
}

func (x *exporter) export(id exprID, path []uint8) index.Expr {
	e := x.exprs[id]
	if e.kind == call {
		c := x.calls[e.op]
		args := []index.Expr{x.export(e.a, path)}
		if e.b != 0 {
			args = append(args, x.export(e.b, path))
		}
		return &index.Call{Op: c.Op, Args: args, Region: c.Region}
	}
	var a *index.Access
	if e.leaf >= maxLeaves {
		a = x.access(x.workspaces[e.leaf-maxLeaves], e.vars)
	} else if source, ok := x.leaves[e.leaf].expr.(*index.Access); ok {
		a = &index.Access{Tensor: source.Tensor, Vars: source.Vars}
		if !x.leaves[e.leaf].sparse {
			return a
		}
	} else {
		return x.leaves[e.leaf].expr
	}
	x.program.Order[a] = x.concordant(a, path)
	for _, v := range a.Vars {
		protocol := Locate
		if e.steps.has(x.number(v)) {
			protocol = Step
		}
		x.program.Protocols[a] = append(x.program.Protocols[a], protocol)
	}
	return a
}

func (x *exporter) number(v index.Var) uint8 { return uint8(slices.Index(x.vars, v)) }

// concordant lists the modes of a in the order of the loops.
func (x *exporter) concordant(a *index.Access, path []uint8) []int {
	order := make([]int, len(a.Vars))
	for m := range order {
		order[m] = m
	}
	slices.SortStableFunc(order, func(m, n int) int {
		return slices.Index(path, x.number(a.Vars[m])) - slices.Index(path, x.number(a.Vars[n]))
	})
	return order
}

// written finds the protocols of a write: leading modes are appended to as long as they are in the order of the loops; the others
// are inserted into.
func (x *exporter) written(a *index.Access, path []uint8, scope int) {
	order := x.concordant(a, path)
	protocols := make([]Protocol, len(order))
	protocol := Append
	for at, m := range order {
		if loops := path[scope:]; at >= len(loops) || loops[at] != x.number(a.Vars[m]) {
			protocol = Insert
		}
		protocols[m] = protocol
	}
	x.program.Protocols[a], x.program.Order[a] = protocols, order
}
