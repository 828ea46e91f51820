package kernels

import (
	"slices"
	"strings"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/schedule"
	"libsparse/libsparse/tune/space"
)

// slowest bounds what the cost model may expect of a point, in times the compiler's own choice: nobody waits for a loop over the whole
// of a sparse tensor's shape.
const slowest = 30

// mostPlaces bounds the elements of a workspace that has a place for each.
const mostPlaces = 1 << 24

// mostTouched bounds how many places are cleared in all.
const mostTouched = 1 << 28

// loop is a loop of the nest that a point describes.
type loop struct {
	name index.Var
	root index.Var // the variable of the expression
}

// draft is a point on its way to commands.
type draft struct {
	assignment bind.Assignment // with operands as they are converted
	decision   *autoschedule.Decision
	converted  []schedule.Command
	splits     []schedule.Split
	loops      []loop
	inner      map[index.Var]index.Var // the loop inside of strips, by variable
}

// commands are the ways to carry out a point, the best first: the first that can be lowered is meant.
func (s *Search) commands(at space.Point) ([][]schedule.Command, error) {
	d, err := s.draft(at)
	if err != nil {
		return nil, err
	}
	bases, err := s.bases(d, at)
	if err != nil {
		return nil, err
	}
	var all [][]schedule.Command
	for _, base := range bases {
		for _, c := range s.marked(d, base, at) {
			all = append(all, append(slices.Clone(d.converted), c...))
		}
	}
	return all, nil
}

// draft converts operands, and asks the compiler what follows from the order.
func (s *Search) draft(at space.Point) (*draft, error) {
	a := s.nest.Assignment
	var chosen []autoschedule.Conversion
	for _, t := range append(a.Tensors(), a.LHS.Tensor) {
		text := s.space.of("format_"+t.Name, at)
		if text == "" || text == auto {
			continue
		}
		text, values := strings.CutSuffix(text, withValues)
		f, err := format.Parse(text)
		if err != nil {
			return nil, err
		}
		if _, err := (schedule.Convert{Tensor: t.Name, To: f, Values: values}).Of(a); err != nil {
			return nil, err
		}
		chosen = append(chosen, autoschedule.Conversion{Tensor: t, To: f, Values: values})
	}
	a = autoschedule.Convert(a, chosen)
	decision, err := autoschedule.Ordered(a, s.nest.Machine, s.order(at))
	if err != nil {
		return nil, err
	}
	if decision.Terms.Sum() > slowest*s.cost {
		return nil, diag.Errorf(diag.Unsupported, "the loops take too long")
	}
	for _, c := range decision.Conversions {
		if slices.ContainsFunc(chosen, func(o autoschedule.Conversion) bool { return o.Tensor == c.Tensor }) {
			return nil, diag.Errorf(diag.Unsupported, "%s would be converted twice", c.Tensor.Name)
		}
	}
	d := &draft{assignment: autoschedule.Convert(a, decision.Conversions), decision: decision, inner: map[index.Var]index.Var{}}
	for _, c := range append(chosen, decision.Conversions...) {
		d.converted = append(d.converted, schedule.Convert{Tensor: c.Tensor.Name, To: c.To, Values: c.Values})
	}
	if passes := s.cut(d, at); passes > mostPasses {
		return nil, diag.Errorf(diag.Unsupported, "%d passes over what is stored are too many", passes)
	}
	return d, nil
}

// order is the loops' variables in the order of a point.
func (s *Search) order(at space.Point) []index.Var {
	var order []index.Var
	for text := range strings.SplitSeq(strings.Trim(s.space.of("order", at), "()"), ",") {
		order = append(order, s.space.vars[int(text[0]-'0')])
	}
	return order
}

// cut puts the loops over strips into the nest. passes is how often they have the loops inside of them begin anew.
func (s *Search) cut(d *draft, at space.Point) (passes int64) {
	passes = 1
	outside := make([][]loop, len(d.decision.Order)) // by place of the order
	for own, v := range d.decision.Order {
		factor := s.space.number("strip_"+string(v), at)
		if factor < 2 {
			continue
		}
		split := schedule.Split{Var: v, Outer: s.fresh(string(v) + "0"), Inner: s.fresh(string(v) + "1"), Factor: int64(factor)}
		if autoschedule.Dense(d.assignment, v) {
			split.Tail = int64(min(factor, 16))
		}
		place := s.space.number("strip_at_"+string(v), at)
		if place < own || split.Tail == 0 {
			passes = min(passes*max(1, d.assignment.Extent(v)/int64(factor)), 1<<30)
		}
		outside[place] = append(outside[place], loop{split.Outer, v})
		d.splits, d.inner[v] = append(d.splits, split), split.Inner
	}
	for place, v := range d.decision.Order {
		d.loops = append(d.loops, outside[place]...)
		d.loops = append(d.loops, loop{d.within(v), v})
	}
	return passes
}

