// Package lattice decides how the loop over one index variable visits coordinates: which stored levels are walked
// together, in which order they run out, and which part of the expression is left at each point.
//
// It must not emit code. Merge lattices are those of Kjolstad, Kamil, Chou, Lugato and Amarasinghe, "The Tensor Algebra
// Compiler".
package lattice

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Iterator walks the stored coordinates of one level below one path of coordinates. Tensors with the same pattern that
// are accessed through the same variables share their iterators.
type Iterator struct {
	// Access is one of the accesses that the iterator belongs to.
	Access *index.Access
	// Level is the level that is walked.
	Level int
	// Key identifies the iterator.
	Key  string
	kind format.Level
}

// Props are the properties of the level.
func (it Iterator) Props() format.Props { return it.kind.Props() }

// NewIterator is the iterator over a level of an access.
func NewIterator(b *bind.Table, a *index.Access, level int) Iterator {
	return Iterator{Access: a, Level: level, Key: Key(b, a, level), kind: b.Of(a.Tensor).Format.Levels[level]}
}

// Key identifies the positions of level of an access: the owner of the pattern, and the variables down to that level.
func Key(b *bind.Table, a *index.Access, level int) string {
	var text strings.Builder
	text.WriteString(b.Owner(a.Tensor).Name)
	for _, m := range b.Of(a.Tensor).Format.ModeOrder[:level+1] {
		text.WriteString("," + a.Index(m))
	}
	return text.String()
}

// Point is a set of iterators that have coordinates left. Full says that every coordinate of the variable's extent is
// visited, and the iterators are only matched against it.
type Point struct {
	Iterators []Iterator
	Full      bool
	// Located iterators are not walked: the position of each coordinate is looked up in their levels. See Loop.
	Located []Iterator
}

// Has reports whether p has the iterator called key.
func (p Point) Has(key string) bool {
	return slices.ContainsFunc(p.Iterators, func(it Iterator) bool { return it.Key == key })
}

// below reports whether q's iterators are among p's.
func (p Point) below(q Point) bool {
	return !slices.ContainsFunc(q.Iterators, func(it Iterator) bool { return !p.Has(it.Key) })
}

