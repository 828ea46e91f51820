package cin

import (
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// Evaluate runs p on dense operands. It defines the meaning of concrete index notation and must agree with
// index.Assignment.Evaluate on the program's source, whatever the schedule. shape is that of the result.
func (p *Program) Evaluate(extents map[index.Var]int, shape []int, data map[*index.Tensor]*index.Dense) *index.Dense {
	in := &interp{program: p, extents: extents, data: map[*index.Tensor]*index.Dense{}, at: map[index.Var]int{}}
	for t, d := range data {
		in.data[t] = d
	}
	out := index.NewDense(shape)
	in.data[p.Source.LHS.Tensor] = out
	in.run(p.Body)
	return out
}

type interp struct {
	program *Program
	extents map[index.Var]int
	data    map[*index.Tensor]*index.Dense
	at      map[index.Var]int
}

func (in *interp) clear(t *index.Tensor, vars []index.Var) {
	shape := make([]int, len(vars))
	for i, v := range vars {
		shape[i] = in.extent(v)
	}
	in.data[t] = index.NewDense(shape)
}

// extent is the number of values of v, the tiles of an outer half rounded up.
func (in *interp) extent(v index.Var) int {
	s := in.program.SplitOf(v)
	switch {
	case s == nil:
		return in.extents[v]
	case v == s.Inner:
		return int(s.Factor)
	default:
		return (in.extent(s.Parent) + int(s.Factor) - 1) / int(s.Factor)
	}
}

// coord is the value of v; ok is false beyond the end of a split variable.
func (in *interp) coord(v index.Var) (c int, ok bool) {
	for _, s := range in.program.Splits {
		if s.Parent == v {
			outer, _ := in.coord(s.Outer)
			inner, _ := in.coord(s.Inner)
			c = outer*int(s.Factor) + inner
			return c, c < in.extent(v)
		}
	}
	return in.at[v], true
}

func (in *interp) offset(a *index.Access) (int, bool) {
	coords := make([]int, len(a.Vars))
	for i, v := range a.Vars {
		c, ok := in.coord(v)
		if !ok {
			return 0, false
		}
		coords[i] = a.Window(i).Coord(c)
	}
	return in.data[a.Tensor].At(coords), true
}

func (in *interp) run(s Stmt) {
	switch s := s.(type) {
	case *Forall:
		n := in.extent(s.Var)
		for c := range n {
			in.at[s.Var] = c
			in.run(s.Body)
		}
	case *Where:
		lhs := Written(s.Producer)
		in.clear(lhs.Tensor, lhs.Vars)
		in.run(s.Producer)
		in.run(s.Consumer)
	case *Assign:
		in.assign(s.LHS, s.Reduce, s.RHS)
	}
}

func (in *interp) assign(lhs *index.Access, op dtype.Op, rhs index.Expr) {
	at, ok := in.offset(lhs)
	if !ok {
		return
	}
	v, exists := index.Eval(rhs, func(a *index.Access) (float64, bool) {
		p, ok := in.offset(a)
		if !ok {
			return 0, false
		}
		d := in.data[a.Tensor]
		return d.Vals[p], d.Stored[p]
	}, func(v index.Var) int {
		c, _ := in.coord(v)
		return c
	})
	if exists {
		in.data[lhs.Tensor].Accumulate(at, op, v)
	}
}
