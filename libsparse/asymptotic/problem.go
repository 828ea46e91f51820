package asymptotic

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
)

// maxLeaves bounds the reads of an expression, so that sets of them are words.
const maxLeaves = 24

// leaf is an occurrence of an operand or number in the expression.
type leaf struct {
	expr   index.Expr
	name   string
	vars   varset
	args   []uint8 // the variable of each mode
	sparse bool
	pred   uint8
}

// problem is an assignment prepared for enumeration: variables, operands and dimensions are numbers.
type problem struct {
	assignment bind.Assignment
	vars       []index.Var
	result     leaf
	leaves     []leaf
	rhs        *term
	dims       []uint8
	assumed    conj
	filled     []int    // by predicate: see logic
	names      []string // of the predicates
	sunk       []sunkTask
	depths     map[placing]int
	grouped    int           // groupings made
	copies     map[int][]int // by leaf: its copies, which distributing products makes
}

// sunkTask is a set of tasks that every program executes.
type sunkTask struct {
	head varset
	body conj
}

// term is an expression over leaves. Sums and products have any number of arguments, since they associate and commute.
type term struct {
	leaf int // or -1
	ws   int // a workspace, or -1
	call *index.Call
	args []*term
}

func (t *term) isCall() bool { return t.call != nil }

func newProblem(a bind.Assignment) (*problem, error) {
	p := &problem{assignment: a, vars: a.Vars(), copies: map[int][]int{}, depths: map[placing]int{}}
	if len(p.vars) > maxVars {
		return nil, diag.Errorf(diag.Unsupported, "frontier: %s has %d indices; at most %d can be scheduled", a, len(p.vars), maxVars)
	}
	if len(a.Steps(index.Names([]*index.Assignment{a.Assignment}))) > 1 {
		return nil, diag.Errorf(diag.Unsupported, "frontier: the terms of %s are summed over different indices; "+
			"ask for the frontier of each step", a)
	}
	var err error
	if p.result, err = p.access(a.LHS); err != nil {
		return nil, err
	}
	if p.rhs, err = p.term(a.RHS); err != nil {
		return nil, err
	}
	p.dimensions()
	p.sink()
	return p, nil
}

func (p *problem) access(a *index.Access) (leaf, error) {
	l := leaf{expr: a, name: a.Tensor.Name, sparse: !p.assignment.Dense(a)}
	if a.Windowed() {
		return l, diag.Errorf(diag.Unsupported, "frontier: %s is a window; take it first", a)
	}
	if len(a.Vars) > maxOrder && l.sparse {
		return l, diag.Errorf(diag.Unsupported, "frontier: %s has %d modes; sparse operands may have %d", a, len(a.Vars), maxOrder)
	}
	for _, v := range a.Vars {
		n := uint8(slices.Index(p.vars, v))
		l.args = append(l.args, n)
		l.vars |= 1 << n
	}
	return l, nil
}

// term numbers the operands of e and flattens its sums and products.
func (p *problem) term(e index.Expr) (*term, error) {
	c, ok := e.(*index.Call)
	if !ok {
		l := leaf{expr: e, name: index.String(e)}
		if a, ok := e.(*index.Access); ok {
			var err error
			if l, err = p.access(a); err != nil {
				return nil, err
			}
			l.pred = p.predicate(&l)
		}
		if len(p.leaves) == maxLeaves {
			return nil, diag.Errorf(diag.Unsupported, "frontier: %s has more than %d operands", p.assignment, maxLeaves)
		}
		p.leaves = append(p.leaves, l)
		return &term{leaf: len(p.leaves) - 1, ws: -1}, nil
	}
	var args []*term
	for _, arg := range c.Args {
		t, err := p.term(arg)
		if err != nil {
			return nil, err
		}
		args = append(args, t)
	}
	return newTerm(c, args), nil
}

// predicate is the number of an operand's pattern. Reads of one tensor share it.
func (p *problem) predicate(l *leaf) uint8 {
	for _, m := range p.leaves {
		if m.name == l.name && len(m.args) == len(l.args) {
			return m.pred
		}
	}
	p.names = append(p.names, l.name)
	return uint8(len(p.names) - 1)
}

// dimensions numbers the dimensions: variables that index the same mode of the same tensor have the same dimension.
func (p *problem) dimensions() {
	for v := range p.vars {
		p.dims = append(p.dims, uint8(v))
	}
	for i, l := range p.leaves {
		for _, m := range p.leaves[:i] {
			if m.name != l.name || len(m.args) != len(l.args) {
				continue
			}
			for mode := range l.args {
				from, to := p.dims[l.args[mode]], p.dims[m.args[mode]]
				for v := range p.dims {
					if p.dims[v] == from {
						p.dims[v] = to
					}
				}
			}
		}
	}
}

// sink finds the sunk costs: reading each sparse operand, and iterating over each dimension. It assumes that no sparse operand is
// empty.
func (p *problem) sink() {
	for v := range p.vars {
		p.sunk = append(p.sunk, sunkTask{head: 1 << v})
	}
	next := uint8(fresh)
	seen := map[uint8]bool{}
	for _, l := range p.leaves {
		if !l.sparse {
			continue
		}
		p.sunk = append(p.sunk, sunkTask{l.vars, conj{l.clause()}})
		if !seen[l.pred] {
			seen[l.pred] = true
			k := l.clause()
			for i := range k.args[:k.n] {
				k.args[i] = min(next, unset-1)
				next++
			}
			p.assumed = append(p.assumed, k)
		}
	}
}

// clause says that the operand has an entry at the leaf's variables.
func (l *leaf) clause() clause {
	k := clause{pred: l.pred, n: uint8(len(l.args))}
	copy(k.args[:], l.args)
	return k
}

func (p *problem) all() varset { return 1<<len(p.vars) - 1 }

// clone copies the parts of p that enumeration changes, for another worker.
func (p *problem) clone() *problem {
	q := *p
	q.depths = map[placing]int{}
	return &q
}
