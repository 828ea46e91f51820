package format

import (
	"cmp"
	"slices"
)

// Entry is one stored element.
type Entry struct {
	Coord []int
	Value float64
}

// Data is a stored tensor: the reference that interpreters and tests pack and unpack. Pos and Crd have one array a
// level, nil where the level has none.
type Data struct {
	Format   Format
	Shape    []int
	Pos, Crd [][]int64
	Vals     []float64
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
	for l, level := range f.Levels {
		if level.Props().HasPos {
			d.Pos[l] = []int64{0}
		}
		if level.Props().HasCrd {
			d.Crd[l] = []int64{}
		}
	}
	d.pack(0, sorted)
	return d
}

// pack appends the subtree of one position of level l-1 that holds entries.
func (d *Data) pack(l int, entries []Entry) {
	if l == len(d.Format.Levels) {
		v := 0.0
		for _, e := range entries {
			v += e.Value
		}
		d.Vals = append(d.Vals, v)
		return
	}
	level, mode := d.Format.Levels[l], d.Format.ModeOrder[l]
	if level.Props().Locate {
		rest := entries
		for c := range d.Shape[mode] {
			n := 0
			for n < len(rest) && rest[n].Coord[mode] == c {
				n++
			}
			if level.Props().HasCrd {
				d.Crd[l] = append(d.Crd[l], int64(min(n, 1)))
			}
			d.pack(l+1, rest[:n])
			rest = rest[n:]
		}
		return
	}
	for len(entries) > 0 {
		c, n := entries[0].Coord[mode], 1
		for level.Props().Unique && n < len(entries) && entries[n].Coord[mode] == c {
			n++
		}
		d.Crd[l] = append(d.Crd[l], int64(c))
		d.pack(l+1, entries[:n])
		entries = entries[n:]
	}
	if level.Props().HasPos {
		d.Pos[l] = append(d.Pos[l], int64(len(d.Crd[l])))
	}
}

// Entries lists what is stored, zeros of dense levels included, in storage order.
func (d *Data) Entries() []Entry {
	var out []Entry
	coord := make([]int, len(d.Shape))
	var walk func(l, lo, hi int)
	walk = func(l, lo, hi int) {
		if l == len(d.Format.Levels) {
			for p := lo; p < hi; p++ {
				out = append(out, Entry{Coord: slices.Clone(coord), Value: d.Vals[p]})
			}
			return
		}
		level, mode := d.Format.Levels[l], d.Format.ModeOrder[l]
		switch {
		case level.Props().Locate:
			for c := range d.Shape[mode] {
				p := lo*d.Shape[mode] + c
				if !level.Props().HasCrd || d.Crd[l][p] != 0 {
					coord[mode] = c
					walk(l+1, p, p+1)
				}
			}
			return
		case level.Props().HasPos:
			lo, hi = int(d.Pos[l][lo]), int(d.Pos[l][hi])
		}
		for p := lo; p < hi; p++ {
			coord[mode] = int(d.Crd[l][p])
			walk(l+1, p, p+1)
		}
	}
	walk(0, 0, 1)
	return out
}
