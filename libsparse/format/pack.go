package format

import (
	"cmp"
	"slices"

	"libsparse/libsparse/dtype"
)

// Entry is one stored element.
type Entry struct {
	Coord []int
	Value dtype.Value
}

// Data is a stored tensor: the reference that interpreters and tests pack and unpack. Pos and Crd have one array a
// level, nil where the level has none.
type Data struct {
	Format   Format
	Shape    []int
	Pos, Crd [][]int64
	Vals     []dtype.Value
}

// Pack stores entries, which have distinct coordinates, in format f.
func Pack(f Format, shape []int, entries []Entry) *Data {
	n := f.Order()
	d := &Data{Format: f, Shape: shape, Pos: make([][]int64, n), Crd: make([][]int64, n)}
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Entry) int {
		for _, m := range f.ModeOrder {
			if c := cmp.Compare(a.Coord[m], b.Coord[m]); c != 0 {
				return c
			}
		}
		return 0
	})
	held := [][]Entry{sorted} // by position
	for l, level := range f.Levels {
		mode, g := f.ModeOrder[l], d.geometry(l, len(held))
		g.Below = d.below(held, l)
		d.Pos[l], d.Crd[l] = level.Pack(coordinates(held, mode, level.Props().Unique), g)
		below, size := level.Unpack(d.Pos[l], d.Crd[l], g)
		next := make([][]Entry, size)
		for p, children := range below {
			rest := held[p]
			for _, c := range children {
				n := 0
				for n < len(rest) && rest[n].Coord[mode] == c.Coord && (n == 0 || level.Props().Unique) {
					n++
				}
				if !level.Props().Ordered {
					next[c.Pos] = slices.DeleteFunc(slices.Clone(rest), func(e Entry) bool { return e.Coord[mode] != c.Coord })
					continue
				}
				next[c.Pos], rest = rest[:n], rest[n:]
			}
		}
		held = next
	}
	d.Vals = make([]dtype.Value, len(held))
	for p, entries := range held {
		if len(entries) > 0 {
			d.Vals[p] = entries[0].Value
		}
	}
	return d
}

// coordinates lists the coordinates of a mode below each position, repeated ones once where the level is unique.
func coordinates(held [][]Entry, mode int, unique bool) [][]int {
	out := make([][]int, len(held))
	for p, entries := range held {
		for i, e := range entries {
			if i == 0 || !unique || e.Coord[mode] != entries[i-1].Coord[mode] {
				out[p] = append(out[p], e.Coord[mode])
			}
		}
	}
	return out
}

// below counts the coordinates that entries held by positions have in the level after l, by parent and coordinate.
func (d *Data) below(held [][]Entry, l int) func(parent, coord int) int {
	if l == d.Format.Order()-1 {
		return func(int, int) int { return 0 }
	}
	mode, next := d.Format.ModeOrder[l], d.Format.ModeOrder[l+1]
	type pair struct{ parent, coord int }
	found := map[pair]map[int]bool{}
	for p, entries := range held {
		for _, e := range entries {
			k := pair{p, e.Coord[mode]}
			if found[k] == nil {
				found[k] = map[int]bool{}
			}
			found[k][e.Coord[next]] = true
		}
	}
	return func(parent, coord int) int { return len(found[pair{parent, coord}]) }
}

func (d *Data) geometry(l, parents int) Geometry {
	g := Geometry{Extent: d.Shape[d.Format.ModeOrder[l]], Rows: 1, Parents: parents}
	if l > 0 {
		g.Rows = d.Shape[d.Format.ModeOrder[l-1]]
	}
	return g
}

// Entries lists what is stored, zeros of dense levels included, in the order of a walk.
func (d *Data) Entries() []Entry {
	var out []Entry
	coord := make([]int, len(d.Shape))
	below := make([][][]Child, d.Format.Order())
	size := 1
	for l, level := range d.Format.Levels {
		below[l], size = level.Unpack(d.Pos[l], d.Crd[l], d.geometry(l, size))
	}
	var walk func(l, p int)
	walk = func(l, p int) {
		if l == len(below) {
			out = append(out, Entry{Coord: slices.Clone(coord), Value: d.Vals[p]})
			return
		}
		for _, c := range below[l][p] {
			coord[d.Format.ModeOrder[l]] = c.Coord
			walk(l+1, c.Pos)
		}
	}
	walk(0, 0)
	return out
}
