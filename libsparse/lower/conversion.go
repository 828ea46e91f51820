package lower

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Conversion-only levels are written by kernels that copy a tensor which has their source level in their place. The levels above
// are the operand's, the level itself says how it is written, and what is below moves to where its parents have gone. Everything
// is a loop over positions, so there is nothing to schedule.

// Conversion reports whether a copies a tensor to a format with a conversion-only level, and which level that is. Elements that
// the level adds to the entries are zero, which has to be what the reduction begins with.
func Conversion(a bind.Assignment) (level int, ok bool) {
	from, copied := a.RHS.(*index.Access)
	to := a.LHS
	if !copied || from.Windowed() || to.Windowed() || !slices.Equal(from.Vars, to.Vars) || len(a.Vars()) < len(to.Vars) ||
		from.Tensor.PatternOnly || a.Of(from.Tensor).Permuted || from.Tensor.Elem != to.Tensor.Elem {
		return 0, false
	}
	level, ok = a.Result().Format.ConvertedFrom(a.Of(from.Tensor).Format)
	if begin, known := a.Reduce.Identity(); ok && known && begin != 0 && a.Result().Format.Levels[level].Props().Filling {
		return 0, false
	}
	return level, ok
}

// conversion is the lowering of one function of such a kernel.
type conversion struct {
	*lowerer
	from, to *index.Tensor
	level    int
}

func conversionKernel(p *cin.Program, level int) *Kernel {
	s := newSlots(p)
	c := conversion{from: p.Source.RHS.(*index.Access).Tensor, to: p.Source.LHS.Tensor, level: level}
	function := func(name string, body func(c conversion) []ir.Stmt) *ir.Func {
		c.lowerer = newLowerer(p, s)
		return returnOK(name, append(c.guards(), body(c)...))
	}
	funcs := []*ir.Func{function(AssembleName, conversion.measure), function(ComputeName, conversion.fill)}
	return &Kernel{Assembled: true, Layout: s.layout, Module: &ir.Module{Slots: s.slots, Funcs: funcs}}
}

func (l conversion) kind() format.Layouter { return l.format(l.to).Levels[l.level].(format.Layouter) }

// levelLayout describes the conversion to the level itself. place gets where each position of the operand's level goes.
func (l conversion) levelLayout(place *ir.Array) *format.Layout {
	from := l.stored(l.from, l.level)
	out := &format.Layout{
		From: from, To: l.stored(l.to, l.level), Extent: from.Extent, Rows: from.Rows, Parents: l.positions(l.from, l.level-1), Place: place,
		Builder: l.Builder, Threads: l.slots.threads, Shared: l.shared, Sum: l.sum,
	}
	if below := l.level + 1; below < l.format(l.from).Order() && l.format(l.from).Levels[below].Props().HasPos {
		out.Below = func(at ir.Expr) ir.Expr { return length(l.slots.storage(l.from, below, nil).Pos, at) }
	}
	return out
}

// length is the number of positions below a parent.
func length(pos *ir.Array, parent ir.Expr) ir.Expr {
	return ir.Sub(ir.IndexAt(pos, ir.Next(parent)), ir.IndexAt(pos, parent))
}

// shared is a region in which threads divide a loop.
func (l conversion) shared(private []ir.Stmt, loop *ir.For, after []ir.Stmt) ir.Stmt {
	return l.team(slices.Concat(private, []ir.Stmt{l.share(loop)}, after))
}

// sum turns lengths into positions, in 64 bits so that an overflow is seen.
func (l conversion) sum(pos *ir.Array, n ir.Expr, places int64) []ir.Stmt {
	total, stmts := l.sumLengths(pos, n, places)
	out := []ir.Stmt{stmts[0], ir.Put(pos, ir.Const(0), ir.Const(0)), stmts[1]}
	return append(out, refuseLarge(total, pos.Elem)...)
}

// measure is the first phase: the positions of the level, and how much every level holds.
func (l conversion) measure() []ir.Stmt {
	out, crd := l.kind().Measure(l.levelLayout(nil))
	if count := l.slots.counts[l.level]; count != nil {
		out = append(out, ir.Set(count, crd))
	}
	for _, g := range l.format(l.to).Groups() {
		if g.First > l.level {
			out = append(out, ir.Set(l.slots.counts[g.First], l.positions(l.from, g.First)))
		}
	}
	return out
}

