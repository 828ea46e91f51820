package cin

import (
	"fmt"

	"libsparse/libsparse/index"
)

// extent is the number of values of v at this point of the program; strips are rounded up.
func (in *interp) extent(v index.Var) int {
	switch r := in.program.Derivation(v).(type) {
	case *Split:
		n, width := in.extent(r.Parent), in.width(r)
		switch {
		case v == r.Inner:
			return width
		case r.Parts > 0:
			return int(r.Parts)
		default:
			return (n + width - 1) / width
		}
	case *Fuse:
		return in.extent(r.Outer) * in.extent(r.Inner)
	case *Positions:
		return len(in.stored(r))
	case *Rename:
		return in.extent(r.Of)
	default:
		return in.extents[v]
	}
}

// width is that of the strips of a split.
func (in *interp) width(s *Split) int {
	if s.Parts > 0 {
		return (in.extent(s.Parent) + int(s.Parts) - 1) / int(s.Parts)
	}
	return int(s.Factor)
}

// coord is the value of v; ok is false beyond the end of a variable that was split.
func (in *interp) coord(v index.Var) (c int, ok bool) {
	switch r := in.program.Follows(v, in.bound).(type) {
	case *Split:
		outer, okOuter := in.coord(r.Outer)
		inner, okInner := in.coord(r.Inner)
		c = outer*in.width(r) + inner
		return c, okOuter && okInner && c < in.extent(v)
	case *Fuse:
		fused, ok := in.coord(r.Fused)
		if !ok {
			return 0, false
		}
		if n := in.extent(r.Inner); v == r.Outer {
			return fused / n, true
		} else {
			return fused % n, true
		}
	case *Positions:
		at, ok := in.coord(r.Pos)
		if !ok {
			return 0, false
		}
		return in.encode(v, in.stored(r)[at]), true
	case *Rename:
		return in.coord(r.As)
	default:
		return in.at[v], true
	}
}

// stored lists the coordinates that the levels of r store here, in storage order.
func (in *interp) stored(r *Positions) []map[index.Var]int {
	f := in.program.Source.Of(r.Access.Tensor).Format
	at := map[index.Var]int{}
	for _, m := range f.ModeOrder[:r.First] {
		c, ok := in.coord(r.Access.Vars[m])
		if !ok {
			return nil
		}
		at[r.Access.Vars[m]] = c
	}
	key := visited{of: r, at: fmt.Sprint(at)}
	if s, ok := in.program.Derivation(in.program.Original(r.Parent)).(*Split); ok {
		key.strip, _ = in.coord(s.Outer)
	}
	out, known := in.lists[key]
	if !known {
		out = in.list(r, at)
		in.lists[key] = out
	}
	return out
}

// visited is the key of a list of stored coordinates.
type visited struct {
	of    *Positions
	at    string
	strip int
}

// list makes the list of what levels First to Last of r store below the coordinates in at.
func (in *interp) list(r *Positions, at map[index.Var]int) []map[index.Var]int {
	f, d := in.program.Source.Of(r.Access.Tensor).Format, in.data[r.Access.Tensor]
	var out []map[index.Var]int
	var visit func(level int) bool // whether something is stored
	visit = func(level int) bool {
		if level == f.Order() {
			coords := make([]int, len(r.Access.Vars))
			for m, v := range r.Access.Vars {
				coords[m] = at[v]
			}
			return d.Stored[d.At(coords)]
		}
		v, any := r.Access.Vars[f.ModeOrder[level]], false
		for c := range in.extents[v] {
			at[v] = c
			found := visit(level + 1)
			any = any || found
			if found && level == r.Last && in.strip(r.Parent, at) {
				entry := map[index.Var]int{}
				for _, root := range in.program.Roots(r.Parent) {
					entry[root] = at[root]
				}
				out = append(out, entry)
			}
			if found && level > r.Last {
				return true
			}
		}
		return any
	}
	visit(r.First)
	return out
}

// strip reports whether coordinates are in the strip that v stands for.
func (in *interp) strip(v index.Var, at map[index.Var]int) bool {
	s, ok := in.program.Derivation(in.program.Original(v)).(*Split)
	if !ok {
		return true
	}
	outer, _ := in.coord(s.Outer)
	return in.encode(s.Parent, at)/in.width(s) == outer && in.strip(s.Parent, at)
}

// encode is the value of v where its roots have the given coordinates.
func (in *interp) encode(v index.Var, at map[index.Var]int) int {
	switch r := in.program.Derivation(v).(type) {
	case *Split:
		return in.encode(r.Parent, at) % in.width(r)
	case *Fuse:
		return in.encode(r.Outer, at)*in.extent(r.Inner) + in.encode(r.Inner, at)
	case *Rename:
		return in.encode(r.Of, at)
	default:
		return at[v]
	}
}
