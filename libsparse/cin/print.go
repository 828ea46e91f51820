package cin

import (
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/index"
)

// String prints a program: its statement, then its relations.
func (p *Program) String() string {
	var b strings.Builder
	write(&b, p.Body, 0)
	for _, r := range p.Relations {
		fmt.Fprintln(&b, r)
	}
	var lines []string
	for v, n := range p.Bounds {
		lines = append(lines, fmt.Sprintf("bound %s = %s\n", v, n))
	}
	for t, s := range p.Workspaces {
		lines = append(lines, fmt.Sprintf("workspace %s: %s of %s, order %d\n", t.Name, s, t.Elem, p.Source.Of(t).Format.Order()))
	}
	if p.Insert {
		lines = append(lines, fmt.Sprintf("assemble %s by insertion\n", p.Source.LHS.Tensor.Name))
	}
	if p.Bounded {
		lines = append(lines, fmt.Sprintf("assemble %s within bounds\n", p.Source.LHS.Tensor.Name))
	}
	slices.Sort(lines)
	return b.String() + strings.Join(lines, "")
}

func write(b *strings.Builder, s Stmt, depth int) {
	indent := strings.Repeat("  ", depth)
	switch s := s.(type) {
	case *Forall:
		unit := ""
		if s.Unit != Serial {
			unit = " on " + string(s.Unit)
		}
		if s.Race != Owned {
			unit += " with " + string(s.Race)
		}
		if s.Unroll > 0 {
			unit += fmt.Sprintf(" unrolled %d", s.Unroll)
		}
		if s.Prefetch > 0 {
			unit += fmt.Sprintf(" prefetching %d", s.Prefetch)
			if s.Begins {
				unit += " begins"
			}
		}
		if s.Ahead != nil {
			unit += fmt.Sprintf(" with entries of %s %d ahead", s.Ahead.Name, s.Distance)
		}
		if s.Adjacent {
			unit += " of adjacent coordinates"
		}
		if s.Gather {
			unit += " gathering"
		}
		if s.Order != nil {
			unit += fmt.Sprintf(" by the lengths of rows of %s", s.Order.Name)
		}
		if s.Gallop {
			unit += " galloping"
		}
		if s.Choose {
			unit += " choosing"
		}
		fmt.Fprintf(b, "%sforall %s%s\n", indent, s.Var, unit)
		write(b, s.Body, depth+1)
	case *Where:
		write(b, s.Consumer, depth)
		fmt.Fprintf(b, "%swhere\n", indent)
		write(b, s.Producer, depth+1)
	case *Assign:
		fmt.Fprintf(b, "%s%s\n", indent, s)
	}
}

func (a *Assign) String() string {
	op := "="
	if a.Reduce != "" {
		op = a.Reduce.Infix() + "="
		if a.Reduce.Infix() == "" {
			op = string(a.Reduce) + "="
		}
	}
	return fmt.Sprintf("%s %s %s", a.LHS, op, index.String(a.RHS))
}
