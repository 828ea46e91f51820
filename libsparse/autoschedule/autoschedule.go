// Package autoschedule chooses the schedule of a program: the order of the loops, the operands that need a converted copy
// for it, workspaces, tiles, and what runs on threads and in vector lanes.
//
// It sees representative extents, entry counts and formats, never coordinates, and takes well under a millisecond. It
// follows the shape of Algorithm 1 of Scorch (loop orders by a cost model, workspaces by reduction placement); a candidate
// is a plan, plan.go, and the cost model is in cost.go. It emits schedule commands and must not build loops itself.
package autoschedule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/schedule"
)

// Conversion is an operand to convert to another format before the kernel runs, or a dense result that is computed with its modes
// in another order and copied after it.
type Conversion struct {
	Tensor *index.Tensor
	To     format.Format
	Values bool // whether values are put into the new order, too, in place of being read where they are
	Copied bool // the same, in each call
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
	// Terms are those of the order that was chosen.
	Terms     Terms
	constants *Constants
	machine   Machine
	plan      *plan
	converted bind.Assignment // with the operands as they are after conversions
}

// Decide chooses a schedule for a, to be run on the processor that a target calls cpu. The formats of operands stay as
// they are: Convert gives the formats of the decision.
func Decide(a bind.Assignment, cpu string) (*Decision, error) {
	return DecideFor(a, Machine{CPU: cpu})
}

// DecideFor is Decide where more is known of the machine.
func DecideFor(a bind.Assignment, m Machine) (*Decision, error) {
	c, profile := ConstantsFor(m.CPU)
	return decide(newModel(a, c, m), profile)
}

// DecideInPlace is DecideFor where an epilogue reads the result in the order of its modes, which stays as it is. It is an error where another
// order costs less, with a pass of its own for the epilogue.
func DecideInPlace(a bind.Assignment, m Machine) (*Decision, error) {
	c, profile := ConstantsFor(m.CPU)
	prices := newModel(a, c, m)
	best, err := decide(prices, profile)
	if err != nil || !slices.ContainsFunc(best.Conversions, func(c Conversion) bool { return c.Tensor == a.LHS.Tensor }) {
		return best, err
	}
	pass := prices.copying(&prices.result)
	prices = newModel(a, c, m)
	prices.inPlace = true
	d, err := decide(prices, profile)
	if err == nil && d.Terms.Sum() > best.Terms.Sum()+pass {
		return nil, diag.Errorf(diag.Unsupported, "%s: an epilogue reads the result in an order that costs more than a pass of its own", a)
	}
	return d, err
}

func decide(prices *model, profile string) (*Decision, error) {
	a, c := prices.assignment, prices.constants
	d := &Decision{Profile: profile, constants: c, machine: prices.machine}
	order, _ := prices.search(c.Exhaustive, math.Inf(1), &d.Considered)
	if order == nil {
		return nil, diag.Errorf(diag.Unsupported, "%s: no loop order suits the formats", a)
	}
	terms, _ := prices.price(order)
	d.follow(a, prices.plan(order, terms))
	d.Summary = fmt.Sprintf("loops %s: estimated cost %.3g, best of %d orders", names(d.Order), terms.Sum(), len(d.Considered))
	return d, nil
}

// conversion says what is converted, why and when.
func conversion(a bind.Assignment, c Conversion) string {
	what, when := "operand %s: converted", "the copy is kept with its pattern"
	switch from := a.Of(c.Tensor).Format; {
	case c.Tensor == a.LHS.Tensor:
		what, when = "result %s: converted", "it is copied after the kernel"
	case from.Dense():
		when = "it is copied in each call"
	}
	return fmt.Sprintf(what+" from %q to %q, because the loops visit it in that order; %s", c.Tensor.Name, a.Of(c.Tensor).Format, c.To, when)
}