// within is the loop over v that is inside of its strips.
func (d *draft) within(v index.Var) index.Var {
	if inner, ok := d.inner[v]; ok {
		return inner
	}
	return v
}

// fresh is a name that the expression does not have.
func (s *Search) fresh(name string) index.Var {
	for s.names[name] {
		name += "_"
	}
	return index.Var(name)
}

// bases are the commands for the nest and its workspace, with strips that are shifted in the end where that is possible.
func (s *Search) bases(d *draft, at space.Point) ([][]schedule.Command, error) {
	var all [][]schedule.Command
	for _, shifted := range []bool{true, false} {
		var splits []schedule.Command
		tails := false
		for _, c := range d.splits {
			tails = tails || c.Tail > 0
			if !shifted {
				c.Tail = 0
			}
			splits = append(splits, c)
		}
		if !shifted && !tails {
			break
		}
		base, err := s.base(d, splits, at)
		if err != nil {
			return nil, err
		}
		all = append(all, base)
	}
	return all, nil
}

func (s *Search) base(d *draft, splits []schedule.Command, at space.Point) ([]schedule.Command, error) {
	kind := s.space.of("workspace", at)
	if kind == auto {
		return d.planned(splits)
	}
	nest := schedule.Reorder{}
	for _, l := range d.loops {
		nest.Vars = append(nest.Vars, l.name)
	}
	base := append(slices.Clone(splits), nest)
	switch kind {
	case "none":
	case "insert":
		base = append(base, schedule.Assemble{Insert: true})
	case "bounded":
		base = append(base, schedule.Assemble{Bounded: true})
	default:
		storage := cin.Storage(kind)
		if kind == "array" {
			storage = "" // in registers where it is small
		}
		depth := s.space.number("depth", at)
		if depth > len(d.loops) {
			return nil, diag.Errorf(diag.Unsupported, "there are no %d loops", depth)
		}
		if !d.affords(storage, depth) {
			return nil, diag.Errorf(diag.Unsupported, "the workspace is too large")
		}
		base = append(base, schedule.Precompute{At: depth, Name: string(s.fresh("w")), Storage: storage})
	}
	if last := d.loops[len(d.loops)-1]; last.name == last.root {
		base = append(base, autoschedule.Lanes(d.assignment, last.root)...)
	} else if autoschedule.Dense(d.assignment, last.root) {
		base = append(base, schedule.Vectorize{Var: last.name})
	}
	return append(base, schedule.Parallelize{Var: d.loops[0].name}), nil
}

// affords reports whether a workspace below so many loops is small, and is not cleared too often.
func (d *draft) affords(storage cin.Storage, depth int) bool {
	places := d.places(depth)
	around := 0 // loops of the order
	for _, l := range d.loops[:depth] {
		if l.name == d.within(l.root) {
			around++
		}
	}
	touched := float64(places) * d.decision.Around(around)
	switch storage {
	case cin.List, cin.Hash:
		return true
	case cin.Row, cin.Scatter, cin.Adaptive:
		return places <= mostPlaces // only what was written is cleared
	case cin.Bitmap, cin.Blocks:
		touched /= 64
	case cin.Bytemap:
		touched /= 8
	}
	return places <= mostPlaces && touched <= max(mostTouched, 4*float64(d.places(0)))
}

// places is how many elements of the result there are for each iteration of so many outer loops.
func (d *draft) places(depth int) int64 {
	n := int64(1)
	for _, v := range d.assignment.LHS.Vars {
		if slices.IndexFunc(d.loops, func(l loop) bool { return l.name == d.within(v) }) >= depth {
			n = min(n*max(1, d.assignment.Extent(v)), 1<<32)
		}
	}
	return n
}

// planned is what the compiler would do with the order, around and inside of strips.
func (d *draft) planned(splits []schedule.Command) ([]schedule.Command, error) {
	if len(splits) == 0 {
		return d.decision.Commands, nil
	}
	base := splits
	for _, c := range d.decision.Commands {
		switch c := c.(type) {
		case schedule.Split, schedule.Divide:
			return nil, diag.Errorf(diag.Unsupported, "the compiler cuts loops itself")
		case schedule.Reorder:
			nest := schedule.Reorder{}
			for _, l := range d.loops {
				nest.Vars = append(nest.Vars, l.name)
			}
			base = append(base, nest)
		case schedule.Precompute:
			at := 0 // behind as many loops of the order
			for left := c.At; left > 0; at++ {
				if l := d.loops[at]; l.name == d.within(l.root) {
					left--
				}
			}
			c.At = at
			base = append(base, c)
		case schedule.Vectorize, schedule.Unroll, schedule.Prefetch, schedule.Adjacent, schedule.Gather:
			base = append(base, d.inStrips(c))
		case schedule.Ahead: // strips of rows don't follow each other
		case schedule.Parallelize:
			base = append(base, schedule.Parallelize{Var: d.loops[0].name, Race: c.Race})
		default:
			base = append(base, c)
		}
	}
	return base, nil
}

