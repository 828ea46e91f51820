package cin

import (
	"fmt"
	"slices"

	"libsparse/libsparse/index"
)

// Relation says how loop variables derive from others. The loops run over the variables in To; those in From follow from
// them. The set of relations is closed: *Split, *Fuse, *Positions, *Rename.
type Relation interface {
	From() []index.Var
	To() []index.Var
	String() string
}

// Split cuts the values of Parent into strips: Parent = Outer * width + Inner. The width is Factor, or where Parts is set
// whatever makes that many strips.
//
// The last strip ends where Parent does, unless Tail is set: then what is left over is covered by strips of width Tail,
// the last one shifted inwards so that it overlaps its neighbour. That is right only where the elements of a strip are
// set once, not reduced into. Joined says that there is one strip of width Factor and one of width Tail, which share the loops between the
// one over strips and those inside.
type Split struct {
	Parent, Outer, Inner index.Var
	Factor, Parts, Tail  int64
	Joined               bool
}

// From implements Relation.
func (s *Split) From() []index.Var { return []index.Var{s.Parent} }

// To implements Relation.
func (s *Split) To() []index.Var { return []index.Var{s.Outer, s.Inner} }

func (s *Split) String() string {
	switch {
	case s.Parts > 0:
		return fmt.Sprintf("divide %s = %s * ceil(%s / %d) + %s", s.Parent, s.Outer, s.Parent, s.Parts, s.Inner)
	case s.Joined:
		return fmt.Sprintf("split %s = %s * %d + %s, tail %d, joined", s.Parent, s.Outer, s.Factor, s.Inner, s.Tail)
	case s.Tail > 0:
		return fmt.Sprintf("split %s = %s * %d + %s, tail %d", s.Parent, s.Outer, s.Factor, s.Inner, s.Tail)
	default:
		return fmt.Sprintf("split %s = %s * %d + %s", s.Parent, s.Outer, s.Factor, s.Inner)
	}
}

// Fuse runs one loop over the pairs of two nested ones: Fused = Outer * |Inner| + Inner.
type Fuse struct{ Outer, Inner, Fused index.Var }

// From implements Relation.
func (f *Fuse) From() []index.Var { return []index.Var{f.Outer, f.Inner} }

// To implements Relation.
func (f *Fuse) To() []index.Var { return []index.Var{f.Fused} }

func (f *Fuse) String() string {
	return fmt.Sprintf("fuse %s = %s * |%s| + %s", f.Fused, f.Outer, f.Inner, f.Inner)
}

// Positions visits what levels First to Last of Access store in place of the coordinates of Parent: the variable of one
// level, a strip of it, or the fused variables of adjacent levels. Pos is the position in level Last.
type Positions struct {
	Parent, Pos index.Var
	Access      *index.Access
	First, Last int
}

// From implements Relation.
func (p *Positions) From() []index.Var { return []index.Var{p.Parent} }

// To implements Relation.
func (p *Positions) To() []index.Var { return []index.Var{p.Pos} }

func (p *Positions) String() string {
	return fmt.Sprintf("positions %s: %s as stored in %s", p.Pos, p.Parent, p.Access)
}

// Rename gives the loops on one side of a workspace variables of their own: As runs over the values of Of. It is the only relation
// beside which others may divide the same variable: those are about the loops that go on to run over Of.
type Rename struct{ Of, As index.Var }

// From implements Relation.
func (r *Rename) From() []index.Var { return []index.Var{r.Of} }

// To implements Relation.
func (r *Rename) To() []index.Var { return []index.Var{r.As} }

func (r *Rename) String() string { return fmt.Sprintf("rename %s = %s", r.Of, r.As) }

// Derivation is the relation that v derives from, or nil for a variable of the source.
func (p *Program) Derivation(v index.Var) Relation {
	for _, r := range p.Relations {
		if slices.Contains(r.To(), v) {
			return r
		}
	}
	return nil
}

// Original is the variable whose values v runs over: v itself, unless it is a new name for another.
func (p *Program) Original(v index.Var) index.Var {
	for {
		r, ok := p.Derivation(v).(*Rename)
		if !ok {
			return v
		}
		v = r.Of
	}
}

// Follows is the relation that gives v from other variables, or nil where a loop runs over v itself. Which it is depends on
// the place in the program: here says which variables the loops around it run over.
func (p *Program) Follows(v index.Var, here func(index.Var) bool) Relation {
	if here(v) {
		return nil
	}
	for _, r := range p.Relations {
		missing := func(t index.Var) bool { return !p.Visited(t, here) }
		if slices.Contains(r.From(), v) && !slices.ContainsFunc(r.To(), missing) {
			return r
		}
	}
	return nil
}

// Visited reports whether the loops around a place give v.
func (p *Program) Visited(v index.Var, here func(index.Var) bool) bool {
	return here(v) || p.Follows(v, here) != nil
}

// Leaves are those of the loops around a place that visit v, outermost first; nil where they don't give v.
func (p *Program) Leaves(v index.Var, loops []index.Var) []index.Var {
	here := func(w index.Var) bool { return slices.Contains(loops, w) }
	r := p.Follows(v, here)
	switch {
	case r != nil:
		var out []index.Var
		for _, t := range r.To() {
			out = append(out, p.Leaves(t, loops)...)
		}
		return out
	case here(v):
		return []index.Var{v}
	default:
		return nil
	}
}

// Divided reports whether some loops visit v in parts or by position, under whatever name.
func (p *Program) Divided(v index.Var) bool {
	return slices.ContainsFunc(p.Relations, func(r Relation) bool {
		n, renamed := r.(*Rename)
		return slices.Contains(r.From(), v) && (!renamed || p.Divided(n.As))
	})
}

// Walked is the variable of the source whose coordinates a loop over v visits, all of them or a strip; ok is false where it
// visits positions, strips, or coordinates of several variables.
func (p *Program) Walked(v index.Var) (source index.Var, ok bool) {
	switch r := p.Derivation(v).(type) {
	case nil:
		return v, true
	case *Rename:
		return p.Walked(r.Of)
	case *Split:
		if v == r.Inner {
			return p.Walked(r.Parent)
		}
	}
	return v, false
}

// Roots are the variables of the source that v derives from, outermost first.
func (p *Program) Roots(v index.Var) []index.Var {
	r := p.Derivation(v)
	if r == nil {
		return []index.Var{v}
	}
	var out []index.Var
	for _, f := range r.From() {
		out = append(out, p.Roots(f)...)
	}
	return out
}

// Named reports whether v is a variable of p, of the source or derived.
func (p *Program) Named(v index.Var) bool {
	return p.Derivation(v) != nil || slices.Contains(p.Source.Vars(), v)
}

// Covers reports whether different values of v, all else the same or not, mean different values of vars.
func (p *Program) Covers(vars []index.Var, v index.Var) bool {
	if slices.Contains(vars, v) {
		return true
	}
	r := p.Derivation(v)
	return r != nil && !slices.ContainsFunc(r.From(), func(u index.Var) bool { return !p.Covers(vars, u) })
}
