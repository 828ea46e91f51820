package format

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// OfPos and OfSteps say what an Invariant is about: each element of pos, or each step of a walk.
const (
	OfPos   = "pos"
	OfSteps = "steps"
)

// Invariant is a condition on the arrays of a level that its properties don't imply. Text says what is required; {number0} stands for
// the first number of the level.
type Invariant struct {
	Of    string
	Holds ir.Expr
	Text  string
}

// Checked is what levels with Invariants implement, given the position of the parent, an element of pos, and a step below the parent.
type Checked interface {
	Invariants(s Storage, parent, element, step ir.Expr) []Invariant
}

// Description is a kind of level as data, for programs that hold its arrays and read or check them without a kernel. What depends on
// the arrays is an ir.Formula over the arrays pos and crd and these names: parents (the number of positions of the level
// above), parent (one of them), row (the coordinate of that), rows (its extent), above (the position over that), extent, step,
// lo and hi (the steps below the parent), coord, element (of pos), crd_len, and number0, number1 for the kind's numbers.
type Description struct {
	Letter  string `json:"letter"`
	Name    string `json:"name"`
	Arrays  string `json:"arrays"`
	Numbers int    `json:"numbers"`
	Source  string `json:"source,omitempty"` // the kind that a conversion-only level is made from
	// Distinct is the same kind where no singleton follows.
	Distinct string `json:"distinct,omitempty"`
	Crd      string `json:"crd,omitempty"`  // the type of the elements of crd where that isn't the index type
	Most     int64  `json:"most,omitempty"` // the largest extent that the level's mode may have, where it is bounded
	Props    Props  `json:"props"`
	Grouped  bool   `json:"grouped,omitempty"` // places of one step of neighbouring parents stand side by side: of number0 parents, or of all

	Lo     any `json:"lo"` // the steps below a parent are from lo to hi
	Hi     any `json:"hi"`
	Coord  any `json:"coord"` // null where it is the number of the step below the parent
	Place  any `json:"place"`
	Valid  any `json:"valid"` // null where every step is in use
	Size   any `json:"size"`  // the number of positions; null where it is the length of crd
	PosLen any `json:"pos_len"`
	CrdLen any `json:"crd_len"`
	CrdLo  any `json:"crd_lo"` // elements of crd are from crd_lo to below crd_hi
	CrdHi  any `json:"crd_hi"`
	Locate any `json:"locate"` // the position of coord below the parent
	First  any `json:"first"`  // where to look for coord first

	Invariants []describedInvariant `json:"invariants"`
}

type describedInvariant struct {
	Of    string `json:"of"`
	Holds any    `json:"holds"`
	Text  string `json:"text"`
}

// standIns stand for the numbers of a level while it is described. They occur nowhere else.
var standIns = []int64{7907, 7919}

// Describe describes every kind of level.
func Describe() []Description {
	var out []Description
	for _, l := range Levels() {
		d := describe(l)
		out = append(out, d)
	}
	return out
}

func describe(l Level) Description {
	d := Description{Letter: l.String()[:1], Name: l.Name(), Arrays: l.Arrays(), Props: l.Props()}
	if t := l.CrdType(dtype.I32); t != dtype.I32 {
		d.Crd = string(t)
	}
	if b, ok := l.(Bounded); ok {
		d.Most = b.Most()
	}
	_, d.Grouped = l.(Grouped)
	if n, ok := l.(Numbered); ok {
		d.Numbers = len(n.Numbers())
		l = n.With(standIns[:d.Numbers])
	}
	if r, ok := l.(Repeating); ok {
		d.Distinct = r.Distinct().String()
	}
	if c, ok := l.(Layouter); ok {
		d.Source = c.Source().String()
	}
	s := Storage{
		Extent: named("extent"), Pos: &ir.Array{Name: "pos", Elem: dtype.I64, ReadOnly: true},
		Crd: &ir.Array{Name: "crd", Elem: l.CrdType(dtype.I64), ReadOnly: true}, Parents: named("parents"), Row: named("row"), Rows: named("rows"), Above: named("above"),
	}
	parent, step := Range{Lo: named("parent"), Hi: ir.Next(named("parent"))}, named("step")
	children := l.Children(s, parent)
	d.Lo, d.Hi, d.Place = formula(children.Lo), formula(children.Hi), formula(l.Place(s, parent, step))
	if valid := l.Valid(s, parent, step); valid != nil {
		d.Valid = formula(valid)
	}
	length := ir.Expr(named("crd_len"))
	if layouter, ok := l.(Layouter); ok {
		d.Size = formula(layouter.Positions(length, s.Parents))
	} else if size := l.Size(s, s.Parents); size != nil {
		d.Size = formula(size)
	} else {
		d.Size = formula(length)
	}
	if d.Props.HasPos {
		d.PosLen = formula(l.PosLen(s, s.Parents))
	}
	if d.Props.HasCrd {
		span := l.CrdRange(s)
		d.Coord, d.CrdLen, d.CrdLo, d.CrdHi = formula(l.Coord(s, parent, step)), formula(l.CrdLen(s, s.Parents)), formula(span.Lo), formula(span.Hi)
	}
	if d.Props.Locate {
		d.Locate = formula(l.Locate(s, parent.Lo, named("coord")))
	}
	if p, ok := l.(Prober); ok {
		first, _ := p.Probes(Range{Lo: named("lo"), Hi: named("hi")}, named("coord"))
		d.First = formula(first)
	}
	if c, ok := l.(Checked); ok {
		for _, i := range c.Invariants(s, parent.Lo, named("element"), step) {
			d.Invariants = append(d.Invariants, describedInvariant{i.Of, formula(i.Holds), i.Text})
		}
	}
	return d
}

func named(name string) *ir.Var { return &ir.Var{Name: name, T: ir.Index} }

// formula is e with names in the places of the numbers of a level.
func formula(e ir.Expr) any {
	return ir.Formula(ir.MapExpr(e, func(e ir.Expr) ir.Expr {
		if n, ok := e.(*ir.Int); ok {
			if at := slices.Index(standIns, n.Value); at >= 0 {
				return named("number" + string(rune('0'+at)))
			}
		}
		return e
	}), nil)
}
