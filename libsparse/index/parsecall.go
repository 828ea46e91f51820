package index

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// CaseText is a case in the text of a function's definition: its body, and its region over the parameters. Without a region, the body's
// operators decide where it has a value.
type CaseText struct {
	Region string `json:"region,omitempty"`
	Body   string `json:"body"`
}

// NewFunction reads the definition of a function. known are the functions that it may call, beside the operators.
//
// A case without a region means the same as its body written in place of the call. If a case has a region, that alone decides where
// the function has a value, and operators in the body have a value everywhere.
func NewFunction(title string, params []string, cases []CaseText, known map[string]*Function) (*Function, error) {
	f := &Function{Name: title, Params: params}
	if len(params) == 0 || len(params) > maxArgs {
		return nil, diag.Errorf(diag.Unsupported, "function %s has %d parameters; it can have 1 to %d", title, len(params), maxArgs)
	}
	for _, c := range cases {
		p := &parser{text: c.Body, Grammar: Grammar{Functions: known, Combine: dtype.Mul}, params: params}
		p.next()
		body, err := p.sum()
		if err == nil && p.tok.kind != end {
			err = p.unexpected("the end")
		}
		if err != nil {
			return nil, err
		}
		region := regionOf(body, len(params))
		if c.Region != "" {
			if region, err = parseRegion(c.Region, params); err != nil {
				return nil, err
			}
			body = unconditional(body)
		}
		f.Cases = append(f.Cases, Case{Region: region, Body: body})
	}
	if len(cases) == 0 {
		return nil, diag.Errorf(diag.Syntax, "function %s has no body", title)
	}
	return f, nil
}

// regionOf is the region of an expression over n parameters.
func regionOf(e Expr, n int) Region {
	switch e := e.(type) {
	case *Param:
		return Argument(e.Index, n)
	case *Call:
		args := make([]Region, len(e.Args))
		for i, a := range e.Args {
			args[i] = regionOf(a, n)
		}
		out := Nowhere(n)
		for set := range uint(1) << n {
			defined := make([]bool, len(args))
			for i, r := range args {
				defined[i] = r.Has(set)
			}
			if e.Region.Holds(defined...) {
				out.Sets |= 1 << set
			}
		}
		return out
	default:
		return Everywhere(n)
	}
}

// unconditional is e with operators that have a value everywhere, whichever of their arguments have one.
func unconditional(e Expr) Expr {
	c, ok := e.(*Call)
	if !ok {
		return e
	}
	args := make([]Expr, len(c.Args))
	for i, a := range c.Args {
		args[i] = unconditional(a)
	}
	out := c.With(args)
	out.Region = Everywhere(len(args))
	return out
}

// isFunction reports whether name is that of a function.
func (p *parser) isFunction(name string) bool {
	return p.Functions[name] != nil || dtype.Op(name).Arity() > 0
}

// call reads a call, perhaps with a region of its own: mul[0 & ~1](a(i), b(i)).
func (p *parser) call() (Expr, error) {
	id := p.tok
	p.next()
	region := ""
	if p.tok.text == "[" {
		length := strings.IndexByte(p.text[p.tok.end:], ']')
		if length < 0 {
			return nil, p.unexpected(`a region and "]"`)
		}
		region = p.text[p.tok.end : p.tok.end+length]
		p.at = p.tok.end + length + 1
		p.next()
	}
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
	c := &Call{}
	f, arity := p.Functions[id.text], dtype.Op(id.text).Arity()
	if f != nil {
		arity, args = len(f.Params), f.withDefaults(args)
	}
	if len(args) != arity {
		return nil, diag.Errorf(diag.Syntax, "expression %q: %s takes %d arguments, not %d", p.text, id.text, arity, len(args)).
			At(id.start, p.tok.start)
	}
	if f != nil {
		c = NewFunctionCall(f, args...)
	} else {
		c = NewCall(dtype.Op(id.text), args...)
	}
	if region == "" {
		return c, verifySize(c)
	}
	numbers := make([]string, len(args))
	for k := range numbers {
		numbers[k] = strconv.Itoa(k)
	}
	var err error
	if c.Region, err = parseRegion(region, numbers); err != nil {
		return nil, err
	}
	return c, verifySize(c)
}

// parseRegion reads a region such as "a & ~b" over arguments of these names: & | ^ ~, parentheses, every, some, all.
func parseRegion(text string, args []string) (Region, error) {
	p := &regionParser{parser: parser{text: text}, args: args}
	p.next()
	r, err := p.region("|", "^", "&")
	if err == nil && p.tok.kind != end {
		err = p.unexpected("the end")
	}
	if err != nil {
		return Region{}, diag.Errorf(diag.Syntax, "region %q of %s: %v; write such as %s & ~%s", text, strings.Join(args, ", "), err, args[0], args[len(args)-1])
	}
	return r, nil
}

type regionParser struct {
	parser
	args []string
}

// region reads operands joined by the first of signs, whose operands are joined by the next, and so on.
func (p *regionParser) region(signs ...string) (Region, error) {
	if len(signs) == 0 {
		return p.factor()
	}
	r, err := p.region(signs[1:]...)
	for err == nil && p.accept(signs[0]) {
		var q Region
		q, err = p.region(signs[1:]...)
		switch signs[0] {
		case "|":
			r = r.Or(q)
		case "^":
			r = r.Xor(q)
		default:
			r = r.And(q)
		}
	}
	return r, err
}

func (p *regionParser) factor() (Region, error) {
	n := len(p.args)
	switch {
	case p.accept("~"):
		r, err := p.factor()
		return r.Not(), err
	case p.accept("("):
		r, err := p.region("|", "^", "&")
		if err == nil {
			err = p.expect(")")
		}
		return r, err
	}
	word := p.tok
	named := map[string]Region{"every": Every(n), "some": Some(n), "all": Everywhere(n)}
	switch k := slices.Index(p.args, word.text); {
	case k >= 0:
		p.next()
		return Argument(k, n), nil
	case slices.Contains(slices.Collect(maps.Keys(named)), word.text):
		p.next()
		return named[word.text], nil
	default:
		return Nowhere(n), p.unexpected("an argument")
	}
}
