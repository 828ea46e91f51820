// Package autoschedule chooses the schedule of a program: the order of the loops, the operands that need a converted copy
// for it, workspaces, tiles, and what runs on threads and in vector lanes.
//
// It sees representative extents, entry counts and formats, never coordinates, and takes well under a millisecond. It
// follows the shape of Algorithm 1 of Scorch (loop orders by a cost model, workspaces by reduction placement); the cost
// model is in cost.go. It emits schedule commands and must not build loops itself.
package autoschedule

import (
	"fmt"
	"slices"
	"strings"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/schedule"
)

// Conversion says that an operand has to be brought to another format before the kernel runs.
type Conversion struct {
	Tensor *index.Tensor
	To     format.Format
}

// Decision is a schedule with its reasons.
type Decision struct {
	Order       []index.Var
	Conversions []Conversion
	Commands    []schedule.Command
	// Summary says what the order costs. It holds numbers, so it must stay out of the generated C, whose text is the cache
	// key; Notes say for people what else was chosen and why.
	Summary string
	Notes   []string
	// Considered is every order that was priced, Profile where the constants are from.
	Considered []Priced
	Profile    string
	// Densities says of the sparse operands whether their entries were counted or have the prior density.
	Densities string
	// Terms are those of the order that was chosen.
	Terms     Terms
	constants *Constants
	machine   Machine
	around    []float64 // how often each loop is expected to start, and last the body
}

// Decide chooses a schedule for a, to be run on the processor that a target calls cpu. The formats of operands that it
// wants converted are changed in place.
func Decide(a *index.Assignment, cpu string) (*Decision, error) {
	return DecideFor(a, Machine{CPU: cpu})
}

// DecideFor is Decide where more is known of the machine.
func DecideFor(a *index.Assignment, m Machine) (*Decision, error) {
	c, profile := ConstantsFor(m.CPU)
	return decide(a, c, profile, m)
}

func decide(a *index.Assignment, c *Constants, profile string, m Machine) (*Decision, error) {
	d := &Decision{Profile: profile, constants: c, machine: m}
	best := search(a, c, &d.Considered)
	if best == nil {
		return nil, diag.Errorf(diag.Unsupported, "%s: no loop order suits the formats", a)
	}
	d.Order, d.Conversions, d.Terms, d.around = best.order, best.conversions, best.terms, best.around
	d.Summary = fmt.Sprintf("loops %s: estimated cost %.3g, best of %d orders", names(best.order), best.terms.Sum(), len(d.Considered))
	for _, c := range best.conversions {
		d.note("operand %s: converted from %q to %q, because the loops visit it in that order; the copy is kept with its pattern",
			c.Tensor.Name, c.Tensor.Format, c.To)
	}
	Convert(a, best.conversions)
	d.Densities = densities(a, c)
	d.add(schedule.Reorder{Vars: best.order})
	d.workspaces(a)
	d.threads(a)
	return d, nil
}

// densities says where the numbers of entries are from.
func densities(a *index.Assignment, c *Constants) string {
	var counted, assumed []string
	for _, t := range a.Tensors() {
		switch {
		case t.Format.Dense():
		case t.NNZ > 0:
			counted = append(counted, t.Name)
		default:
			assumed = append(assumed, t.Name)
		}
	}
	var out []string
	if len(counted) > 0 {
		out = append(out, "measured for "+strings.Join(counted, ", "))
	}
	if len(assumed) > 0 {
		out = append(out, fmt.Sprintf("a prior of %g for %s", c.Rho, strings.Join(assumed, ", ")))
	}
	return strings.Join(out, "; ")
}

// Convert changes the formats of operands of a.
func Convert(a *index.Assignment, conversions []Conversion) {
	for _, c := range conversions {
		c.Tensor.Permuted = reordered(c.Tensor.Format, c.To)
		c.Tensor.Format = c.To
	}
	unshare(a, conversions)
}

// reordered reports whether a conversion changes the order of the values and nothing else, so that a kernel can read them
// where they are. Blocks of a dense level below a sparse one are padded, and have to be copied.
func reordered(from, to format.Format) bool {
	padded := func(f format.Format) bool {
		g := f.Groups()
		return len(g) == 0 || g[len(g)-1].Last < f.Order()-1
	}
	return !slices.Equal(from.ModeOrder, to.ModeOrder) && !padded(from) && !padded(to)
}

