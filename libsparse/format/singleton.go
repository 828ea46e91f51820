package format

import "libsparse/libsparse/ir"

// Singleton stores one coordinate for each parent position, in crd at that position: the later levels of COO. Unique
// says that no coordinate repeats within a run of equal parent coordinates.
type Singleton struct {
	Unique bool
	direct
	searched
	unsegmented
}

// Props implements Level.
func (l Singleton) Props() Props {
	return Props{Ordered: true, Unique: l.Unique, Branchless: true, HasCrd: true}
}

func (l Singleton) String() string {
	if l.Unique {
		return "q"
	}
	return "c"
}

// Name implements Level.
func (l Singleton) Name() string {
	if l.Unique {
		return "singleton"
	}
	return "singleton, not unique"
}

// Arrays implements Level.
func (Singleton) Arrays() string {
	return "crd has the coordinate of each parent"
}

// Distinct implements Repeating.
func (Singleton) Distinct() Level { return Singleton{Unique: true} }

// Children implements Level.
func (Singleton) Children(_ Storage, parent Range) Range { return parent }

// Coord implements Level.
func (Singleton) Coord(s Storage, _ Range, pos ir.Expr) ir.Expr { return ir.IndexAt(s.Crd, pos) }

// CrdLen implements Level.
func (Singleton) CrdLen(_ Storage, parents ir.Expr) ir.Expr { return parents }

// Size implements Level.
func (Singleton) Size(_ Storage, parents ir.Expr) ir.Expr { return parents }

// Pack implements Level.
func (Singleton) Pack(below [][]int, _ Geometry) (pos, crd []int64) {
	crd = []int64{}
	for _, coords := range below {
		crd = append(crd, int64(coords[0]))
	}
	return nil, crd
}

// Unpack implements Level.
func (Singleton) Unpack(_, crd []int64, g Geometry) (below [][]Child, size int) {
	below = make([][]Child, g.Parents)
	for p := range below {
		below[p] = []Child{{int(crd[p]), p}}
	}
	return below, g.Parents
}
