package autoschedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/schedule"
)

// Ordered is what follows from an order of a's loops, as Decide would choose it; an error where no conversion makes the formats suit it.
func Ordered(a bind.Assignment, m Machine, order []index.Var) (*Decision, error) {
	c, profile := ConstantsFor(m.CPU)
	prices := newModel(a, c, m)
	numbers := make([]int, len(order))
	for i, v := range order {
		numbers[i] = slices.Index(prices.vars, v)
	}
	terms, ok := prices.price(numbers)
	if !ok {
		return nil, diag.Errorf(diag.Unsupported, "%s: the formats suit no loops %s", a, names(order))
	}
	d := &Decision{Profile: profile, constants: c, machine: m}
	d.follow(a, prices.plan(numbers, terms))
	d.Summary = fmt.Sprintf("loops %s: estimated cost %.3g", names(d.Order), terms.Sum())
	return d, nil
}

// follow writes the commands and conversions of a plan for a.
func (d *Decision) follow(a bind.Assignment, p *plan) {
	d.Order, d.Conversions, d.Terms = p.order, p.conversions, p.terms
	t := d.turn(a, p)
	if t != nil {
		d.Conversions = slices.DeleteFunc(slices.Clone(p.conversions), func(c Conversion) bool { return c.To.Dense() })
	}
	for _, c := range d.Conversions {
		d.Notes = append(d.Notes, conversion(a, c))
	}
	d.converted = Convert(a, d.Conversions)
	if t != nil {
		d.plan = p
		d.carryOutTurned(d.converted, t)
		return
	}
	d.carryOut(d.converted, p)
}

// Around is how often the loop at a depth of the order is expected to start, as the number of its last depth is how often the body runs.
func (d *Decision) Around(depth int) float64 { return d.plan.around[depth] }

// Lanes is the commands that run an innermost loop over v in lanes; none where it can't be.
func Lanes(a bind.Assignment, v index.Var) []schedule.Command {
	d := &Decision{}
	d.lanes(a, []index.Var{v})
	return d.Commands
}

// Dense reports whether the loop over v visits every coordinate, and matches nothing that is stored.
func Dense(a bind.Assignment, v index.Var) bool { return dense(a, v) }

// Meeting reports whether the loop over v meets what several operands store.
func Meeting(a bind.Assignment, v index.Var) bool {
	return len(lattice.Loop(a.Table, a.RHS, v).Iterators()) > 1
}

// Complete is all commands of a decision, the conversions of operands included, as a schedule by hand has them.
func (d *Decision) Complete() []schedule.Command {
	var out []schedule.Command
	for _, c := range d.Conversions {
		out = append(out, schedule.Convert{Tensor: c.Tensor.Name, To: c.To, Values: c.Values || c.Copied})
	}
	return append(out, d.Commands...)
}