// unshare gives the tensors that share a pattern with a converted one arrays of their own.
func unshare(a *index.Assignment, conversions []Conversion) {
	converted := func(t *index.Tensor) bool {
		return slices.ContainsFunc(conversions, func(c Conversion) bool { return c.Tensor == t })
	}
	for _, t := range a.Tensors() {
		if t.SamePattern != nil && (converted(t) || converted(t.Owner())) {
			t.SamePattern = nil
		}
	}
}

// free is a name for what a schedule makes: base, or where a already has a tensor or a variable of that name, a longer one.
func free(a *index.Assignment, base string) string {
	names := index.Names([]*index.Assignment{a})
	for names[base] || slices.Contains(a.Vars(), index.Var(base)) {
		base += "_"
	}
	return base
}

func (d *Decision) add(c schedule.Command) { d.Commands = append(d.Commands, c) }

func (d *Decision) note(text string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(text, args...))
}

func names(vars []index.Var) string {
	var out string
	for i, v := range vars {
		if i > 0 {
			out += " "
		}
		out += string(v)
	}
	return out
}

// storageOrder is the result's variables, outermost level first.
func storageOrder(a *index.Access) []index.Var {
	out := make([]index.Var, len(a.Vars))
	for l, m := range a.Tensor.Format.ModeOrder {
		out[l] = a.Vars[m]
	}
	return out
}

// discovered reports whether the kernel finds the result's pattern.
func discovered(t *index.Tensor) bool { return t.SamePattern == nil && len(t.Format.Groups()) > 0 }

// prefix is how many leading loops are the result's variables in storage order.
func prefix(order, stored []index.Var) int {
	n := 0
	for n < len(order) && n < len(stored) && order[n] == stored[n] {
		n++
	}
	return n
}

// workspaces decides where temporaries go.
func (d *Decision) workspaces(a *index.Assignment) {
	if discovered(a.LHS.Tensor) {
		d.discover(a)
		return
	}
	d.accumulate(a)
}

// discover places the workspace of a result whose pattern is found: nothing where its entries come in storage order, a
// row where only the last variable comes out of order, a hash table or a sorted list for everything else.
func (d *Decision) discover(a *index.Assignment) {
	stored := storageOrder(a.LHS)
	groups := a.LHS.Tensor.Format.Groups()
	sparse := groups[len(groups)-1].Last + 1 // levels that are appended to; what follows are dense blocks
	q := prefix(d.Order, stored)
	shuffled := slices.IndexFunc(stored, func(v index.Var) bool { return unordered(a.RHS, v) })
	if shuffled >= 0 {
		q = min(q, shuffled)
	}
	reduced := len(a.Reduced()) > 0
	switch {
	case q >= sparse && sparse < len(stored):
	case q == len(stored) && !reduced:
	case q == len(stored):
		d.add(schedule.Precompute{At: q, Name: free(a, "w"), Storage: cin.Tile})
		d.note("workspace %s: a scalar, since %v is summed inside each element", free(a, "w"), a.Reduced())
	case inserts(a, d.constants, q) && shuffled < 0:
		d.add(schedule.Assemble{Insert: true})
		d.note("%s is filled by insertion: its rows are counted first, then entries go to their rows as they come", a.LHS.Tensor.Name)
	case q == len(stored)-1 && sparse == len(stored) && !tooLong(a, d.constants, stored[q]):
		d.add(schedule.Precompute{At: q, Name: free(a, "w"), Storage: cin.Row})
		d.note("workspace %s: a dense row over %s with a list of its entries, since the sum over %v scatters into it",
			free(a, "w"), stored[q], a.Reduced())
	default:
		d.scattered(a, min(q, sparse-1), stored)
	}
}

// unordered reports whether the loop over v meets coordinates in no order.
func unordered(e index.Expr, v index.Var) bool {
	return slices.ContainsFunc(lattice.Loop(e, v).Iterators(), func(it lattice.Iterator) bool {
		return !it.Access.Tensor.Format.Levels[it.Level].Props().Ordered
	})
}

