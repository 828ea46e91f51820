package kernels

import (
	"slices"
	"strings"

	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/pattern"
	"libsparse/libsparse/tune/space"
)

// shortestStrip is the length of the shortest strips that models have learned from: of shorter ones they know nothing, and expect too much.
const shortestStrip = 16

// move is a step away from the compiler's choice that makes sense by itself: the values of one or two parameters, such as the length of
// strips and the place of the loop over them.
type move []setting

// setting is a value of a parameter, both by number.
type setting struct {
	param int
	value float64
}

// moves are all steps away from the compiler's choice, but for how loops are divided among threads: models learn from kernels on one.
func (s *Search) moves() (all []move) {
	p := s.space
	for i, param := range p.params {
		name := param.Name
		switch {
		case name == "parallel" || name == "depth" || name == "unrolled" || strings.HasPrefix(name, "strip_at_"):
			continue
		case name == "workspace":
			all = append(all, s.pairs(i, p.places["depth"], len(p.vars))...)
		case name == "unroll":
			all = append(all, s.pairs(i, p.places["unrolled"], 1)...)
		case strings.HasPrefix(name, "strip_"):
			at := p.places["strip_at_"+strings.TrimPrefix(name, "strip_")]
			all = append(all, slices.DeleteFunc(s.pairs(i, at, len(p.vars)-1), func(m move) bool {
				n := param.Values[int(m[0].value)]
				return n > 1 && n < shortestStrip
			})...)
		default:
			for value := range param.Size() {
				all = append(all, move{{i, float64(value)}})
			}
			if operand, ok := strings.CutPrefix(name, "format_"); ok {
				all = append(all, s.turns(i, operand)...)
			}
		}
	}
	return slices.DeleteFunc(all, func(m move) bool {
		at, ok := s.after(m)
		return !ok || slices.Equal(at, p.origin)
	})
}

// pairs are the values of a parameter with those of a second one up to a number.
func (s *Search) pairs(first, second, most int) (all []move) {
	for value := range s.space.params[first].Size() {
		for with := range min(most+1, s.space.params[second].Size()) {
			all = append(all, move{{first, float64(value)}, {second, float64(with)}})
		}
	}
	return all
}

// turns are the formats into which values are brought and whose modes are in another order, each with the orders of loops that visit an
// operand so.
func (s *Search) turns(param int, operand string) (all []move) {
	a := s.nest.Assignment
	accesses := index.Accesses(a.RHS)
	at := slices.IndexFunc(accesses, func(acc *index.Access) bool { return acc.Tensor.Name == operand })
	if at < 0 {
		return nil
	}
	acc, orders := accesses[at], s.space.places["order"]
	for value, label := range s.space.params[param].Labels {
		text, carried := strings.CutSuffix(label, withValues)
		f, err := format.Parse(text)
		if !carried || err != nil || slices.Equal(f.ModeOrder, a.Of(acc.Tensor).Format.ModeOrder) {
			continue
		}
		for order := range s.space.params[orders].Size() {
			turned := move{{orders, float64(order)}, {param, float64(value)}}
			var places []int
			if point, ok := s.after(turned); ok {
				for _, mode := range f.ModeOrder {
					places = append(places, slices.Index(s.order(point), acc.Vars[mode]))
				}
			}
			if slices.IsSorted(places) && len(places) > 0 {
				all = append(all, turned)
			}
		}
	}
	return all
}

// after is the compiler's choice after moves; false where two of them change the same, or constraints are broken.
func (s *Search) after(moves ...move) (space.Point, bool) {
	at := slices.Clone(s.space.origin)
	for i, m := range moves {
		for _, set := range m {
			for _, earlier := range moves[:i] {
				if slices.ContainsFunc(earlier, func(o setting) bool { return o.param == set.param }) {
					return nil, false
				}
			}
			at[set.param] = set.value
		}
	}
	return at, s.points.Contains(at)
}

// Moves are all steps away from the compiler's choice that make sense by themselves, each the text of one or two parameters' values.
func (s *Search) Moves() []map[string]string {
	var all []map[string]string
	for _, m := range s.moves() {
		texts := map[string]string{}
		for _, set := range m {
			param := s.space.params[set.param]
			texts[param.Name] = param.Text(set.value)
		}
		all = append(all, texts)
	}
	return all
}

// Described is points as a model sees them.
type Described struct {
	Names    []string          `json:"names"`
	Features []pattern.Numbers `json:"features"` // of each point; null for one that the space does not have
}

// Describe is what a model sees of the compiler's choice with other values of some parameters.
func (s *Search) Describe(changes []map[string]string) (d Described) {
	for _, c := range changes {
		var found pattern.Numbers
		if at, ok := s.changed(c); ok {
			if f, ok := s.features(at, d.Names == nil); ok {
				for _, x := range f.values {
					found = append(found, float64(x))
				}
				d.Names = append(d.Names, f.names...)
			}
		}
		d.Features = append(d.Features, found)
	}
	return d
}

// Propose is the compiler's choice with other values of some parameters; false where the space has no such point, it can't be lowered, or
// it has the C of one before.
func (s *Search) Propose(changes map[string]string) (p Proposal, ok bool) {
	at, ok := s.changed(changes)
	if !ok || !s.feasible(at) {
		return p, false
	}
	return s.proposal(at), true
}

// changed is the compiler's choice with other values of some parameters, if there is such a point.
func (s *Search) changed(changes map[string]string) (space.Point, bool) {
	at := slices.Clone(s.space.origin)
	for name, text := range changes {
		place, known := s.space.places[name]
		if !known {
			return nil, false
		}
		x, err := s.space.params[place].Coordinate(text)
		if err != nil {
			return nil, false
		}
		at[place] = x
	}
	return at, s.points.Contains(at)
}