// inStrips is a command for a single loop, of the loop inside strips where the draft cuts it.
func (d *draft) inStrips(c schedule.Command) schedule.Command {
	switch c := c.(type) {
	case schedule.Vectorize:
		return schedule.Vectorize{Var: d.within(c.Var)}
	case schedule.Unroll:
		return schedule.Unroll{Var: d.within(c.Var), Factor: c.Factor}
	case schedule.Prefetch:
		return schedule.Prefetch{Var: d.within(c.Var), Distance: c.Distance, Begin: c.Begin}
	case schedule.Adjacent:
		return schedule.Adjacent{Var: d.within(c.Var)}
	case schedule.Gather:
		return schedule.Gather{Var: d.within(c.Var)}
	}
	return c
}

// marked are a base with what a point says of lanes and single loops, and of threads.
func (s *Search) marked(d *draft, base []schedule.Command, at space.Point) [][]schedule.Command {
	nest := vars(base)
	last := nest[len(nest)-1]
	if lanes := s.space.of("lanes", at); lanes != auto {
		base = without[schedule.Vectorize](base)
		if lanes == "innermost" {
			base = append(base, schedule.Vectorize{Var: last})
		}
	}
	if factor := s.space.of("unroll", at); factor != auto {
		base = without[schedule.Unroll](base)
		depth := len(nest) - 1 - s.space.number("unrolled", at)
		if n := s.space.number("unroll", at); n > 1 && depth >= 0 {
			unroll := schedule.Unroll{Var: nest[depth], Factor: int64(n)}
			base = slices.Insert(base, lanesAt(base), schedule.Command(unroll))
		}
	}
	if distance := s.space.of("prefetch", at); distance != auto {
		base = without[schedule.Prefetch](base)
		if v, n := d.stored(), s.space.number("prefetch", at); v != "" && n > 0 {
			base = append(base, schedule.Prefetch{Var: v, Distance: int64(n)})
		}
	}
	if s.space.of("merge", at) == "gallop" {
		for _, l := range d.loops {
			if l.name == d.within(l.root) && autoschedule.Meeting(d.assignment, l.root) {
				base = append(base, schedule.MergeBy{Var: l.name, Gallop: true})
			}
		}
	}
	return s.divided(d, base, at)
}

// divided are a base with the threads of a point: with and without where it leaves them to the compiler.
func (s *Search) divided(d *draft, base []schedule.Command, at space.Point) [][]schedule.Command {
	nest, parallel := vars(base), s.space.of("parallel", at)
	alone := without[schedule.Parallelize](base)
	switch parallel {
	case auto:
		if s.space.of("workspace", at) == auto && len(d.splits) == 0 {
			return [][]schedule.Command{base}
		}
		return [][]schedule.Command{base, alone}
	case "off":
		return [][]schedule.Command{alone}
	}
	depth, race, _ := strings.Cut(parallel, " ")
	if n := int(depth[0] - '0'); n < len(nest) {
		return [][]schedule.Command{append(alone, schedule.Parallelize{Var: nest[n], Race: cin.Race(race)})}
	}
	return nil
}

// stored is the innermost loop that visits what is stored; "" if none does.
func (d *draft) stored() index.Var {
	for _, l := range slices.Backward(d.loops) {
		if l.name == d.within(l.root) && !autoschedule.Dense(d.assignment, l.root) {
			return l.name
		}
	}
	return ""
}

// vars is the loops in the order that commands put them into.
func vars(commands []schedule.Command) (nest []index.Var) {
	for _, c := range commands {
		if r, ok := c.(schedule.Reorder); ok {
			nest = r.Vars
		}
	}
	return nest
}

// lanesAt is the place of the first command for lanes: loops around them are unrolled before.
func lanesAt(commands []schedule.Command) int {
	for i, c := range commands {
		if _, ok := c.(schedule.Vectorize); ok {
			return i
		}
	}
	return len(commands)
}

// without is commands without those of a kind.
func without[C schedule.Command](commands []schedule.Command) []schedule.Command {
	return slices.DeleteFunc(slices.Clone(commands), func(c schedule.Command) bool {
		_, ok := c.(C)
		return ok
	})
}
