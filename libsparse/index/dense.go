package index

import (
	"maps"

	"libsparse/libsparse/dtype"
)

// Dense is a tensor for the reference evaluators: every element, and whether it is stored. An element that is not stored has value zero,
// and a product is stored only where all its factors are. Results of evaluators are not rounded to half types yet (dtype.T.Wide).
type Dense struct {
	Shape  []int
	Vals   []dtype.Value
	Stored []bool
	// DividedByZero says that computing the tensor divided an integer by zero, so that its values mean nothing.
	DividedByZero bool
}

// NewDense makes a tensor with nothing stored.
func NewDense(shape []int) *Dense {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return &Dense{Shape: shape, Vals: make([]dtype.Value, n), Stored: make([]bool, n)}
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
func (d *Dense) Set(coord []int, v dtype.Value) {
	at := d.At(coord)
	d.Vals[at], d.Stored[at] = v, true
}

// Accumulate stores v, of type t, at offset at, reduced with what is there; the empty op overwrites.
func (d *Dense) Accumulate(at int, op dtype.Op, t dtype.T, v dtype.Value) {
	if op != "" && d.Stored[at] {
		v = op.Eval(t, d.Vals[at], v)
	}
	d.Vals[at], d.Stored[at] = v, true
}

// Eval evaluates e in type t at a point. It returns the value, whether e has a value there, and whether an integer was divided by zero.
// value returns the value of an access, coord that of a variable.
func Eval(e Expr, t dtype.T, value func(*Access) (dtype.Value, bool), coord func(Var) int) (v dtype.Value, exists, byZero bool) {
	p := &point{value: value, coord: coord}
	v, exists = p.eval(e, t)
	return v, exists, p.byZero
}

// point is where an expression is evaluated: values of accesses and variables.
type point struct {
	value func(*Access) (dtype.Value, bool)
	coord func(Var) int
	// byZero says that an integer was divided by zero.
	byZero bool
}

func (p *point) eval(e Expr, t dtype.T) (dtype.Value, bool) {
	switch e := e.(type) {
	case *Access:
		v, stored := p.value(e)
		if stored && e.Tensor.PatternOnly {
			return dtype.Int(t, 1), true
		}
		return dtype.Convert(v, e.Tensor.Elem.Wide(), t), stored
	case *Literal:
		if e.Whole {
			return dtype.Int(t, e.Int), true
		}
		return dtype.Float(t, e.Value), true
	case *Missing:
		return dtype.Value{}, false
	case *Position:
		return dtype.Int(t, int64(p.coord(e.Var))), true
	case *Call:
		return p.call(e, t)
	default:
		panic("BUG: unknown index expression")
	}
}

func (p *point) call(c *Call, t dtype.T) (dtype.Value, bool) {
	defined := p.defined(c)
	if !c.Region.Holds(defined...) {
		return dtype.Value{}, false
	}
	if c.Function == nil {
		u, args := c.ArgType(t), make([]dtype.Value, len(c.Args))
		for i, a := range c.Args {
			if defined[i] && needed(c.Op, i, args) {
				args[i], _ = p.eval(a, u)
			}
		}
		p.byZero = p.byZero || len(args) == 2 && c.Op.DividesByZero(u, args[1])
		return dtype.Convert(c.Op.Eval(u, args...), c.Op.Result(u), t), true
	}
	known := make([]Expr, len(c.Args))
	for i, a := range c.Args {
		if known[i] = a; !defined[i] {
			known[i] = &Missing{}
		}
	}
	v, _ := p.eval(substitute(c.body(defined...), known, c.Args), t)
	return v, true
}

// needed reports whether op evaluates argument i, given the arguments before. An argument that isn't evaluated may divide by zero.
func needed(op dtype.Op, i int, args []dtype.Value) bool {
	switch op {
	case dtype.First:
		return i == 0
	case dtype.Second:
		return i == 1
	case dtype.Where:
		return i == 0 || args[0].Truth() == (i == 1)
	default:
		return true
	}
}

// defined says for each argument of c whether it has a value at p.
func (p *point) defined(c *Call) []bool {
	out := make([]bool, len(c.Args))
	for i, a := range c.Args {
		switch a := a.(type) {
		case *Access:
			_, out[i] = p.value(a)
		case *Call:
			out[i] = a.Region.Holds(p.defined(a)...)
		default:
			_, missing := a.(*Missing)
			out[i] = !missing
		}
	}
	return out
}

// Evaluate computes an assignment by its steps: it defines what kernels must compute. extents has the extent of every variable.
func (a *Assignment) Evaluate(extents map[Var]int, shape []int, data map[*Tensor]*Dense) *Dense {
	return EvaluateSteps(a.Steps(Names([]*Assignment{a})), extents, shape, data)
}

// EvaluateSteps is Evaluate where the steps are given, as Steps makes them.
func EvaluateSteps(steps []*Assignment, extents map[Var]int, shape []int, data map[*Tensor]*Dense) *Dense {
	known := data
	if len(steps) > 1 {
		known = maps.Clone(data)
	}
	for _, step := range steps[:len(steps)-1] {
		var own []int
		for _, v := range step.LHS.Vars {
			own = append(own, extents[v])
		}
		known[step.LHS.Tensor] = step.evaluate(extents, own, known)
	}
	return steps[len(steps)-1].evaluate(extents, shape, known)
}

// evaluate computes an assignment whose terms are all reduced over the same variables, by visiting every point of the iteration space.
func (a *Assignment) evaluate(extents map[Var]int, shape []int, data map[*Tensor]*Dense) *Dense {
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
	t := a.LHS.Tensor.Elem.Wide()
	var visit func(k int)
	visit = func(k int) {
		if k < len(vars) {
			for at[vars[k]] = 0; at[vars[k]] < extents[vars[k]]; at[vars[k]]++ {
				visit(k + 1)
			}
			return
		}
		v, ok, byZero := Eval(a.RHS, t, func(acc *Access) (dtype.Value, bool) {
			d := data[acc.Tensor]
			p := d.At(coords(acc))
			return d.Vals[p], d.Stored[p]
		}, func(v Var) int { return at[v] })
		out.DividedByZero = out.DividedByZero || byZero
		if ok {
			out.Accumulate(out.At(coords(a.LHS)), op, t, v)
		}
	}
	visit(0)
	return out
}
