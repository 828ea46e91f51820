package index

import (
	"libsparse/libsparse/dtype"
)

// Dense is a tensor as the reference evaluators see it: every element, and whether it is stored. An element that is
// not stored has value zero, and a product exists only where all its factors are stored.
type Dense struct {
	Shape  []int
	Vals   []float64
	Stored []bool
}

// NewDense makes a tensor with nothing stored.
func NewDense(shape []int) *Dense {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return &Dense{Shape: shape, Vals: make([]float64, n), Stored: make([]bool, n)}
}

// At is the offset of an element.
func (d *Dense) At(coord []int) int {
	at := 0
	for i, c := range coord {
		at = at*d.Shape[i] + c
	}
	return at
}

// Set stores v at coord.
func (d *Dense) Set(coord []int, v float64) {
	at := d.At(coord)
	d.Vals[at], d.Stored[at] = v, true
}

// Accumulate stores v at offset at, reduced with what is there; the empty op overwrites.
func (d *Dense) Accumulate(at int, op dtype.Op, v float64) {
	if op != "" && d.Stored[at] {
		v = op.Apply(d.Vals[at], v)
	}
	d.Vals[at], d.Stored[at] = v, true
}

// Eval is the value of e at a point, and whether it exists there. value looks an access up, coord the value of a variable.
func Eval(e Expr, value func(*Access) (float64, bool), coord func(Var) int) (float64, bool) {
	return (&point{value: value, coord: coord}).eval(e)
}

// point is where an expression is evaluated: values of accesses, variables and, in the body of a function, parameters.
type point struct {
	value   func(*Access) (float64, bool)
	coord   func(Var) int
	params  []float64
	defined []bool
}

func (p *point) eval(e Expr) (float64, bool) {
	switch e := e.(type) {
	case *Access:
		v, stored := p.value(e)
		if stored && e.Tensor.PatternOnly {
			v = 1
		}
		return v, stored
	case *Literal:
		return e.Value, true
	case *Missing:
		return 0, false
	case *Position:
		return float64(p.coord(e.Var)), true
	case *Param:
		return p.params[e.Index], p.defined[e.Index]
	case *Call:
		return p.call(e)
	default:
		panic("BUG: unknown index expression")
	}
}

func (p *point) call(c *Call) (float64, bool) {
	args, defined := make([]float64, len(c.Args)), make([]bool, len(c.Args))
	for i, a := range c.Args {
		args[i], defined[i] = p.eval(a)
		if !defined[i] {
			args[i] = 0
		}
	}
	if !c.Region.Holds(defined...) {
		return 0, false
	}
	if c.Function == nil {
		return c.Op.Apply(args...), true
	}
	inside := point{value: p.value, coord: p.coord, params: args, defined: defined}
	v, _ := inside.eval(c.body(defined...))
	return v, true
}

// Evaluate is the meaning of an assignment whose terms are all reduced over the same variables: it visits every point of
// the iteration space. Extents gives the range of every variable, shape that of the result. It is slow, and right by
// inspection.
func (a *Assignment) Evaluate(extents map[Var]int, shape []int, data map[*Tensor]*Dense) *Dense {
	vars := a.Vars()
	out := NewDense(shape)
	at := make(map[Var]int, len(vars))
	coords := func(acc *Access) []int {
		c := make([]int, len(acc.Vars))
		for m, v := range acc.Vars {
			c[m] = acc.Window(m).Coord(at[v])
		}
		return c
	}
	op := dtype.Op("")
	if len(a.Reduced()) > 0 {
		op = a.Reduce
	}
	var visit func(k int)
	visit = func(k int) {
		if k < len(vars) {
			for at[vars[k]] = 0; at[vars[k]] < extents[vars[k]]; at[vars[k]]++ {
				visit(k + 1)
			}
			return
		}
		v, ok := Eval(a.RHS, func(acc *Access) (float64, bool) {
			d := data[acc.Tensor]
			p := d.At(coords(acc))
			return d.Vals[p], d.Stored[p]
		}, func(v Var) int { return at[v] })
		if ok {
			out.Accumulate(out.At(coords(a.LHS)), op, v)
		}
	}
	visit(0)
	return out
}
