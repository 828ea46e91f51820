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

// Rows of a compressed matrix that a selection names are copied one by one: a product with a matrix that stores one entry a row
// needs no workspace, so there is nothing to schedule.

// Gather reports whether a is the product of a selection and a matrix with compressed rows, in the format of that matrix. One without
// values is 1 at its entries.
func Gather(a bind.Assignment) bool {
	by, from, ok := selected(a)
	if !ok || a.Of(by.Tensor).Permuted || a.Of(from.Tensor).Permuted {
		return false
	}
	f, to := a.Of(from.Tensor).Format, a.Result()
	copied := from.Tensor.PatternOnly || a.LHS.Tensor.Elem == from.Tensor.Elem
	if !slices.Equal(f.Levels, compressedRows.Levels) || !to.Format.Equal(f) || to.SamePattern != nil || !copied {
		return false
	}
	vars := slices.Clone(from.Vars)
	if vars[f.ModeOrder[0]] != by.Vars[1] {
		return false
	}
	vars[f.ModeOrder[0]] = by.Vars[0]
	return slices.Equal(vars, a.LHS.Vars)
}

// selected are the selection and the other factor of a sum of products.
func selected(a bind.Assignment) (by, from *index.Access, ok bool) {
	product, ok := a.RHS.(*index.Call)
	if !ok || product.Op != dtype.Mul || a.Reduce != dtype.Add || len(product.Args) != 2 {
		return nil, nil, false
	}
	by, ok = product.Args[0].(*index.Access)
	if !ok || !a.Of(by.Tensor).Format.Equal(format.Selection) {
		return nil, nil, false
	}
	from, ok = product.Args[1].(*index.Access)
	return by, from, ok
}

var compressedRows = format.MustParse("ds")

// gather is the lowering of one function of such a kernel.
type gather struct {
	*lowerer
	by       *ir.Array // the row of each row of the result
	from, to format.Storage
	rows     ir.Expr // of the result
	choices  ir.Expr // the rows that there are
}

func gatherKernel(p *cin.Program) *Kernel {
	s := newSlots(p)
	by, from, _ := selected(p.Source)
	to := p.Source.LHS.Tensor
	g := gather{
		by: s.storage(by.Tensor, 1, nil).Crd, from: s.storage(from.Tensor, 1, nil), to: s.storage(to, 1, nil),
		rows: s.extents[by.Vars[0]], choices: s.extents[by.Vars[1]],
	}
	function := func(name string, body func(g gather) []ir.Stmt) *ir.Func {
		g.lowerer = newLowerer(p, s)
		return returnOK(name, body(g))
	}
	value := func(q ir.Expr) ir.Expr {
		if from.Tensor.PatternOnly {
			return ir.Number(1, to.Elem)
		}
		return ir.At(s.vals(from.Tensor), q)
	}
	values := func(g gather) []ir.Stmt { return g.fill(value, s.vals(to)) }
	count := func(g gather) []ir.Stmt { return g.measure(s.counts[1]) }
	funcs := []*ir.Func{function(AssembleName, count), function(ComputeName, values)}
	return &Kernel{Assembled: true, Layout: s.layout, Module: &ir.Module{Slots: s.slots, Funcs: funcs}}
}

// measure writes where each row of the result begins. A row that doesn't exist is refused before anything is read.
func (g gather) measure(count *ir.Var) []ir.Stmt {
	i, row := g.Index("i"), g.Index("row")
	refuse := ir.When(ir.Is(ir.Is(row, ir.Lt, ir.Const(0)), ir.LogOr, ir.Is(row, ir.Ge, g.choices)), &ir.Return{Value: ir.Const(WrongSize)})
	lengths := ir.Count(
		i, g.rows, ir.Let(row, ir.IndexAt(g.by, i)), refuse, ir.Put(g.to.Pos, ir.Next(i), length(g.from.Pos, row)),
	)
	total, sum := g.sumLengths(g.to.Pos, g.rows, 1)
	out := append([]ir.Stmt{ir.Put(g.to.Pos, ir.Const(0), ir.Const(0)), lengths}, sum...)
	return append(append(out, refuseLarge(total, g.to.Pos.Elem)...), ir.Set(count, total))
}

// run is how many entries are copied at once.
const run = 8

// fill copies the rows, parts of them on threads. As long as others follow in a part, a row is copied by whole runs that may end behind it: what they
// write there, the next rows write again. So no loop waits for the end of a short row, which no processor foresees. value is that of an entry of the
// matrix.
func (g gather) fill(value func(q ir.Expr) ir.Expr, to *ir.Array) []ir.Stmt {
	part, parts, i, size, within := g.Index("part"), g.Index("parts"), g.Index("i"), g.Index("size"), g.Index("within")
	begin, end := g.Index("begin"), g.Index("end")
	bound := func(part ir.Expr) ir.Expr { return ir.Div(ir.Mul(part, g.rows), parts) }
	each := ir.Count(
		part, parts, ir.Let(begin, bound(part)), ir.Let(end, bound(ir.Next(part))), ir.Let(within, ir.IndexAt(g.to.Pos, end)),
		ir.Loop(i, begin, end, g.copied(i, size, within, value, to)...),
	)
	enough := ir.Is(ir.IndexAt(g.to.Pos, g.rows), ir.Gt, ir.Const(g.program.Team.Grain))
	return []ir.Stmt{
		ir.Let(parts, ir.Mul(g.slots.threads, ir.Const(chunks))), ir.Let(size, ir.IndexAt(g.from.Pos, g.choices)),
		&ir.Parallel{Threads: g.slots.threads, Cond: enough, Body: ir.Do(shareEach(each))},
	}
}

// copied is one row of the result, of whose part entries end before within; those of the matrix end before size.
func (g gather) copied(i, size, within *ir.Var, value func(q ir.Expr) ir.Expr, to *ir.Array) []ir.Stmt {
	row, q, end, moved, k := g.Index("row"), g.Index("q"), g.Index("q_end"), g.Index("moved"), g.Index("k")
	entry := func(q ir.Expr) []ir.Stmt {
		place := ir.Add(moved, q)
		column := ir.IndexAt(g.from.Crd, q)
		if g.from.Crd.Elem == g.to.Crd.Elem {
			column = ir.At(g.from.Crd, q) // as it is
		}
		return []ir.Stmt{ir.Put(g.to.Crd, place, column), ir.Put(to, place, value(q))}
	}
	whole := ir.Count(k, ir.Const(run), entry(ir.Add(q, k))...)
	whole.Kind = ir.Simd
	next := ir.Add(q, ir.Const(run))
	fits := ir.All(ir.Is(q, ir.Lt, end), ir.Is(next, ir.Le, size), ir.Is(ir.Add(moved, next), ir.Le, within))
	return []ir.Stmt{
		ir.Let(row, ir.IndexAt(g.by, i)), ir.Declare(q, ir.IndexAt(g.from.Pos, row)), ir.Let(end, ir.IndexAt(g.from.Pos, ir.Next(row))),
		ir.Let(moved, ir.Sub(ir.IndexAt(g.to.Pos, i), q)),
		ir.Repeat(fits, whole, ir.Increase(q, ir.Const(run))),
		ir.Repeat(ir.Is(q, ir.Lt, end), append(entry(q), ir.Increment(q))...),
	}
}
