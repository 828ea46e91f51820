package ir

import (
	"slices"

	"libsparse/libsparse/dtype"
)

// Spread is m with sums over the columns of dense blocks spread over as many partial sums, so that those of a row are a vector: the sum of a number in
// a loop over blocks, each of which has a literal number of columns where it is whole. What a column of a whole block adds goes to the partial sum of its
// place in the block; behind the loop these are reduced (ReduceLanes) into the sum of what others add.
func Spread(m *Module, target Target) *Module {
	around := func(s *For, names *Builder) Stmt {
		if at := blocksIn(s); at > 0 {
			return (&spreader{Target: target, sum: s.Body.Stmts[at-1].(*Decl).Var, names: names}).around(s, at)
		}
		return nil
	}
	found := func(s *For) bool { return around(s, NewBuilder(nil)) != nil }
	return rewriteLoops(m, found, func(s *For, names *Builder) Stmt {
		if out := around(s, names); out != nil {
			return out
		}
		return s
	})
}

// blocksIn is the place in the body of s of the first loop, where a variable that it may sum into is declared before it; 0 where there is none.
func blocksIn(s *For) int {
	at := slices.IndexFunc(s.Body.Stmts, func(t Stmt) bool { _, loop := t.(*For); return loop })
	if at < 1 {
		return 0
	}
	if d, ok := s.Body.Stmts[at-1].(*Decl); !ok || d.Const {
		return 0
	}
	return at
}

// spreader rewrites the loop over blocks around one sum.
type spreader struct {
	Target
	sum   *Var
	names *Builder
	// Of the loop over columns: how many there are, what reduces them, and the partial sums.
	width int64
	op    dtype.Op
	part  *Array
}

// around is a loop with the sum of the loop over blocks at a place in its body spread; nil where that isn't one.
func (x *spreader) around(s *For, at int) Stmt {
	blocks := x.blocks(s.Body.Stmts[at].(*For))
	if blocks == nil {
		return nil
	}
	size, q := Const(x.width), x.names.Index("q")
	first, _ := x.op.Identity()
	init := Count(q, size, &Store{Array: x.part, Index: q, Value: Number(first, x.part.Elem)})
	init.Kind = Simd
	all := &ReduceLanes{Op: x.op, Of: []Expr{&Load{Array: x.part, Index: Const(0), Lanes: int(x.width)}}}
	spread := []Stmt{&Alloc{Array: x.part, Size: size}, init, blocks, &Assign{Var: x.sum, Reduce: x.op, Value: all}}
	out := *s
	out.Body = Do(slices.Concat(s.Body.Stmts[:at], spread, s.Body.Stmts[at+1:])...)
	return &out
}

// blocks is the loop over blocks with partial sums; nil where it isn't one.
func (x *spreader) blocks(s *For) Stmt {
	last := len(s.Body.Stmts) - 1
	if _, ok := constantsOf(s.Body.Stmts[:max(last, 0)]); !ok || s.Kind != Serial || last < 0 {
		return nil
	}
	whole, ok := s.Body.Stmts[last].(*If)
	if !ok || len(whole.Then.Stmts) != 1 {
		return nil
	}
	columns, ok := whole.Then.Stmts[0].(*For)
	if !ok {
		return nil
	}
	n, literal := columns.Hi.(*Int)
	lanes := x.VectorBytes() / max(x.sum.T.Elem.Size(), 1)
	if !literal || !powerOfTwo(n.Value) || n.Value < 2 || n.Value > int64(lanes) {
		return nil
	}
	x.width, x.part = n.Value, x.names.Array(x.sum.Name+"_part", x.sum.T.Elem)
	vector := x.columns(columns)
	if vector == nil || !x.Vectorizes(x.op, x.sum.T.Elem) {
		return nil
	}
	loop := *s
	loop.Body = Do(append(slices.Clone(s.Body.Stmts[:last]), &If{Cond: whole.Cond, Then: Do(vector), Else: whole.Else})...)
	return &loop
}

// columns is a loop over the columns of a whole block that adds to their partial sums; nil where it isn't one.
func (x *spreader) columns(loop *For) Stmt {
	if !isLiteralZero(loop.Lo) || loop.Step != 1 || len(loop.Body.Stmts) == 0 {
		return nil
	}
	last := len(loop.Body.Stmts) - 1
	values, ok := constantsOf(loop.Body.Stmts[:last])
	sum, assigns := loop.Body.Stmts[last].(*Assign)
	if !ok || !assigns || sum.Var.Name != x.sum.Name || !sum.Reduce.Commutes() || uses(sum.Value, x.sum) {
		return nil
	}
	x.op = sum.Reduce
	out := *loop
	out.Kind, out.Unroll = Simd, 0
	out.Body = Do(&Store{Array: x.part, Index: loop.Var, Reduce: sum.Reduce, Value: SimplifyExpr(replaceVars(sum.Value, values))})
	return &out
}
