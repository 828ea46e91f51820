package index

import (
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// ParseAssignment reads TACO's assignment syntax: "y(i) = A(i,j) * x(j) + b(i)". Variables that are only on the right
// are summed. lookup resolves a tensor name; an operand that is read twice is one tensor for each access, so lookup is
// called once an access.
func ParseAssignment(text string, lookup func(name string, order int, result bool) (*Tensor, error)) (*Assignment, error) {
	p := &parser{text: text, lookup: lookup}
	p.next()
	a, err := p.assignment()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != end {
		return nil, p.unexpected("the end")
	}
	return a, nil
}

type kind int

const (
	end kind = iota
	name
	number
	sign
)

type token struct {
	kind       kind
	text       string
	start, end int
}

type parser struct {
	text   string
	at     int
	tok    token
	lookup func(string, int, bool) (*Tensor, error)
	// positions are the names that are no tensors, and so have to be index variables.
	positions []token
}

func (p *parser) next() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t' || p.text[p.at] == '\n') {
		p.at++
	}
	start, k := p.at, sign
	switch {
	case p.at == len(p.text):
		k = end
	case isLetter(p.text[p.at]):
		k = name
		for p.at < len(p.text) && (isLetter(p.text[p.at]) || isDigit(p.text[p.at])) {
			p.at++
		}
	case isDigit(p.text[p.at]) || p.text[p.at] == '.':
		k = number
		p.number()
	default:
		p.at++
	}
	p.tok = token{kind: k, text: p.text[start:p.at], start: start, end: p.at}
}

// number skips digits, a point and an exponent.
func (p *parser) number() {
	for p.at < len(p.text) {
		c := p.text[p.at]
		signed := (c == '+' || c == '-') && (p.text[p.at-1] == 'e' || p.text[p.at-1] == 'E')
		if !isDigit(c) && c != '.' && c != 'e' && c != 'E' && !signed {
			return
		}
		p.at++
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func (p *parser) unexpected(want string) error {
	got := strconv.Quote(p.tok.text)
	if p.tok.kind == end {
		got = "the end"
	}
	return diag.Errorf(diag.Syntax, "expression %q: expected %s at column %d, found %s", p.text, want, p.tok.start+1, got).
		At(p.tok.start, p.tok.end)
}

// called reports whether a parenthesis follows the current token.
func (p *parser) called() bool {
	rest := strings.TrimLeft(p.text[p.tok.end:], " \t\n")
	return strings.HasPrefix(rest, "(")
}

func (p *parser) accept(text string) bool {
	if p.tok.kind != sign || p.tok.text != text {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.unexpected(strconv.Quote(text))
	}
	return nil
}

func (p *parser) assignment() (*Assignment, error) {
	if p.tok.kind != name {
		return nil, p.unexpected("the name of the result")
	}
	lhs, err := p.access(true)
	if err != nil {
		return nil, err
	}
	if err := p.expect("="); err != nil {
		return nil, err
	}
	rhs, err := p.sum()
	if err != nil {
		return nil, err
	}
	a := &Assignment{LHS: lhs, Reduce: dtype.Add, RHS: rhs}
	for _, id := range p.positions {
		if !slices.Contains(a.Vars(), Var(id.text)) {
			return nil, diag.Errorf(diag.Syntax, "expression %q: %s is neither an operand nor an index", p.text, id.text).At(id.start, id.end)
		}
	}
	return a, nil
}

func (p *parser) sum() (Expr, error) {
	return p.binary(p.product, map[string]dtype.Op{"+": dtype.Add, "-": dtype.Sub})
}

func (p *parser) product() (Expr, error) {
	return p.binary(p.factor, map[string]dtype.Op{"*": dtype.Mul, "/": dtype.Div})
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
		x = NewCall(op, x, y)
	}
	return x, nil
}

func (p *parser) factor() (Expr, error) {
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
		return p.nameOrCall()
	default:
		return nil, p.unexpected("a tensor, a number or a parenthesis")
	}
}

// nameOrCall reads an access, or a call of a function such as min(a(i), b(i)).
func (p *parser) nameOrCall() (Expr, error) {
	op := dtype.Op(p.tok.text)
	if op.Arity() == 0 || op.Infix() != "" || !p.called() {
		id := p.tok
		a, err := p.access(false)
		if a == nil && err == nil {
			return &Position{Var: Var(id.text)}, nil
		}
		return a, err
	}
	start := p.tok
	p.next()
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var args []Expr
	for {
		x, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, x)
		if p.accept(")") {
			break
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
	if len(args) != op.Arity() {
		return nil, diag.Errorf(diag.Syntax, "expression %q: %s takes %d arguments, not %d", p.text, op, op.Arity(), len(args)).
			At(start.start, p.tok.start)
	}
	return NewCall(op, args...), nil
}

func (p *parser) access(result bool) (*Access, error) {
	id := p.tok
	p.next()
	var vars []Var
	if p.accept("(") && !p.accept(")") {
		for {
			if p.tok.kind != name {
				return nil, p.unexpected("an index variable")
			}
			vars = append(vars, Var(p.tok.text))
			p.next()
			if p.accept(")") {
				break
			}
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
	}
	t, err := p.lookup(id.text, len(vars), result)
	if err != nil && !result && p.text[id.end:min(id.end+1, len(p.text))] != "(" {
		p.positions = append(p.positions, id)
		return nil, nil
	}
	if err != nil {
		e := diag.From(err)
		return nil, e.At(id.start, id.end)
	}
	return &Access{Tensor: t, Vars: vars}, nil
}
