package format

import "libsparse/libsparse/ir"

// Compressed stores the coordinates of parent p at positions pos[p] to pos[p+1] of crd, in ascending order. Without
// Unique a coordinate may be repeated: the first level of COO.
type Compressed struct {
	Unique bool
	listed
}

// Props implements Level.
func (l Compressed) Props() Props {
	return Props{Ordered: true, Unique: l.Unique, HasPos: true, HasCrd: true, Segmented: true}
}

func (l Compressed) String() string {
	if l.Unique {
		return "s"
	}
	return "u"
}

// Name implements Level.
func (l Compressed) Name() string {
	if l.Unique {
		return "compressed"
	}
	return "compressed, not unique"
}

// Distinct implements Repeating.
func (Compressed) Distinct() Level { return Compressed{Unique: true} }

// listed is part of the levels that list the coordinates of each parent in a segment of crd.
type listed struct {
	direct
	searched
	segmented
}

// Arrays implements Level.
func (listed) Arrays() string {
	return "pos divides crd into the coordinates of each parent"
}

// Children implements Level.
func (listed) Children(s Storage, parent Range) Range {
	return Range{Lo: ir.IndexAt(s.Pos, parent.Lo), Hi: ir.IndexAt(s.Pos, parent.Hi)}
}

// Coord implements Level.
func (listed) Coord(s Storage, _ Range, pos ir.Expr) ir.Expr { return ir.IndexAt(s.Crd, pos) }

// Size implements Level.
func (listed) Size(Storage, ir.Expr) ir.Expr { return nil }

// Pack implements Level.
func (listed) Pack(below [][]int, _ Geometry) (pos, crd []int64) {
	pos, crd = []int64{0}, []int64{}
	for _, coords := range below {
		for _, c := range coords {
			crd = append(crd, int64(c))
		}
		pos = append(pos, int64(len(crd)))
	}
	return pos, crd
}

// Unpack implements Level.
func (listed) Unpack(pos, crd []int64, g Geometry) (below [][]Child, size int) {
	below = make([][]Child, g.Parents)
	for p := range below {
		for q := pos[p]; q < pos[p+1]; q++ {
			below[p] = append(below[p], Child{int(crd[q]), int(q)})
		}
	}
	return below, int(pos[g.Parents])
}
