package lower

import (
	"slices"
	"strconv"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Levels that are laid out by all of what is stored are written by kernels that copy a tensor which has their source, mostly
// a compressed level, in their place: the levels above are the operand's, the level itself says how it is made, and what is below moves to
// where its parents have gone. Everything is a loop over positions, so there is nothing to schedule.

// Laid reports whether a is such a copy, and which level is laid out.
func Laid(a *index.Assignment) (level int, ok bool) {
	from, copied := a.RHS.(*index.Access)
	to := a.LHS
	if !copied || from.Windowed() || to.Windowed() || !slices.Equal(from.Vars, to.Vars) || repeated(to.Vars) ||
		from.Tensor.PatternOnly || from.Tensor.Permuted || from.Tensor.Elem != to.Tensor.Elem {
		return 0, false
	}
	return to.Tensor.Format.ConvertedFrom(from.Tensor.Format)
}

func repeated(vars []index.Var) bool {
	for i, v := range vars {
		if slices.Contains(vars[:i], v) {
			return true
		}
	}
	return false
}

// layout is the state of one function of such a kernel.
type layout struct {
	*lowerer
	from, to *index.Tensor
	level    int
}

func layoutKernel(p *cin.Program, level int) *Kernel {
	s := newSlots(p)
	k := &Kernel{Assembled: true, Layout: s.layout, Module: &ir.Module{Slots: s.slots}}
	for _, ph := range []phase{counting, computing} {
		l := &layout{lowerer: newLowerer(p, s), from: index.Accesses(p.Source.RHS)[0].Tensor, to: p.Source.LHS.Tensor, level: level}
		name, body := AssembleName, l.measure
		if ph == computing {
			name, body = ComputeName, l.fill
		}
		k.Module.Funcs = append(k.Module.Funcs, returnOK(name, append(l.guards(), body()...)))
	}
	return k
}

func (l *layout) kind() format.Layouter { return l.to.Format.Levels[l.level].(format.Layouter) }

// making is the level that is laid out, for the level itself.
func (l *layout) making(place *ir.Array) *format.Layout {
	made := &format.Layout{
		From: l.slots.storage(l.from, l.level, nil), To: l.slots.storage(l.to, l.level, nil),
		Extent: l.extentOfMode(l.from, l.level), Rows: ir.Const(1), Parents: l.positions(l.from, l.level-1), Place: place,
		Builder: l.Builder,
		Threads: l.slots.threads,
		Shared:  l.shared,
		Sum:     l.sum,
	}
	if l.level > 0 {
		made.Rows = l.extentOfMode(l.from, l.level-1)
	}
	if below := l.level + 1; below < l.from.Order() && l.from.Format.Levels[below].Props().HasPos {
		pos := l.slots.storage(l.from, below, nil).Pos
		made.Below = func(at ir.Expr) ir.Expr {
			return ir.Sub(ir.IndexAt(pos, ir.Next(at)), ir.IndexAt(pos, at))
		}
	}
	return made
}

// shared is a region in which threads divide a loop.
func (l *layout) shared(private []ir.Stmt, loop *ir.For, after []ir.Stmt) ir.Stmt {
	return l.team(slices.Concat(private, []ir.Stmt{l.share(loop)}, after))
}

// sum turns lengths into positions, in 64 bits so that an overflow is seen.
func (l *layout) sum(pos *ir.Array, n ir.Expr, places int64) []ir.Stmt {
	total, stmts := l.sumLengths(pos, n, places)
	out := []ir.Stmt{stmts[0], ir.Put(pos, ir.Const(0), ir.Const(0)), stmts[1]}
	return append(out, refuseLarge(total, pos.Elem)...)
}

// measure is the first phase: the positions of the level, and how much every level holds.
func (l *layout) measure() []ir.Stmt {
	out, crd := l.kind().Measure(l.making(nil))
	if count := l.slots.counts[l.level]; count != nil {
		out = append(out, ir.Set(count, crd))
	}
	for _, g := range l.to.Format.Groups() {
		if g.First > l.level {
			out = append(out, ir.Set(l.slots.counts[g.First], l.positions(l.from, g.First)))
		}
	}
	return out
}

// fill is the second phase. place says for every position of a level of the operand where it is in the result.
func (l *layout) fill() []ir.Stmt {
	place := l.places(l.level)
	out := append([]ir.Stmt{l.room(place, l.level)}, l.kind().Fill(l.making(place))...)
	used := []*ir.Array{place}
	for level := l.level + 1; level < l.to.Order(); level++ {
		var stmts []ir.Stmt
		place, stmts = l.move(level, place)
		out = append(out, stmts...)
		if place != used[len(used)-1] {
			used = append(used, place)
		}
	}
	q := l.Index("q")
	from, to := l.slots.vals(l.from), l.slots.vals(l.to)
	out = append(out,
		&ir.Fill{Array: to, Count: l.placed(l.to.Order() - 1), Value: zero(to.Elem)},
		l.each(q, l.to.Order()-1, &ir.Store{Array: to, Index: ir.IndexAt(place, q), Value: ir.At(from, q)}))
	for _, a := range used {
		out = append(out, &ir.Free{Array: a})
	}
	return out
}

// places is a new array for where the positions of a level go.
func (l *layout) places(level int) *ir.Array {
	return l.Array("place"+strconv.Itoa(level+1), dtype.I64)
}

func (l *layout) room(place *ir.Array, level int) ir.Stmt {
	return ir.NewArray(place, ir.AtLeastOne(l.positions(l.from, level)))
}

// each is a loop of threads over the positions of a level of the operand.
func (l *layout) each(q *ir.Var, level int, body ...ir.Stmt) ir.Stmt {
	return l.shared(nil, ir.Count(q, l.positions(l.from, level), body...), nil)
}

// placed is the number of positions of a level of the result.
func (l *layout) placed(level int) ir.Expr {
	return l.positionsBelow(l.to, l.level, level, l.positions(l.from, l.level-1))
}

// move copies a level below the one that is laid out. parent says where the positions above it have gone.
func (l *layout) move(level int, parent *ir.Array) (place *ir.Array, stmts []ir.Stmt) {
	props := l.to.Format.Levels[level].Props()
	from, to := l.slots.storage(l.from, level, nil), l.slots.storage(l.to, level, nil)
	q := l.Index("q")
	if props.Branchless {
		return parent, []ir.Stmt{l.each(q, level, ir.Put(to.Crd, ir.IndexAt(parent, q), ir.IndexAt(from.Crd, q)))}
	}
	place = l.places(level)
	stmts = []ir.Stmt{l.room(place, level)}
	if props.Locate {
		n := l.extentOfMode(l.from, level)
		above := l.Index("above")
		at := ir.Add(ir.Mul(ir.IndexAt(parent, above), n), ir.Remainder(q, above, n))
		body := []ir.Stmt{ir.Let(above, ir.Div(q, n)), ir.Put(place, q, at)}
		if props.HasCrd {
			stmts = append(stmts, &ir.Fill{Array: to.Crd, Count: l.placed(level), Value: zero(to.Crd.Elem)})
			body = append(body, &ir.Store{Array: to.Crd, Index: ir.IndexAt(place, q), Value: ir.At(from.Crd, q)})
		}
		return place, append(stmts, l.each(q, level, body...))
	}
	k := l.Index("k")
	moved := l.Index("moved")
	r := l.Index("q")
	above := l.placed(level - 1)
	length := ir.Sub(ir.IndexAt(from.Pos, ir.Next(q)), ir.IndexAt(from.Pos, q))
	return place, append(stmts,
		&ir.Fill{Array: to.Pos, Count: ir.Next(above), Value: zero(to.Pos.Elem)},
		l.each(q, level-1, ir.Put(to.Pos, ir.Next(ir.IndexAt(parent, q)), length)),
		&ir.PrefixSum{Array: to.Pos, Count: ir.Next(above)},
		l.each(r, level-1,
			ir.Let(moved, ir.Sub(ir.IndexAt(to.Pos, ir.IndexAt(parent, r)), ir.IndexAt(from.Pos, r))),
			&ir.For{Var: k, Lo: ir.IndexAt(from.Pos, r), Hi: ir.IndexAt(from.Pos, ir.Next(r)), Step: 1, Body: ir.Do(
				ir.Put(place, k, ir.Add(moved, k)),
				ir.Put(to.Crd, ir.Add(moved, k), ir.IndexAt(from.Crd, k)),
			)}))
}
