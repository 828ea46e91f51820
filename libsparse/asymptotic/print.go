package asymptotic

import (
	"strings"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// String prints the program on one line: loops before a colon, consumers before where.
func (p *Program) String() string { return p.text }

func (p *Program) print() string {
	var b strings.Builder
	p.write(&b, p.Body)
	return b.String()
}

func (p *Program) write(b *strings.Builder, s cin.Stmt) {
	switch s := s.(type) {
	case *cin.Forall:
		b.WriteString(string(s.Var))
		if _, nested := s.Body.(*cin.Forall); nested {
			b.WriteByte(' ')
		} else {
			b.WriteString(": ")
		}
		p.write(b, s.Body)
	case *cin.Where:
		b.WriteByte('(')
		p.write(b, s.Consumer)
		b.WriteString(" where ")
		p.write(b, s.Producer)
		b.WriteByte(')')
	case *cin.Assign:
		op := " = "
		if s.Reduce != "" {
			op = " " + s.Reduce.Infix() + "= "
			if s.Reduce.Infix() == "" {
				op = " " + string(s.Reduce) + "= "
			}
		}
		b.WriteString(p.access(s.LHS) + op)
		b.WriteString(index.String(index.Replace(s.RHS, func(a *index.Access) index.Expr {
			return &index.Position{Var: index.Var(p.access(a))} // prints as it is
		})))
	}
}

// access prints the modes in storage order with their protocols, as in B[l(i)s(k)].
func (p *Program) access(a *index.Access) string {
	protocols, ok := p.Protocols[a]
	if !ok || len(a.Vars) == 0 {
		return a.String()
	}
	text := a.Tensor.Name + "["
	for _, m := range p.Order[a] {
		text += string(rune(protocols[m])) + "(" + string(a.Vars[m]) + ")"
	}
	return text + "]"
}

// describe prints the tasks of a cost that aren't sunk.
func (m *meter) describe(c costID) []string {
	var out []string
	for _, id := range m.costs[c] {
		sunk := false
		for _, s := range m.costs[m.sunkCost] {
			sunk = sunk || s == id
		}
		if !sunk {
			out = append(out, m.text(m.tasks[id]))
		}
	}
	return out
}

func (m *meter) text(t task) string {
	name := func(v uint8) string {
		if v < bound {
			return string(m.vars[v])
		}
		return string(rune('p' + (v - bound)))
	}
	var head, body []string
	for v := range m.vars {
		if t.head.has(uint8(v)) {
			head = append(head, string(m.vars[v]))
		}
	}
	for _, k := range m.conjs[t.body] {
		var args []string
		for _, a := range k.args[:k.n] {
			args = append(args, name(a))
		}
		body = append(body, m.names[k.pred]+"("+strings.Join(args, ",")+")")
	}
	text := "{ [" + strings.Join(head, ",") + "]"
	if len(body) > 0 {
		text += " | " + strings.Join(body, " and ")
	}
	return text + " }"
}
