package format

import (
	"slices"

	"libsparse/libsparse/ir"
)

// Layouter is implemented by conversion-only levels: their layout depends on the whole pattern, so a tensor with their source
// level in their place is converted. The two steps are those of Chou, Kjolstad and Amarasinghe, "Automatic Generation of
// Efficient Sparse Tensor Format Conversion Routines": analysis of the pattern, then assembly.
type Layouter interface {
	// Source is the kind of level that the level is converted from.
	Source() Level
	// Positions is the number of positions, given the length of crd and the number of positions of the parent level.
	Positions(crd, parents ir.Expr) ir.Expr
	// Measure fills l.To.Pos, and says how long l.To.Crd is going to be.
	Measure(l *Layout) (stmts []ir.Stmt, crd ir.Expr)
	// Fill fills l.To.Crd and l.Place.
	Fill(l *Layout) []ir.Stmt
}

// Layout is the conversion of one level from its source.
type Layout struct {
	// From, if it has coordinates, has those of each parent in ascending order.
	From, To Storage
	// Extent and Parents are those of both; Rows is the extent of the level above.
	Extent, Parents, Rows ir.Expr
	// Below is how many coordinates are stored below a position of From; nil where that is the same for all.
	Below func(at ir.Expr) ir.Expr
	// Place gets the position in To of every position of From.
	Place *ir.Array
	// Builder makes variables and local arrays.
	*ir.Builder
	// Shared is a region in which threads divide a loop.
	Shared func(private []ir.Stmt, loop *ir.For, after []ir.Stmt) ir.Stmt
	// Threads is how many threads there are.
	Threads ir.Expr
	// Sum turns the lengths pos[1:n+1], each counted in so many places, into positions, and leaves where an index can't hold
	// them.
	Sum func(pos *ir.Array, n ir.Expr, places int64) []ir.Stmt
}

// ConvertedFrom reports whether f differs from another format in one conversion-only level, where that has the source level, and
// has none below it.
func (f Format) ConvertedFrom(from Format) (level int, ok bool) {
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
		layouter, ok := l.(Layouter)
		if !ok || level >= 0 || from.Levels[i] != layouter.Source() {
			return level, false
		}
		level = i
	}
	if level < 0 || slices.ContainsFunc(f.Levels[level+1:], func(l Level) bool { return l.Props().ConversionOnly }) {
		return level, false
	}
	return level, true
}

// compressed is embedded by the levels whose source is a compressed one.
type compressed struct{}

// Source implements Layouter.
func (compressed) Source() Level { return Compressed{Unique: true} }

// each loops over the positions of From below parent p; body gets a position and its coordinate.
func (l *Layout) each(p ir.Expr, body func(q, c *ir.Var) []ir.Stmt) ir.Stmt {
	q, c := l.Index("q"), l.Index("c")
	return ir.Loop(q, ir.IndexAt(l.From.Pos, p), ir.IndexAt(l.From.Pos, ir.Next(p)),
		append([]ir.Stmt{ir.Let(c, ir.IndexAt(l.From.Crd, q))}, body(q, c)...)...)
}

// length is how many coordinates parent p has.
func (l *Layout) length(p ir.Expr) ir.Expr {
	return ir.Sub(ir.IndexAt(l.From.Pos, ir.Next(p)), ir.IndexAt(l.From.Pos, p))
}

// parents loops over all parents on threads.
func (l *Layout) parents(body func(p *ir.Var) []ir.Stmt) ir.Stmt {
	p := l.Index("p")
	return l.Shared(nil, ir.Count(p, l.Parents, body(p)...), nil)
}
