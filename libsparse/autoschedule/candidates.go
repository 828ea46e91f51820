package autoschedule

import (
	"fmt"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
)

// Candidate is one of the ways to run an assignment: commands, with the conversions among them.
type Candidate struct {
	Order    []index.Var
	Terms    Terms
	Commands []schedule.Command
	// Plain says that what follows from the order is as Decide would choose it; Tiled that a loop is cut into strips.
	Plain, Tiled bool
}

// stripBytes are the widths of strips that candidates try: registers, and parts of caches.
var stripBytes = []int64{64, 256, 1 << 14}

// Candidates lists orders of the loops, each with the conversions that it needs and what follows from it as Decide would
// choose it; and unless plain is set, with workspaces and tilings of every kind. Not all can be carried out: the caller
// applies them to copies of a.
func Candidates(a bind.Assignment, cpu string, plain bool) []Candidate {
	c, _ := ConstantsFor(cpu)
	m := newModel(a, c, Machine{CPU: cpu})
	order := make([]int, len(m.vars))
	for i := range order {
		order[i] = i
	}
	var out []Candidate
	permute(order, 0, func(o []int) {
		terms, ok := m.price(o)
		if !ok {
			return
		}
		v := variants{model: m, numbers: o, plan: m.plan(o, terms)}
		bound := Convert(a, v.conversions)
		out = append(out, v.plain(bound))
		if !plain {
			out = append(out, v.placed(bound)...)
			out = append(out, v.tiled(bound)...)
		}
	})
	return out
}

// variants are the plan of one order, and others with its loops.
type variants struct {
	*plan
	model   *model // which has priced the order last
	numbers []int  // the order
}

func (v *variants) candidate(commands []schedule.Command) Candidate {
	all := make([]schedule.Command, 0, len(v.conversions)+len(commands))
	for _, c := range v.conversions {
		all = append(all, schedule.Convert{Tensor: c.Tensor.Name, To: c.To, Values: c.Values})
	}
	return Candidate{Order: v.order, Terms: v.terms, Commands: append(all, commands...)}
}

// plain is the order with workspaces and threads as Decide would choose them.
func (v *variants) plain(a bind.Assignment) (out Candidate) {
	d := &Decision{Order: v.order, constants: v.model.constants, machine: v.model.machine}
	d.carryOut(a, v.plan)
	out = v.candidate(d.Commands)
	out.Plain = true
	return out
}

// storages are the kinds of workspace that can hold a's result.
func storages(a bind.Assignment) []cin.Storage {
	if a.Result().Discovered() {
		return []cin.Storage{cin.Tile, cin.Row, cin.List}
	}
	return []cin.Storage{""} // a tile or an array, by its size
}

// placed is the order without a workspace and with one at each depth.
func (v *variants) placed(a bind.Assignment) (out []Candidate) {
	out = append(out, v.finished(a, schedule.Reorder{Vars: v.order}))
	if a.Result().Discovered() {
		out = append(out, v.finished(a, schedule.Reorder{Vars: v.order}, schedule.Assemble{Insert: true}))
	}
	for at := range len(v.order) + 1 {
		for _, s := range storages(a) {
			out = append(out, v.finished(a, schedule.Reorder{Vars: v.order}, schedule.Precompute{At: at, Name: free(a, "w"), Storage: s}))
		}
	}
	return out
}

// tiled is the order with a loop cut into strips, whose loop stands anywhere further out, alone and with a workspace inside it.
func (v *variants) tiled(a bind.Assignment) (out []Candidate) {
	for at, cut := range v.order {
		for _, bytes := range stripBytes {
			factor := bytes / int64(max(a.LHS.Tensor.Elem.Accum().Size(), 1))
			if n := a.Extent(cut); n <= factor {
				continue
			}
			for to := range at + 1 {
				out = append(out, v.strips(a, at, to, factor)...)
			}
		}
	}
	return out
}

// strips cuts the loop at a depth, with the loop over strips at depth to.
func (v *variants) strips(a bind.Assignment, at, to int, factor int64) (out []Candidate) {
	cut := v.order[at]
	outer, inner := index.Var(free(a, string(cut)+"0")), index.Var(free(a, string(cut)+"1"))
	nest := slices.Clone(v.order)
	nest[at] = inner
	nest = slices.Insert(nest, to, outer)
	split := schedule.Split{Var: cut, Outer: outer, Inner: inner, Factor: factor}
	if dense(a, cut) {
		split.Tail = min(factor, 16)
	}
	commands := []schedule.Command{split, schedule.Reorder{Vars: nest}}
	out = append(out, v.finished(a, commands...))
	for depth := to + 1; depth < len(nest); depth++ {
		for _, s := range storages(a) {
			out = append(out, v.finished(a, append(slices.Clone(commands), schedule.Precompute{At: depth, Name: free(a, "w"), Storage: s})...))
		}
	}
	return out
}

// finished adds lanes and threads.
func (v *variants) finished(a bind.Assignment, commands ...schedule.Command) Candidate {
	d := &Decision{Order: v.order, constants: v.model.constants, Commands: slices.Clone(commands)}
	innermost := v.order[len(v.order)-1:]
	split, tiled := commands[0].(schedule.Split)
	switch {
	case !tiled || split.Var != innermost[0]:
		d.lanes(a, innermost)
	case dense(a, split.Var):
		d.add(schedule.Vectorize{Var: split.Inner})
	}
	loop, root := d.outermost()
	d.divide(a, v.model.share(slices.Index(v.model.vars, root), root != loop, buffered(commands)))
	out := v.candidate(d.Commands)
	out.Tiled = tiled
	return out
}

// buffered is the workspace that commands make.
func buffered(commands []schedule.Command) workspace {
	for _, c := range commands {
		switch c := c.(type) {
		case schedule.Precompute:
			kind := map[cin.Storage]workspaceKind{cin.List: sortedList, cin.Row: row, cin.Scatter: row, cin.Bitmap: row, cin.Bytemap: row, cin.Blocks: row, cin.Adaptive: row}[c.Storage]
			return workspace{kind: max(kind, scalar), at: c.At}
		case schedule.Assemble:
			return workspace{kind: insertion}
		}
	}
	return workspace{}
}

// String is the commands as a schedule is written.
func (c Candidate) String() string {
	var out string
	for i, command := range c.Commands {
		if i > 0 {
			out += "; "
		}
		out += fmt.Sprint(command)
	}
	return out
}