// Densities says of the sparse operands whether their entries were counted or have the prior density; "" where there are none.
func (d *Decision) Densities() string {
	var counted, assumed []string
	if d.converted.Assignment == nil {
		return "" // the caller's schedule
	}
	for _, t := range d.converted.Tensors() {
		switch s := d.converted.Of(t); {
		case s.Format.Dense():
		case s.NNZ > 0:
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
		out = append(out, fmt.Sprintf("a prior of %g for %s", d.constants.Rho, strings.Join(assumed, ", ")))
	}
	return strings.Join(out, "; ")
}

// Convert is a with its operands as they are stored after conversions. What shares a pattern with a converted one has arrays of
// its own then, unless it is converted from the same format to the same one: a transpose has other arrays in one format.
func Convert(a bind.Assignment, conversions []Conversion) bind.Assignment {
	if len(conversions) == 0 {
		return a
	}
	to, carried := map[*index.Tensor]format.Format{}, map[*index.Tensor]bool{}
	for _, c := range conversions {
		to[c.Tensor], carried[c.Tensor] = c.To, c.Values || c.Copied
	}
	out := a
	for _, t := range a.Tensors() {
		f, converted := to[t]
		s := *a.Of(t)
		g, ownerConverted := to[a.Owner(t)]
		if !converted && (s.SamePattern == nil || !ownerConverted) {
			continue
		}
		if converted != ownerConverted || !f.Equal(g) || !s.Format.SameModes(a.Of(a.Owner(t)).Format) {
			s.SamePattern = nil
		}
		if converted {
			s.Permuted, s.Format = !carried[t] && reordered(s.Format, f), f
		}
		out = out.With(t, s)
	}
	if f, computed := to[a.LHS.Tensor]; computed {
		s := *a.Result()
		s.Format = f
		out = out.With(a.LHS.Tensor, s)
	}
	return out
}

// reordered reports whether a conversion changes the order of the values and nothing else, so that a kernel can read them
// where they are. Blocks of a dense level below a sparse one are padded, and have to be copied, as has what is brought to levels
// with places that no value comes from.
func reordered(from, to format.Format) bool {
	inBlocks := func(f format.Format) bool {
		g := f.Groups()
		return len(g) == 0 || g[len(g)-1].Last < f.Order()-1
	}
	padded := slices.ContainsFunc(to.Levels, func(l format.Level) bool { return l.Props().Padded })
	return !slices.Equal(from.ModeOrder, to.ModeOrder) && !padded && !inBlocks(from) && !inBlocks(to)
}

// free is an unused name for a workspace or variable: base, or a longer one where a has that name already.
func free(a bind.Assignment, base string) string {
	accesses := append(index.Accesses(a.RHS), a.LHS)
	taken := func(acc *index.Access) bool {
		return acc.Tensor.Name == base || slices.Contains(acc.Vars, index.Var(base))
	}
	for slices.ContainsFunc(accesses, taken) {
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

// carryOut writes the commands of a plan, for a with the operands converted.
func (d *Decision) carryOut(a bind.Assignment, p *plan) {
	d.plan = p
	d.add(schedule.Reorder{Vars: p.order})
	for _, v := range p.order[:max(0, len(p.order)-1)] {
		if a.Extent(v) == 1 && len(a.Reduced()) > 0 && dense(a, v) {
			d.add(schedule.Exactly(v, 1)) // what a reduction inside reads is then one element after the other
		}
	}
	buffer := func() bool { return d.buffer(a, p.workspace) }
	if p.lookup.operand != nil {
		buffer = func() bool { return d.lookUp(a, p) }
	}
	if buffer() {
		return // threads divide the loop inside that over tiles
	}
	d.ahead(a)
	if len(p.order) > 0 {
		d.divide(a, p.sharing)
	}
	if p.bounded {
		d.add(schedule.Assemble{Bounded: true})
		d.note("rows of %s are written in one pass, to room for as many entries as they may have, and moved together", a.LHS.Tensor.Name)
		d.choose(a, p)
	}
}

// choose has values of a sum of two scattered operands chosen without branches (measured: sums of new patterns, 8 real matrices with scattered
// entries: 1.0 to 1.6 times faster where the other operand has the columns in another order). Operands of which a sample foretells which has the
// next entry, as where one has the columns of the other moved by one, are not said to be scattered: with branches these are as much faster.
func (d *Decision) choose(a bind.Assignment, p *plan) {
	v := p.order[len(p.order)-1]
	if l := lattice.Loop(a.Table, a.RHS, v); len(a.Reduced()) == 0 && len(l.Iterators()) == 2 && len(l.Points) == 3 && scattered(a) {
		d.add(schedule.MergeBy{Var: v, Choose: true})
		d.note("values over %s are chosen without branches, since nothing foretells which operand has the next entry", v)
	}
}

// buffer writes the commands of a workspace, and of lanes. It reports whether they have divided a loop among threads.
func (d *Decision) buffer(a bind.Assignment, w workspace) (shared bool) {
	name, over := free(a, "w"), a.Stored(a.LHS)
	if w.kind > strip {
		over = over[w.at:]
	}
	switch w.kind {
	case inMemory:
		d.prefetch(a)
	case insertion:
		d.add(schedule.Assemble{Insert: true})
		d.note("%s is filled by insertion: its rows are counted first, then entries go to their rows as they come", a.LHS.Tensor.Name)
	case scalar:
		d.sum(a, w, name)
	case strip:
		return d.tile(a, w)
	case row:
		storage, marking := d.constants.marks(a, w)
		d.precompute(w.at, name, storage, "a dense row over %s with "+marking, over[0], a.Reduced())
	case block:
		d.precompute(w.at, name, cin.Row, "a place for each element over %v, few enough to stay in a near cache, with a list of those in use", over)
	case hashTable:
		d.precompute(w.at, name, cin.Hash, "a hash table over %v, sorted before it is read, since about %.2g terms for each of its elements come in another order",
			over, w.terms/w.elements())
	case sortedList:
		d.precompute(w.at, name, cin.List, "a list over %v, sorted before it is read, since the entries come in another order", over)
	}
	innermost := d.Order[max(0, len(d.Order)-1):]
	// Entries that are found one by one have no lanes. The numbers in a block have, since it is written where its entry is found, and so have
	// the terms that are summed to one entry.
	block := w.kind == unbuffered && len(innermost) == 1 && slices.Contains(a.LHS.Vars, innermost[0])
	if block || w.kind == scalar || !a.Result().Discovered() {
		d.lanes(a, innermost)
	}
	return false
}

// precompute adds a workspace and why it is there.
func (d *Decision) precompute(at int, name string, storage cin.Storage, why string, args ...any) {
	d.add(schedule.Precompute{At: at, Name: name, Storage: storage})
	d.note("workspace "+name+": "+why, args...)
}

// tooLong reports whether a dense row over v would be far longer than everything that is stored.
func tooLong(a bind.Assignment, c *Constants, v index.Var) bool {
	stored := int64(c.LongRow)
	for _, acc := range index.Accesses(a.RHS) {
		stored += int64(c.SparseTop) * a.Of(acc.Tensor).NNZ
	}
	return a.Extent(v) > stored
}

// insertable reports whether a result has countable rows, and not far more of them than entries.
func insertable(a bind.Assignment, c *Constants) bool {
	_, ok := a.Result().Format.Inserted()
	return ok && (a.Result().Format.Rowwise() || !tooLong(a, c, a.Stored(a.LHS)[0]))
}

// alike reports whether all elements of a tile over v have a term where one has, as far as the result tells them apart.
func alike(a bind.Assignment, v index.Var) bool {
	levels := a.Result().Format.Levels
	level := a.Result().Format.LevelOf(slices.Index(a.LHS.Vars, v))
	below := slices.ContainsFunc(levels[level:], func(l format.Level) bool { return !l.Props().Full })
	return a.Result().SamePattern != nil || !below || !a.Varies(a.RHS, v)
}

// lanes vectorizes an innermost loop over a variable that every tensor stores densely.
func (d *Decision) lanes(a bind.Assignment, innermost []index.Var) {
	if len(innermost) != 1 || !dense(a, innermost[0]) {
		return
	}
	if least, most, known := index.Bounds(a.Extent(innermost[0])); known && least > 0 {
		d.add(schedule.Bound{Var: innermost[0], Least: least, Most: most}) // short loops gain from constant bounds
	}
	d.add(schedule.Vectorize{Var: innermost[0]})
}

// dense reports whether the loop over v visits every coordinate without matching anything stored.
func dense(a bind.Assignment, v index.Var) bool {
	if !lattice.Build(a.Table, a.RHS, v).Dense() {
		return false
	}
	m := slices.Index(a.LHS.Vars, v)
	return m < 0 || a.Result().Format.Levels[a.Result().Format.LevelOf(m)].Props().Full
}
