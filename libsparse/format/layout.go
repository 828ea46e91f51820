package format

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// Layouter is what levels with the property Fixed implement: how they are laid out depends on all of what is stored, so
// they are made from another level below the same parents, most from a compressed one. The two steps are those of Chou, Kjolstad and Amarasinghe,
// "Automatic Generation of Efficient Sparse Tensor Format Conversion Routines": what has to be known of the coordinates,
// and where each goes.
type Layouter interface {
	// Source is the level that it is made from.
	Source() Level
	// PosLen is the length of pos.
	PosLen(g Geometry) int
	// Places is the number of positions, given the length of crd.
	Places(crd, parents int) int
	// Measure fills l.To.Pos, and says how long l.To.Crd is going to be.
	Measure(l *Layout) (stmts []ir.Stmt, crd ir.Expr)
	// Fill fills l.To.Crd and l.Place.
	Fill(l *Layout) []ir.Stmt
}

// Layout is one level that is made from its source.
type Layout struct {
	// From, if it has coordinates, has those of each parent in ascending order.
	From, To Storage
	// Extent and Parents are those of both; Rows is the extent of the level above.
	Extent, Parents, Rows ir.Expr
	// Below is how many coordinates are stored below a position of From; nil where that is the same for all.
	Below func(at ir.Expr) ir.Expr
	// Place gets the position in To of every position of From.
	Place *ir.Array
	// Var and Array make a variable and a local array of a new name, Shared a region in which threads divide a loop.
	Var    func(name string) *ir.Var
	Array  func(name string, elem dtype.T) *ir.Array
	Shared func(private []ir.Stmt, loop *ir.For, after []ir.Stmt) ir.Stmt
	// Threads is how many threads there are.
	Threads ir.Expr
	// Sum turns the lengths pos[1:n+1], each counted in so many places, into positions, and leaves where an index can't hold
	// them.
	Sum func(pos *ir.Array, n ir.Expr, places int64) []ir.Stmt
}

// Made reports whether f is a format with one level that has to be laid out where from has its source, and none below that.
func (f Format) Made(from Format) (level int, ok bool) {
	level = -1
	if f.Order() != from.Order() {
		return level, false
	}
	for i, l := range f.Levels {
		if f.ModeOrder[i] != from.ModeOrder[i] {
			return level, false
		}
		if l == from.Levels[i] {
			continue
		}
		made, ok := l.(Layouter)
		if !ok || level >= 0 || from.Levels[i] != made.Source() {
			return level, false
		}
		level = i
	}
	if level < 0 || slices.ContainsFunc(f.Levels[level+1:], func(l Level) bool { return l.Props().Fixed }) {
		return level, false
	}
	return level, true
}

// compressed is part of the levels that are made from a compressed one.
type compressed struct{}

// Source implements Layouter.
func (compressed) Source() Level { return Compressed{Unique: true} }

// each loops over the positions of From below parent p; body gets a position and its coordinate.
func (l *Layout) each(p ir.Expr, body func(q, c *ir.Var) []ir.Stmt) ir.Stmt {
	q, c := l.Var("q"), l.Var("c")
	return loop(q, load(l.From.Pos, p), load(l.From.Pos, add(p, integer(1))),
		append([]ir.Stmt{let(c, load(l.From.Crd, q))}, body(q, c)...)...)
}

// length is how many coordinates parent p has.
func (l *Layout) length(p ir.Expr) ir.Expr {
	return sub(load(l.From.Pos, add(p, integer(1))), load(l.From.Pos, p))
}

// parents loops over all parents on threads.
func (l *Layout) parents(body func(p *ir.Var) []ir.Stmt) ir.Stmt {
	p := l.Var("p")
	return l.Shared(nil, loop(p, integer(0), l.Parents, body(p)...), nil)
}

func loop(v *ir.Var, lo, hi ir.Expr, body ...ir.Stmt) *ir.For {
	return &ir.For{Var: v, Lo: lo, Hi: hi, Step: 1, Body: &ir.Block{Stmts: body}}
}

func let(v *ir.Var, x ir.Expr) ir.Stmt { return &ir.Decl{Var: v, Init: x, Const: true} }

func declare(v *ir.Var, x ir.Expr) ir.Stmt { return &ir.Decl{Var: v, Init: x} }

func set(v *ir.Var, x ir.Expr) ir.Stmt { return &ir.Assign{Var: v, Value: x} }

func advance(v *ir.Var) ir.Stmt { return &ir.Assign{Var: v, Reduce: dtype.Add, Value: integer(1)} }

func when(cond ir.Expr, then ...ir.Stmt) ir.Stmt {
	return &ir.If{Cond: cond, Then: &ir.Block{Stmts: then}}
}

// store writes an integer into an array of any integer type.
func store(a *ir.Array, at, x ir.Expr) ir.Stmt {
	if x.Type().Elem != a.Elem {
		x = &ir.Cast{X: x, To: a.Elem}
	}
	return &ir.Store{Array: a, Index: at, Value: x}
}

func larger(x, y ir.Expr) ir.Expr  { return &ir.Binary{Op: dtype.Max, X: x, Y: y} }
func smaller(x, y ir.Expr) ir.Expr { return &ir.Binary{Op: dtype.Min, X: x, Y: y} }
func less(x, y ir.Expr) ir.Expr    { return &ir.Compare{Op: ir.Lt, X: x, Y: y} }
func differ(x, y ir.Expr) ir.Expr  { return &ir.Compare{Op: ir.Ne, X: x, Y: y} }
func quotient(x, y ir.Expr) ir.Expr {
	return &ir.Binary{Op: dtype.Div, X: x, Y: y}
}
func remainder(x, y ir.Expr) ir.Expr { return sub(x, mul(quotient(x, y), y)) }
