package cin

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// Evaluate runs p on dense operands. It defines the meaning of concrete index notation and must agree with
// index.Assignment.Evaluate on the program's source, whatever the schedule. shape is that of the result.
func (p *Program) Evaluate(extents map[index.Var]int, shape []int, data map[*index.Tensor]*index.Dense) *index.Dense {
	if p.Source.Pooling() != nil { // one statement: the loops around it only name its indices
		return p.Source.Evaluate(extents, shape, data)
	}
	in := &interp{program: p, extents: extents, data: map[*index.Tensor]*index.Dense{}, at: map[index.Var]int{}, lists: map[visited][]map[index.Var]int{}}
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
	// lists caches the coordinates stored below some prefix; operands don't change.
	lists map[visited][]map[index.Var]int
}

func (in *interp) clear(t *index.Tensor, vars []index.Var) {
	shape := make([]int, len(vars))
	for i, v := range vars {
		shape[i] = in.extent(v)
	}
	in.data[t] = index.NewDense(shape)
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
		delete(in.at, s.Var)
	case *Where:
		lhs := Written(s.Producer)
		in.clear(lhs.Tensor, lhs.Vars)
		in.run(s.Producer)
		in.run(s.Consumer)
	case *Assign:
		in.assign(s.LHS, s.Reduce, s.RHS)
	}
}

// bound reports whether a loop over v is running.
func (in *interp) bound(v index.Var) bool {
	_, ok := in.at[v]
	return ok
}

// beyond reports whether a variable of the source is beyond its end here: the loops visit whole strips.
func (in *interp) beyond() bool {
	return slices.ContainsFunc(in.program.Source.Vars(), func(v index.Var) bool {
		_, ok := in.coord(v)
		return !ok && in.program.Visited(v, in.bound)
	})
}

func (in *interp) assign(lhs *index.Access, op dtype.Op, rhs index.Expr) {
	at, ok := in.offset(lhs)
	if !ok || in.beyond() {
		return
	}
	t := lhs.Tensor.Elem.Wide()
	v, exists, byZero := index.Eval(rhs, t, func(a *index.Access) (dtype.Value, bool) {
		p, ok := in.offset(a)
		if !ok {
			return dtype.Value{}, false
		}
		d := in.data[a.Tensor]
		return d.Vals[p], d.Stored[p]
	}, func(v index.Var) int {
		c, _ := in.coord(v)
		return c
	})
	if out := in.data[in.program.Source.LHS.Tensor]; byZero {
		out.DividedByZero = true
	}
	if exists {
		in.data[lhs.Tensor].Accumulate(at, op, t, v)
	}
}
