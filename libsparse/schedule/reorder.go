package schedule

import (
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// Reorder puts the loops over Vars, which are directly nested, in that order; other loops of the nest stay where they are.
type Reorder struct{ Vars []index.Var }

func (c Reorder) String() string { return fmt.Sprintf("reorder(%s)", join(c.Vars)) }

func join(vars []index.Var) string {
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}

// Apply implements Command.
func (c Reorder) Apply(p *cin.Program) (*cin.Program, error) {
	for i, v := range c.Vars {
		if slices.Contains(c.Vars[:i], v) {
			return nil, failf(c, "%s is named twice", v)
		}
		if !slices.Contains(allLoops(p.Body), v) {
			return nil, missing(c, p, v)
		}
	}
	if len(c.Vars) == 0 {
		return p, nil
	}
	body, ok := c.reordered(p.Body)
	if !ok {
		return nil, failf(c, "the loops are not directly nested in one another in\n%s", p)
	}
	q := p.Clone()
	q.Body = body
	return q, nil
}

// reordered is s with every nest that has all the loops in the new order; ok is false if there is none, or if a nest has
// some of the loops only.
func (c Reorder) reordered(s cin.Stmt) (out cin.Stmt, ok bool) {
	loops, body := nest(s)
	var places []int
	for i, f := range loops {
		if slices.Contains(c.Vars, f.Var) {
			places = append(places, i)
		}
	}
	switch w, where := body.(*cin.Where); {
	case len(places) == len(c.Vars):
		ordered := slices.Clone(loops)
		for i, v := range c.Vars {
			ordered[places[i]] = loops[slices.Index(vars(loops), v)]
		}
		return rebuild(ordered, body), true
	case len(places) > 0 || !where:
		return s, false
	default:
		consumer, a := c.reordered(w.Consumer)
		producer, b := c.reordered(w.Producer)
		return rebuild(loops, &cin.Where{Consumer: consumer, Producer: producer}), a || b
	}
}

// check refuses orders that contradict the formats.
func (c Reorder) check(p *cin.Program) error {
	if err := p.Legal(); err != nil {
		return failf(c, "%v", err)
	}
	return nil
}