// longRow is the length up to which a dense row is made however few its entries are.
const longRow = 1 << 20

// tooLong reports whether a dense row over v would be far longer than everything that is stored.
func tooLong(a *index.Assignment, c *Constants, v index.Var) bool {
	stored := int64(longRow)
	for _, acc := range index.Accesses(a.RHS) {
		stored += int64(c.SparseTop) * acc.Tensor.NNZ
	}
	return a.Extent(v) > stored
}

// inserts reports whether a result whose entries come out of order can be filled by insertion; the first q loops are its
// variables in storage order.
func inserts(a *index.Assignment, c *Constants, q int) bool {
	return q < a.LHS.Tensor.Order() && len(a.Reduced()) == 0 && insertable(a, c)
}

// insertable reports whether a result has rows that can be counted, not far more than there are entries.
func insertable(a *index.Assignment, c *Constants) bool {
	_, ok := a.LHS.Tensor.Format.Inserted()
	return ok && (a.LHS.Tensor.Format.Rowwise() || !tooLong(a, c, storageOrder(a.LHS)[0]))
}

// accumulate keeps sums of a result with known positions in registers: a scalar where the reduction is innermost, a tile
// where one dense loop stands inside it.
func (d *Decision) accumulate(a *index.Assignment) {
	reduced := a.Reduced()
	innermost := d.Order[max(0, len(d.Order)-1):]
	if len(reduced) == 0 {
		d.lanes(a, innermost)
		return
	}
	first := slices.IndexFunc(d.Order, func(v index.Var) bool { return slices.Contains(reduced, v) })
	inner := slices.DeleteFunc(slices.Clone(d.Order[first:]), func(v index.Var) bool { return slices.Contains(reduced, v) })
	switch {
	case len(inner) == 0:
		d.add(schedule.Precompute{At: first, Name: free(a, "w"), Storage: cin.Tile})
		d.note("workspace %s: a scalar, since %v is summed inside each element", free(a, "w"), reduced)
		d.lanes(a, innermost)
	case len(inner) == 1 && inner[0] == d.Order[len(d.Order)-1] && dense(a, inner[0]) && alike(a, inner[0]):
		d.tile(a, inner[0], first)
	case slices.Contains(inner, innermost[0]):
		d.lanes(a, innermost)
	default: // lanes of a sum would write the same element
		at := len(d.Order)
		for slices.Contains(reduced, d.Order[at-1]) {
			at--
		}
		d.add(schedule.Precompute{At: at, Name: free(a, "w"), Storage: cin.Tile})
		d.note("workspace %s: a scalar, since %v is summed inside each element", free(a, "w"), d.Order[at:])
		d.lanes(a, innermost)
	}
}

// alike reports whether all elements of a tile over v have a term where one has, as far as the result tells them apart.
func alike(a *index.Assignment, v index.Var) bool {
	levels := a.LHS.Tensor.Format.Levels
	level := a.LHS.Tensor.Format.LevelOf(slices.Index(a.LHS.Vars, v))
	below := slices.ContainsFunc(levels[level:], func(l format.Level) bool { return !l.Props().Full })
	return a.LHS.Tensor.SamePattern != nil || !below || !index.Varies(a.RHS, v)
}

// lanes vectorizes an innermost loop over a variable that every tensor stores densely.
func (d *Decision) lanes(a *index.Assignment, innermost []index.Var) {
	if len(innermost) != 1 || !dense(a, innermost[0]) {
		return
	}
	if n := a.Extent(innermost[0]); n > 0 && index.Exact(n) {
		d.add(schedule.Bound{Var: innermost[0], Extent: n}) // short loops gain from constant bounds
	}
	d.add(schedule.Vectorize{Var: innermost[0]})
}

// dense reports whether the loop over v visits every coordinate without matching anything stored.
func dense(a *index.Assignment, v index.Var) bool {
	l := lattice.Build(a.RHS, v)
	if !l.Full() || len(l.Iterators()) > 0 {
		return false
	}
	m := slices.Index(a.LHS.Vars, v)
	return m < 0 || a.LHS.Tensor.Format.Levels[a.LHS.Tensor.Format.LevelOf(m)].Props().Full
}
