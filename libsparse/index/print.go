package index

import (
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
)

func (a *Access) String() string {
	if len(a.Vars) == 0 {
		return a.Tensor.Name
	}
	vars := make([]string, len(a.Vars))
	for m := range a.Vars {
		vars[m] = a.Index(m)
	}
	return a.Tensor.Name + "(" + strings.Join(vars, ",") + ")"
}

func (l *Literal) String() string {
	if l.Whole {
		return strconv.FormatInt(l.Int, 10)
	}
	text := strconv.FormatFloat(l.Value, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0" // so that it is parsed as a float again
	}
	return text
}

func (c *Call) String() string {
	args := make([]string, len(c.Args))
	if !c.written() {
		for i, a := range c.Args {
			args[i] = String(a)
		}
		region := ""
		if c.Region != c.usual() {
			region = "[" + c.Region.String() + "]"
		}
		return string(c.Op) + region + "(" + strings.Join(args, ", ") + ")"
	}
	for i, a := range c.Args {
		args[i] = parenthesized(a, c.Op, i)
	}
	if c.Op == dtype.Neg {
		return "-" + args[0]
	}
	return strings.Join(args, " "+c.Op.Infix()+" ")
}

// written reports whether c is printed with an infix sign: its operator has one, and its region is the usual one.
func (c *Call) written() bool {
	return (c.Op.Infix() != "" || c.Op == dtype.Neg) && c.Function == nil && c.Region == c.usual()
}

// usual is the region of c if the expression gives none.
func (c *Call) usual() Region {
	if c.Function != nil {
		return c.Function.regionOn(c.Args)
	}
	return usualRegion(c.Op, c.Args)
}

func parenthesized(e Expr, parent dtype.Op, arg int) string {
	text := String(e)
	inner, ok := e.(*Call)
	if !ok || !inner.written() || inner.Op == dtype.Neg {
		return text
	}
	p, q := precedence(parent), precedence(inner.Op)
	if q < p || (q == p && arg > 0 && !(parent == inner.Op && parent.Commutes())) {
		return "(" + text + ")"
	}
	return text
}

// precedence orders the infix operators. Arguments of functions never need parentheses.
func precedence(op dtype.Op) int {
	switch op {
	case dtype.Add, dtype.Sub:
		return 1
	case dtype.Mul, dtype.Div:
		return 2
	case dtype.Neg:
		return 3
	default:
		return 0
	}
}

// String prints an expression in the syntax that ParseAssignment reads.
func String(e Expr) string {
	switch e := e.(type) {
	case *Access:
		return e.String()
	case *Literal:
		return e.String()
	case *Missing:
		return "0"
	case *Position:
		return string(e.Var)
	case *Param:
		return e.Name
	case *Call:
		return e.String()
	default:
		return "?"
	}
}

// String prints an assignment in the syntax that ParseAssignment reads.
func (a *Assignment) String() string {
	op := "="
	if a.Reduce != dtype.Add {
		op = string(a.Reduce) + "="
	}
	return a.LHS.String() + " " + op + " " + String(a.RHS)
}
