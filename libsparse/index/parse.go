package index

import (
	"slices"
	"strconv"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// Grammar reads TACO's assignment syntax: "y(i) = A(i,j) * x(j) + b(i)", several assignments separated by semicolons.
// Variables that are only on the right are reduced: summed per additive term, by other reductions over the whole right side.
type Grammar struct {
	// Lookup resolves the name of a tensor. It is called once for each access, since each access has a tensor of its own. It isn't
	// called for results of earlier assignments.
	Lookup func(name string, order int, result bool) (*Tensor, error)
	// Functions are the functions that expressions can call, by name; nil for the library.
	Functions map[string]*Function
	// Reduce is the reduction of a plain "=", and Combine what "*" means; empty for sums of products.
	Reduce, Combine dtype.Op
}

// ParseAssignment reads a single assignment of a sum of products.
func ParseAssignment(text string, lookup func(name string, order int, result bool) (*Tensor, error)) (*Assignment, error) {
	program, err := Grammar{Lookup: lookup}.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(program) != 1 {
		return nil, diag.Errorf(diag.Syntax, "expression %q: expected one assignment, found %d", text, len(program))
	}
	return program[0], nil
}

// Parse reads a program.
func (g Grammar) Parse(text string) ([]*Assignment, error) {
	p := &parser{text: text, Grammar: g, results: map[string]*Tensor{}}
	if p.Reduce == "" {
		p.Reduce = dtype.Add
	}
	if p.Combine == "" {
		p.Combine = dtype.Mul
	}
	if p.Functions == nil {
		p.Functions = Library()
	}
	p.next()
	var out []*Assignment
	for {
		a, err := p.assignment()
		if err != nil {
			return nil, err
		}
		out = append(out, a)
		if p.accept(";") && p.tok.kind != end {
			continue
		}
		if p.tok.kind != end {
			return nil, p.unexpected("the end")
		}
		return out, nil
	}
}

type parser struct {
	Grammar
	text string
	at   int
	tok  token
	// results are the results of earlier assignments, read those that the present assignment has read.
	results map[string]*Tensor
	read    map[string]bool
	// positions are names that stand as values and are no tensors, so that they must be index variables.
	positions []token
	// params are the parameters while the body of a function is read.
	params []string
	depth  int
}

// maxDepth bounds the nesting of expressions, since later stages are recursive.
const maxDepth = 1000

func (p *parser) assignment() (*Assignment, error) {
	if p.tok.kind != name {
		return nil, p.unexpected("the name of the result")
	}
	p.positions, p.read = nil, map[string]bool{}
	id := p.tok
	if p.results[id.text] != nil {
		return nil, diag.Errorf(diag.Unsupported, "expression %q: %s is assigned twice; use another name", p.text, id.text).At(id.start, id.end)
	}
	lhs, err := p.access(true)
	if err != nil {
		return nil, err
	}
	reduce, err := p.assignmentSign()
	if err != nil {
		return nil, err
	}
	rhs, err := p.sum()
	if err != nil {
		return nil, err
	}
	a := &Assignment{LHS: lhs, Reduce: reduce, RHS: rhs}
	for _, id := range p.positions {
		if !slices.Contains(a.Vars(), Var(id.text)) {
			return nil, diag.Errorf(diag.Syntax, "expression %q: %s is neither an operand nor an index", p.text, id.text).At(id.start, id.end)
		}
	}
	p.results[id.text] = lhs.Tensor
	return a, nil
}

// reductions are the operators that an assignment can reduce by, by the text before its "=".
var reductions = map[string]dtype.Op{
	"+": dtype.Add, "*": dtype.Mul, "&": dtype.And, "|": dtype.Or, "^": dtype.Xor,
	"add": dtype.Add, "sum": dtype.Add, "mul": dtype.Mul, "prod": dtype.Mul, "min": dtype.Min, "max": dtype.Max,
	"and": dtype.And, "all": dtype.And, "or": dtype.Or, "any": dtype.Or, "xor": dtype.Xor, "mean": dtype.Mean,
}

// Reduction is the operator that a reduction is called by.
func Reduction(name string) (dtype.Op, bool) {
	op, ok := reductions[name]
	return op, ok && isLetter(name[0])
}

// assignmentSign reads "=", or a reduction such as "+=" or "min=".
func (p *parser) assignmentSign() (dtype.Op, error) {
	if p.accept("=") {
		return p.Reduce, nil
	}
	op, ok := reductions[p.tok.text]
	if !ok || p.tok.kind == end {
		return "", p.unexpected(`"=" or a reduction such as "+="`)
	}
	p.next()
	return op, p.expect("=")
}

func (p *parser) sum() (Expr, error) {
	return p.binary(p.product, map[string]dtype.Op{"+": dtype.Add, "-": dtype.Sub})
}

func (p *parser) product() (Expr, error) {
	return p.binary(p.factor, map[string]dtype.Op{"*": dtype.Mul, "/": dtype.Div, "//": dtype.FloorDivide, "%": dtype.Remainder})
}

func (p *parser) binary(operand func() (Expr, error), ops map[string]dtype.Op) (Expr, error) {
	x, err := operand()
	if err != nil {
		return nil, err
	}
	for p.tok.kind == sign {
		op, ok := ops[p.tok.text]
		if !ok {
			break
		}
		p.next()
		y, err := operand()
		if err != nil {
			return nil, err
		}
		if op == dtype.Mul && p.Combine != dtype.Mul {
			x = Term(p.Combine, x, y)
		} else {
			x = NewCall(op, x, y)
		}
	}
	return x, nil
}

func (p *parser) factor() (Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, diag.Errorf(diag.Unsupported, "expression %.60q...: nested too deeply; compute a part of it first", p.text)
	}
	defer func() { p.depth-- }()
	switch {
	case p.accept("-"):
		x, err := p.factor()
		if err != nil {
			return nil, err
		}
		return NewCall(dtype.Neg, x), nil
	case p.accept("("):
		x, err := p.sum()
		if err != nil {
			return nil, err
		}
		return x, p.expect(")")
	case p.tok.kind == number:
		v, err := strconv.ParseFloat(p.tok.text, 64)
		if err != nil {
			return nil, p.unexpected("a number")
		}
		n, whole := strconv.ParseInt(p.tok.text, 10, 64)
		p.next()
		return &Literal{Value: v, Int: n, Whole: whole == nil}, nil
	case p.tok.kind == name:
		return p.named()
	default:
		return nil, p.unexpected("a tensor, a number or a parenthesis")
	}
}

// named reads a parameter, a call of a function such as min(a(i), b(i)), an access, or an index variable as a value.
func (p *parser) named() (Expr, error) {
	id := p.tok
	if k := slices.Index(p.params, id.text); k >= 0 {
		p.next()
		return &Param{Index: k, Name: id.text}, nil
	}
	if p.called() && p.isFunction(id.text) && !p.sumAccess() {
		return p.call()
	}
	a, err := p.access(false)
	if a == nil && err == nil {
		return &Position{Var: Var(id.text)}, nil
	}
	return a, err
}
