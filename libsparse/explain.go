package libsparse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/autoschedule"
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

// explainFormats is printFormats for a person: what was given, and why the rest is as it is.
func explainFormats(s *State) string {
	rows := strings.Split(strings.TrimSpace(printFormats(s)), "\n")
	for i := range rows {
		switch {
		case i < len(rows)-1:
			rows[i] += "  (given)"
		case s.Request.Output.Format != "":
			rows[i] += "  (asked for)"
		default:
			rows[i] += "  (inferred)"
		}
	}
	if s.Inferred {
		rows = append(rows, "# "+infer.Reason(s.Assignment))
	}
	return strings.Join(rows, "\n") + "\n"
}
