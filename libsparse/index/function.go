package index

import (
	"math"
	"slices"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// Function is an operator that is defined by expressions over its parameters: a user's, or one of the library's.
type Function struct {
	Name   string
	Params []string
	// Defaults are the values of the last parameters where a call leaves them out.
	Defaults []float64
	// Cases are tried in order: the first whose region holds gives the value.
	Cases []Case
}

// Case is the value of a function in a region of its arguments.
type Case struct {
	Region Region
	// Body is an expression over the parameters; a parameter without a value counts as zero in it.
	Body Expr
}

// Param is a parameter of a function, in its body.
type Param struct {
	Index int
	Name  string
}

func (*Param) expr() {}

// region is the union of the regions of the cases.
func (f *Function) region() Region {
	r := Nowhere(len(f.Params))
	for _, c := range f.Cases {
		r = r.Or(c.Region)
	}
	return r
}

// withDefaults is the arguments of a call with those that it leaves out.
func (f *Function) withDefaults(args []Expr) []Expr {
	first := len(f.Params) - len(f.Defaults)
	for n := len(args); first <= n && n < len(f.Params); n++ {
		args = append(args, literalOf(f.Defaults[n-first]))
	}
	return args
}

// literalOf is a number as it is written.
func literalOf(value float64) Expr {
	l := &Literal{Value: math.Abs(value), Int: int64(math.Abs(value)), Whole: value == math.Trunc(value)}
	if value < 0 {
		return NewCall(dtype.Neg, l)
	}
	return l
}

// regionOn is the region of a call of f: clamp and hardtanh keep zeros if the bounds are numbers and zero is between them.
func (f *Function) regionOn(args []Expr) Region {
	if f.Name == "clamp" || f.Name == "hardtanh" { // no other function has the name of one of the library
		low, known := constant(args[1])
		high, too := constant(args[2])
		if known && too && low <= 0 && 0 <= high {
			return Argument(0, 3)
		}
	}
	return f.region()
}

// NewFunctionCall applies a function.
func NewFunctionCall(f *Function, args ...Expr) *Call {
	return &Call{Op: dtype.Op(f.Name), Function: f, Args: args, Region: f.regionOn(args)}
}

// Multiplies reports whether c is a product, which has a value where all its factors have one. With one argument it would be a reduction.
func (c *Call) Multiplies() bool {
	return c.Op == dtype.Mul && len(c.Args) == 2 && c.Region.IsProduct()
}

// With is the call with other arguments, or c itself where they are the same.
func (c *Call) With(args []Expr) *Call {
	if slices.Equal(args, c.Args) {
		return c
	}
	return &Call{Op: c.Op, Function: c.Function, Args: args, Region: c.Region, whole: c.whole}
}

// Restricted is the call with arguments of which some parts have no value and are left out. What it compares keeps its type.
func (c *Call) Restricted(args []Expr) *Call {
	out := c.With(args)
	if out != c && out.whole == nil && (c.Function != nil || c.Op.IsLogical()) {
		out.whole = c.Args
	}
	return out
}

// wholeArgs are the arguments of c before parts of them were left out.
func (c *Call) wholeArgs() []Expr {
	if c.whole != nil {
		return c.whole
	}
	return c.Args
}

// body is the body of the case that applies if exactly the given arguments have a value. If no case applies, which a region given with
// the call makes possible, it is that of the last case.
func (c *Call) body(defined ...bool) Expr {
	for _, k := range c.Function.Cases {
		if k.Region.Holds(defined...) {
			return k.Body
		}
	}
	return c.Function.Cases[len(c.Function.Cases)-1].Body
}

// Inline is the body of a called function with the arguments in place of the parameters. Arguments that are Missing have no value, all
// others are assumed to have one.
func (c *Call) Inline() Expr {
	defined := make([]bool, len(c.Args))
	for i, a := range c.Args {
		_, missing := a.(*Missing)
		defined[i] = !missing
	}
	return substitute(c.body(defined...), c.Args, c.wholeArgs())
}

// Bodies lists the bodies of a called function, one a case, with the arguments in place of the parameters; it is empty for an operator.
func (c *Call) Bodies() []Expr {
	if c.Function == nil {
		return nil
	}
	out := make([]Expr, len(c.Function.Cases))
	for i, k := range c.Function.Cases {
		out[i] = substitute(k.Body, c.Args, c.wholeArgs())
	}
	return out
}

// substitute is e with arguments in place of parameters; whole are the arguments before parts of them were left out.
func substitute(e Expr, args, whole []Expr) Expr {
	switch e := e.(type) {
	case *Param:
		return args[e.Index]
	case *Call:
		out := e.With(substituteAll(e.Args, args, whole))
		if out != e && (e.Function != nil || e.Op.IsLogical()) && !slices.Equal(args, whole) {
			out.whole = substituteAll(e.Args, whole, whole)
		}
		return out
	default:
		return e
	}
}

func substituteAll(es, args, whole []Expr) []Expr {
	out := make([]Expr, len(es))
	for i, e := range es {
		out[i] = substitute(e, args, whole)
	}
	return out
}

// maxInlined bounds the expression after every function is inlined.
const maxInlined = 4096

// size is the number of nodes of e with every function inlined; args are the sizes of the parameters.
func size(e Expr, args []int) int {
	switch e := e.(type) {
	case *Param:
		if args == nil {
			return 1
		}
		return args[e.Index]
	case *Call:
		n := 1
		sizes := make([]int, len(e.Args))
		for i, a := range e.Args {
			sizes[i] = size(a, args)
			n += sizes[i]
		}
		if e.Function != nil {
			n = 0
			for _, c := range e.Function.Cases {
				n = max(n, size(c.Body, sizes))
			}
		}
		return min(n, maxInlined+1)
	default:
		return 1
	}
}

// verifySize refuses expressions that would be far too large once their functions are inlined.
func verifySize(e Expr) error {
	if c, ok := e.(*Call); ok && c.Function != nil && size(e, nil) > maxInlined {
		return diag.Errorf(diag.Unsupported, "%s(...) is too large with all functions in it written out; compute a part of it first", c.Function.Name)
	}
	return nil
}
