package index

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
)

// access reads an access such as T(i,j), whose indices may have windows. It returns nil without an error for a name that may be an
// index variable.
func (p *parser) access(result bool) (*Access, error) {
	id := p.tok
	p.next()
	a := &Access{}
	if p.accept("(") && !p.accept(")") {
		for {
			if err := p.index(a); err != nil {
				return nil, err
			}
			if p.accept(")") {
				break
			}
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
	}
	t, err := p.tensor(id, len(a.Vars), result)
	if err != nil && !result && p.params == nil && p.text[id.end:min(id.end+1, len(p.text))] != "(" {
		p.positions = append(p.positions, id)
		return nil, nil
	}
	if err != nil {
		e := diag.From(err)
		return nil, e.At(id.start, id.end)
	}
	a.Tensor = t
	return a, nil
}

// tensor finds a name among the results of earlier assignments, or by Lookup.
func (p *parser) tensor(id token, order int, result bool) (*Tensor, error) {
	t := p.results[id.text]
	switch {
	case p.params != nil:
		return nil, diag.Errorf(diag.Syntax, "function body %q: %s is neither a parameter nor a function", p.text, id.text)
	case t == nil || result:
		return p.Lookup(id.text, order, result)
	case p.read[id.text]:
		return nil, diag.Errorf(diag.Unsupported, "expression %q: %s is read twice; assign it to a second name first", p.text, id.text)
	}
	p.read[id.text] = true
	return t, nil
}

// index reads an index variable, perhaps with a window such as i(2:10:4), and adds it to an access.
func (p *parser) index(a *Access) error {
	if p.tok.kind != name {
		return p.unexpected("an index variable")
	}
	a.Vars = append(a.Vars, Var(p.tok.text))
	p.next()
	if !p.accept("(") {
		if a.Windows != nil {
			a.Windows = append(a.Windows, nil)
		}
		return nil
	}
	w := &Window{Step: 1}
	for i, bound := range []*int64{&w.Lo, &w.Hi, &w.Step} {
		if i > 0 && !p.accept(":") {
			if i == 1 {
				return p.unexpected(`":"`)
			}
			break
		}
		n, err := strconv.ParseInt(p.tok.text, 10, 64)
		if err != nil {
			return p.unexpected("a whole number")
		}
		*bound = n
		p.next()
	}
	if w.Step < 1 {
		return diag.Errorf(diag.Shape, "%s: the window %s of %s is no range first:end:step of coordinates", p.text, w, string(a.Vars[len(a.Vars)-1]))
	}
	a.Windows = append(append(a.Windows, make([]*Window, len(a.Vars)-1-len(a.Windows))...), w)
	return p.expect(")")
}

var variable = regexp.MustCompile(`^\s*[A-Za-z_]\w*\s*$`)

// sumAccess reports whether the next tokens are an access to a tensor called sum, and not a call: its arguments are index variables.
func (p *parser) sumAccess() bool {
	if dtype.Op(p.tok.text) != dtype.Sum {
		return false
	}
	inside, _, _ := strings.Cut(strings.TrimLeft(p.text[p.tok.end:], " \t\n("), ")")
	return !slices.ContainsFunc(strings.Split(inside, ","), func(arg string) bool { return !variable.MatchString(arg) })
}
