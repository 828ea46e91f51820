package asymptotic

import "libsparse/libsparse/index"

// Programs are hash-consed: equal statements or expressions, in whatever programs, are one node, and nodes are compared by their
// numbers. Node 0 is the empty statement, expression 0 is zero.
type (
	nodeID int32
	exprID int32
)

type nodeKind uint8

const (
	pass nodeKind = iota
	assign
	loop
	where
)

// node is a statement of CIN-P.
type node struct {
	kind nodeKind
	v    uint8  // of a loop: its variable
	ws   int8   // of a where: the workspace; of an assignment: what is written, -1 for the result
	sums bool   // of a where: its producer may sum
	vars varset // of an assignment: the variables of what is written
	a, b int32  // a loop's body; a where's consumer and producer; an assignment's right-hand side
}

type exprKind uint8

const (
	zero exprKind = iota
	read
	call
)

// expr is an expression. A call of several arguments is a chain of calls of two.
type expr struct {
	kind  exprKind
	op    uint8  // of a call: its number in program.calls
	leaf  int8   // of a read: a leaf of the problem, or maxLeaves + a workspace
	vars  varset // of a read: its variables
	steps varset // of a read: the variables that it steps over; it locates the others
	a, b  exprID // of a call; b is 0 where there is one argument
}

// leafset is a set of reads.
type leafset uint64

// store holds nodes.
type store struct {
	nodes   []node
	nodeIDs map[node]nodeID
	exprs   []expr
	exprIDs map[expr]exprID
	reads   []leafset // by expression: the leaves that it reads
	calls   []*index.Call
	zeroed  map[zeroing]nodeID
}

type zeroing struct {
	n    nodeID
	gone leafset
}

func newStore() *store {
	s := &store{nodeIDs: map[node]nodeID{}, exprIDs: map[expr]exprID{}, zeroed: map[zeroing]nodeID{}}
	s.node(node{})
	s.expr(expr{})
	return s
}

func (s *store) node(n node) nodeID {
	id, ok := s.nodeIDs[n]
	if !ok {
		id = nodeID(len(s.nodes))
		s.nodes = append(s.nodes, n)
		s.nodeIDs[n] = id
	}
	return id
}

func (s *store) expr(e expr) exprID {
	id, ok := s.exprIDs[e]
	if !ok {
		id = exprID(len(s.exprs))
		s.exprs = append(s.exprs, e)
		s.exprIDs[e] = id
		reads := leafset(0)
		switch e.kind {
		case read:
			reads = 1 << e.leaf
		case call:
			reads = s.reads[e.a] | s.reads[e.b]
		}
		s.reads = append(s.reads, reads)
	}
	return id
}

// callID numbers calls by operator and region.
func (s *store) callID(c *index.Call) uint8 {
	for i, d := range s.calls {
		if d == c {
			return uint8(i)
		}
	}
	s.calls = append(s.calls, c)
	return uint8(len(s.calls) - 1)
}

// steppers is the set of reads in n that step over v.
func (s *store) steppers(n nodeID, v uint8) leafset {
	switch st := &s.nodes[n]; st.kind {
	case assign:
		return s.stepping(exprID(st.a), v)
	case loop:
		return s.steppers(nodeID(st.a), v)
	case where:
		return s.steppers(nodeID(st.a), v) | s.steppers(nodeID(st.b), v)
	default:
		return 0
	}
}

func (s *store) stepping(e exprID, v uint8) leafset {
	switch x := &s.exprs[e]; {
	case x.kind == read && x.steps.has(v):
		return 1 << x.leaf
	case x.kind == call:
		return s.stepping(x.a, v) | s.stepping(x.b, v)
	default:
		return 0
	}
}

// readBy is the set of leaves that the statement reads.
func (s *store) readBy(n nodeID) leafset {
	switch st := &s.nodes[n]; st.kind {
	case assign:
		return s.reads[st.a]
	case loop:
		return s.readBy(nodeID(st.a))
	case where:
		return s.readBy(nodeID(st.a)) | s.readBy(nodeID(st.b))
	default:
		return 0
	}
}

// without simplifies a statement for the case that the reads in gone are zero: terms that they annihilate are dropped, and then
// statements without an effect. A where whose consumer is dropped is kept if its producer is.
func (s *store) without(n nodeID, gone leafset) nodeID {
	if gone == 0 || n == 0 {
		return n
	}
	key := zeroing{n, gone}
	if id, ok := s.zeroed[key]; ok {
		return id
	}
	id, st := nodeID(0), s.nodes[n]
	switch st.kind {
	case assign:
		if e := s.annihilate(exprID(st.a), gone); e != 0 {
			st.a = int32(e)
			id = s.node(st)
		}
	case loop:
		if body := s.without(nodeID(st.a), gone); body != 0 {
			st.a = int32(body)
			id = s.node(st)
		}
	case where:
		if consumer := s.without(nodeID(st.a), gone); consumer != 0 {
			st.a, st.b = int32(consumer), int32(s.without(nodeID(st.b), gone))
			id = s.node(st)
		}
	}
	s.zeroed[key] = id
	return id
}

// annihilate simplifies an expression for the case that the reads in gone are zero.
func (s *store) annihilate(e exprID, gone leafset) exprID {
	if s.reads[e]&gone == 0 {
		return e
	}
	x := s.exprs[e]
	if x.kind == read {
		return 0
	}
	a, b := s.annihilate(x.a, gone), s.annihilate(x.b, gone)
	region, single := s.calls[x.op].Region, x.b == 0
	left := []bool{a != 0, b != 0}
	if single {
		left = left[:1]
	}
	sum := !single && region == index.Some(2)
	switch _, ever := region.Between(make([]bool, len(left)), left); {
	case !ever:
		return 0
	case sum && a == 0:
		return b
	case sum && b == 0:
		return a
	}
	x.a, x.b = a, b
	return s.expr(x)
}