func (p Point) String() string {
	var parts []string
	if p.Full {
		parts = append(parts, "all")
	}
	for _, it := range p.Iterators {
		parts = append(parts, fmt.Sprintf("%s.%d", it.Access.Tensor.Name, it.Level+1))
	}
	for _, it := range p.Located {
		parts = append(parts, fmt.Sprintf("at %s.%d", it.Access.Tensor.Name, it.Level+1))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// Lattice holds the points in the order in which their loops run: every point before the points below it.
type Lattice struct{ Points []Point }

func (l Lattice) String() string {
	parts := make([]string, len(l.Points))
	for i, p := range l.Points {
		parts[i] = p.String()
	}
	return strings.Join(parts, " > ")
}

// Full reports whether the loop visits every coordinate.
func (l Lattice) Full() bool { return l.Points[0].Full }

// Iterators are those of the first point: all that take part.
func (l Lattice) Iterators() []Iterator { return l.Points[0].Iterators }

// Below lists the points whose iterators are a subset of p's, p first.
func (l Lattice) Below(p Point) []Point {
	var out []Point
	for _, q := range l.Points {
		if q.Full == p.Full && p.below(q) {
			out = append(out, q)
		}
	}
	return out
}

// Build makes the lattice of v for an expression over tensors that are stored as b says. What doesn't store v sparsely is defined at every coordinate.
func Build(b *bind.Table, e index.Expr, v index.Var) Lattice {
	l := (&builder{table: b, variable: v, most: math.MaxInt}).build(e)
	if !l.Full() {
		return l
	}
	// With every coordinate visited, a point without that has nothing left to add.
	l.Points = slices.DeleteFunc(l.Points, func(p Point) bool { return !p.Full })
	return l
}

// IsWider reports whether the lattice of v has more than so many points, without making them all: n operands that may each be missing have 2^n.
func IsWider(b *bind.Table, e index.Expr, v index.Var, most int) bool {
	w := &builder{table: b, variable: v, most: most}
	w.build(e)
	return w.wider
}

// Everywhere reports whether loops over vs visit all coordinates, though operands may store few: what is left of e there has a value.
func Everywhere(b *bind.Table, e index.Expr, vs []index.Var) bool {
	return !slices.ContainsFunc(vs, func(v index.Var) bool { return !Build(b, e, v).Full() })
}

// builder makes lattices of a variable, of up to most points: what it makes of wider ones has no meaning.
type builder struct {
	table    *bind.Table
	variable index.Var
	most     int
	wider    bool
}

func (w *builder) build(e index.Expr) Lattice {
	switch e := e.(type) {
	case *index.Access:
		return access(w.table, e, w.variable)
	case *index.Call:
		return w.call(e)
	case *index.Missing:
		return Lattice{}
	default:
		return everywhere()
	}
}

// call combines the lattices of the arguments: the union, over the least sets of arguments that give the call a value, of
// the intersection of their lattices. Every other argument is matched against that. What is left of the expression at a
// point, see Restrict, may be nothing: a region may need that an argument has no value.
func (w *builder) call(c *index.Call) Lattice {
	args := make([]Lattice, len(c.Args))
	for k, arg := range c.Args {
		args[k] = w.build(arg)
	}
	var l Lattice
	least := c.Region.Least()
	for _, set := range least {
		part := everywhere()
		for k, arg := range args {
			if set&(1<<k) != 0 {
				part = w.join(part, arg, false)
			}
		}
		l = w.join(l, part, true)
	}
	for k, arg := range args {
		if !matched(least, k) {
			l = w.join(l, optional(arg), false)
		}
	}
	return l
}

// matched reports whether the points of a union over sets of arguments tell of argument k whether it has a value: it is in
// all sets, or one by itself.
func matched(sets []uint, k int) bool {
	return slices.Contains(sets, 1<<k) || !slices.ContainsFunc(sets, func(set uint) bool { return set&(1<<k) == 0 })
}

// optional is l for an operand that may be missing: every coordinate, matched against the stored ones.
func optional(l Lattice) Lattice { return join(everywhere(), l, true) }

// unconstrained reports whether l visits every coordinate and matches nothing, so that its intersection with another is that one.
func (l Lattice) unconstrained() bool { return len(l.Points) == 1 && l.Dense() }

func everywhere() Lattice { return Lattice{Points: []Point{{Full: true}}} }

func access(b *bind.Table, a *index.Access, v index.Var) Lattice {
	mode := slices.Index(a.Vars, v)
	if mode < 0 {
		return everywhere()
	}
	f := b.Of(a.Tensor).Format
	level := f.LevelOf(mode)
	if f.Levels[level].Props().Full {
		return everywhere()
	}
	return Lattice{Points: []Point{{Iterators: []Iterator{NewIterator(b, a, level)}}}}
}

// join is that of two lattices, the first of them where there are too many points.
func (w *builder) join(a, b Lattice, union bool) Lattice {
	if w.wider {
		return a
	}
	l := join(a, b, union)
	w.wider = len(l.Points) > w.most
	return l
}

// join combines two lattices. An intersection ends when one side does; a union goes on with what is left of the other.
func join(a, b Lattice, union bool) Lattice {
	switch {
	case union && len(a.Points) == 0, !union && a.unconstrained():
		return b
	case union && len(b.Points) == 0, !union && b.unconstrained():
		return a
	}
	var out Lattice
	for _, p := range a.Points {
		for _, q := range b.Points {
			out.add(p.with(q, union))
		}
	}
	if union {
		for _, p := range append(slices.Clone(a.Points), b.Points...) {
			out.add(p)
		}
	}
	out.sort()
	return out
}

// with is the point that has the iterators of p and of q; in a union it visits every coordinate where either does.
func (p Point) with(q Point, union bool) Point {
	r := Point{Full: p.Full && q.Full || union && (p.Full || q.Full), Iterators: slices.Clone(p.Iterators)}
	for _, it := range q.Iterators {
		if !r.Has(it.Key) {
			r.Iterators = append(r.Iterators, it)
		}
	}
	return r
}

// add appends a point, unless l has one with the same iterators.
func (l *Lattice) add(p Point) {
	if !slices.ContainsFunc(l.Points, func(q Point) bool { return q.Full == p.Full && q.below(p) && p.below(q) }) {
		l.Points = append(l.Points, p)
	}
}

// sort puts every point before the points below it.
func (l Lattice) sort() {
	slices.SortStableFunc(l.Points, func(p, q Point) int { return len(q.Iterators) - len(p.Iterators) })
}
