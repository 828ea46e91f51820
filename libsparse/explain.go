package libsparse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
)

// shown is how many orders of the loops are printed; there may be thousands.
const shown = 24

// printConsidered lists the orders that were priced, the cheapest first, with what each cost is made of.
func printConsidered(d *autoschedule.Decision) string {
	if len(d.Considered) == 0 {
		return ""
	}
	all := slices.Clone(d.Considered)
	slices.SortStableFunc(all, func(a, b autoschedule.Priced) int { return cmp.Compare(a.Cost, b.Cost) })
	var b strings.Builder
	fmt.Fprintf(&b, "# costs of the orders, in iterations of an inner loop (constants of the profile %q):\n", d.Profile)
	fmt.Fprintf(&b, "# %9s = %9s %9s %9s %9s %9s  %s\n", "cost", "loops", "strided", "insert", "idle", "convert", "order")
	for i, p := range all {
		if i == shown {
			fmt.Fprintf(&b, "# ... and %d more\n", len(all)-i)
			break
		}
		t, chosen := p.Terms, ""
		if slices.Equal(p.Order, d.Order) {
			chosen = "  <- chosen"
		}
		fmt.Fprintf(&b, "# %9.3g = %9.3g %9.3g %9.3g %9.3g %9.3g  %s%s\n",
			p.Cost, t.Loops, t.Strided, t.Insert, t.Idle, t.Convert, variables(p.Order), chosen)
	}
	return b.String()
}

func variables(order []index.Var) string {
	out := make([]string, len(order))
	for i, v := range order {
		out[i] = string(v)
	}
	return strings.Join(out, " ")
}

// explanation is the text of one stage, or of all.
type explanation struct {
	strings.Builder
	stage string // empty for all
	found bool
}

func (e *explanation) visit(name string, text func() string) {
	switch e.stage {
	case "":
		fmt.Fprintf(&e.Builder, "== %s ==\n%s\n\n", name, strings.TrimRight(text(), "\n"))
	case name:
		e.found = true
		e.WriteString(text())
	}
}

func printSteps(c *Compilation) string {
	steps := make([]*index.Assignment, len(c.Nests))
	for i, n := range c.Nests {
		steps[i] = n.Assignment.Assignment
	}
	return lines(steps)
}

func printDecision(n *Nest) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", n.Decision.Summary)
	if densities := n.Decision.Densities(); densities != "" {
		fmt.Fprintf(&b, "# densities: %s; constants: %s\n", densities, n.Decision.Profile)
	}
	for _, note := range n.Decision.Notes {
		fmt.Fprintf(&b, "# %s\n", note)
	}
	b.WriteString(printConsidered(n.Decision))
	for _, c := range n.Decision.Commands {
		fmt.Fprintln(&b, c)
	}
	return b.String()
}

// printLattices shows how each loop visits coordinates.
func printLattices(n *Nest) string {
	var b strings.Builder
	for _, f := range cin.Loops(n.Scheduled.Body) {
		fmt.Fprintf(&b, "%s: %s\n", f.Var, n.Lattices.Loop(f))
	}
	return b.String()
}

// Formats prints the tensors of the nest with their formats.
func (n *Nest) Formats() string {
	var b strings.Builder
	for _, t := range append(n.Operands[:len(n.Operands):len(n.Operands)], n.Assignment.LHS.Tensor) {
		s := n.Assignment.Of(t)
		fmt.Fprintf(&b, "%s: %q of %s", t.Name, s.Format, t.Elem)
		if t.PatternOnly {
			b.WriteString(", pattern only")
		}
		if s.SamePattern != nil {
			fmt.Fprintf(&b, ", pattern of %s", n.Assignment.Owner(t).Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// explainFormats prints the formats with where they are from: the request, or why they were inferred.
func explainFormats(c *Compilation) string {
	var out []string
	for _, n := range c.Nests {
		rows := strings.Split(strings.TrimSpace(n.Formats()), "\n")
		for i := range rows {
			switch {
			case i < len(rows)-1:
				rows[i] += "  (given)"
			case n.Output.Format != "":
				rows[i] += "  (asked for)"
			default:
				rows[i] += "  (inferred)"
			}
		}
		out = append(out, rows...)
		if n.Inferred {
			out = append(out, "# "+infer.Reason(n.Assignment))
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// Code is the formats and the text of a nest, without what its header says about how it was chosen: by it, searches know a kernel again.
func (n *Nest) Code() string {
	m := *n.Loops
	m.Doc = nil
	text, err := n.Backend.Emit(&m)
	if err != nil {
		panic("BUG: " + err.Error()) // with the header it was fine
	}
	return n.Formats() + text
}