// fill is the second phase. place says for every position of a level of the operand where it is in the result.
func (l conversion) fill() []ir.Stmt {
	place, out := l.places(l.level)
	out = append(out, l.kind().Fill(l.levelLayout(place))...)
	frees := []ir.Stmt{&ir.Free{Array: place}}
	for level := l.level + 1; level < l.format(l.to).Order(); level++ {
		moved, stmts := l.move(level, place)
		if out = append(out, stmts...); moved != place {
			place, frees = moved, append(frees, &ir.Free{Array: moved})
		}
	}
	q, last := l.Index("q"), l.format(l.to).Order()-1
	from, to := l.slots.vals(l.from), l.slots.vals(l.to)
	return append(append(out,
		&ir.Fill{Array: to, Count: l.placed(last), Value: zero(to.Elem)},
		l.each(q, last, ir.Put(to, ir.IndexAt(place, q), ir.At(from, q)))), frees...)
}

// places is a new array for where the positions of a level go.
func (l conversion) places(level int) (place *ir.Array, stmts []ir.Stmt) {
	place = l.Array(levelName(l.to.Name, "place", level), dtype.I64)
	return place, []ir.Stmt{ir.NewArray(place, ir.AtLeastOne(l.positions(l.from, level)))}
}

// each is a loop of threads over the positions of a level of the operand.
func (l conversion) each(q *ir.Var, level int, body ...ir.Stmt) ir.Stmt {
	return l.shared(nil, ir.Count(q, l.positions(l.from, level), body...), nil)
}

// placed is the number of positions of a level of the result.
func (l conversion) placed(level int) ir.Expr {
	return l.positionsBelow(l.to, l.level, level, l.positions(l.from, l.level-1))
}

// move copies a level below the conversion-only one. parent says where the positions above it have gone.
func (l conversion) move(level int, parent *ir.Array) (place *ir.Array, stmts []ir.Stmt) {
	props := l.format(l.to).Levels[level].Props()
	from, to := l.slots.storage(l.from, level, nil), l.slots.storage(l.to, level, nil)
	q := l.Index("q")
	if props.Branchless {
		return parent, []ir.Stmt{l.each(q, level, ir.Put(to.Crd, ir.IndexAt(parent, q), ir.IndexAt(from.Crd, q)))}
	}
	place, stmts = l.places(level)
	if props.Locate {
		n, above := l.extentOfMode(l.from, level), l.Index("above")
		at := ir.Add(ir.Mul(ir.IndexAt(parent, above), n), ir.Remainder(q, above, n))
		body := []ir.Stmt{ir.Let(above, ir.Div(q, n)), ir.Put(place, q, at)}
		if props.HasCrd {
			stmts = append(stmts, &ir.Fill{Array: to.Crd, Count: l.placed(level), Value: zero(to.Crd.Elem)})
			body = append(body, &ir.Store{Array: to.Crd, Index: ir.IndexAt(place, q), Value: ir.At(from.Crd, q)})
		}
		return place, append(stmts, l.each(q, level, body...))
	}
	k, moved, r := l.Index("k"), l.Index("moved"), l.Index("q")
	clear, sum := summed(to.Pos, l.placed(level-1))
	return place, append(stmts,
		clear,
		l.each(q, level-1, ir.Put(to.Pos, ir.Next(ir.IndexAt(parent, q)), length(from.Pos, q))),
		sum,
		l.each(r, level-1,
			ir.Let(moved, ir.Sub(ir.IndexAt(to.Pos, ir.IndexAt(parent, r)), ir.IndexAt(from.Pos, r))),
			ir.Loop(k, ir.IndexAt(from.Pos, r), ir.IndexAt(from.Pos, ir.Next(r)),
				ir.Put(place, k, ir.Add(moved, k)),
				ir.Put(to.Crd, ir.Add(moved, k), ir.IndexAt(from.Crd, k)))))
}
