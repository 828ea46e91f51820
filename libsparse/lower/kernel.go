// Package lower turns concrete index notation into loop IR: one function that computes, and one that counts where the
// pattern of the result has to be found first.
//
// It decides nothing: order, workspaces, tiles and threads are the schedule's. One file a concern: forall and merge emit
// loops, derive the loops over derived variables, where, tile, row and list the temporaries, result and insert the appending, split
// the tiles, slots the argument block.
package lower

import (
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Names of the functions of a kernel.
const (
	ComputeName  = "kernel_compute"
	AssembleName = "kernel_assemble"
)

// Status that a kernel returns beside ir.OK and ir.NoMemory.
const (
	// TooLarge says that the result has more entries than its index type can count.
	TooLarge = 2
	// WrongSize says that the kernel was compiled for other extents.
	WrongSize = 3
)

// Kernel is a lowered program.
type Kernel struct {
	Module *ir.Module
	// Layout gives the meaning of each slot of Module.
	Layout []Slot
	// Assembled says that the kernel has a function AssembleName.
	Assembled bool
}

// phase is what a function does with the result.
type phase int

const (
	computing phase = iota // fills coordinates and values
	counting               // counts entries, and writes the positions of rowwise results
)

// lowerer holds what the lowering of one function shares.
type lowerer struct {
	program *cin.Program
	phase   phase
	*ir.Builder
	slots  *slots
	scopes []*scope
	spaces map[*index.Tensor]*workspace
	result result
	// sums replaces the values of a result that can't be summed in its own type.
	sums *ir.Array
	// own is where a thread keeps a result of its own, if it does.
	own *ownResult
	// atomic says that threads update the same elements of the result.
	atomic bool
	// partly is set once an element of a dense result may be left unwritten or is reduced into.
	partly bool
}

// scope collects the arrays that live as long as a function or a parallel region.
type scope struct{ allocs, frees []ir.Stmt }

// Lower lowers a program whose loops no format contradicts. The lattices are those of its loops.
func Lower(p *cin.Program, lattices lattice.Table) (*Kernel, error) {
	if level, ok := Laid(p.Source); ok {
		return layoutKernel(p, level), nil
	}
	if err := p.Legal(); err != nil {
		return nil, err
	}
	if err := check(lattices, p.Body, p.Source.LHS); err != nil {
		return nil, err
	}
	s := newSlots(p)
	k := &Kernel{Assembled: assembled(p.Source.LHS.Tensor)}
	m := &ir.Module{Slots: s.slots}
	if k.Assembled {
		m.Funcs = append(m.Funcs, function(p, s, AssembleName, counting))
	}
	m.Funcs = append(m.Funcs, function(p, s, ComputeName, computing))
	k.Module, k.Layout = m, s.layout
	return k, nil
}

func function(p *cin.Program, s *slots, name string, ph phase) *ir.Func {
	l := &lowerer{program: p, phase: ph, slots: s, Builder: ir.NewBuilder(s.slots), spaces: map[*index.Tensor]*workspace{}}
	l.result = newResult(l, p.Source.LHS)
	if ph == computing {
		l.sums = sumsOf(p, l.Builder)
	}
	l.scopes = []*scope{{}}
	var body []ir.Stmt
	before, after := l.result.frame(l)
	stmts := l.body(p.Body)
	summing, rounding := l.frameSums()
	body = append(body, l.guards()...)
	body = append(body, summing...)
	body = append(body, l.clearResult()...)
	body = append(body, l.scopes[0].allocs...)
	body = append(body, before...)
	body = append(body, stmts...)
	body = append(body, l.scopes[0].frees...)
	body = append(body, after...)
	body = append(body, rounding...)
	body = append(body, &ir.Return{Value: ir.Const(ir.OK)})
	return &ir.Func{Name: name, Body: &ir.Block{Stmts: body}}
}

// body lowers the whole program, without what has a value nowhere whatever the sparse operands store.
func (l *lowerer) body(s cin.Stmt) []ir.Stmt {
	none := func(*index.Access) bool { return false }
	dense := func(a *index.Access) bool { return a.Tensor.Format.Dense() }
	if s = without(s, func(x index.Expr) index.Expr { return lattice.Without(x, none, dense) }); s == nil {
		return l.nothing()
	}
	return l.stmt(s, newEnv())
}

// clearResult sets a dense result to its fill value where the loops don't write every element.
func (l *lowerer) clearResult() []ir.Stmt {
	t := l.program.Source.LHS.Tensor
	if l.phase == counting {
		return nil
	}
	var out []ir.Stmt
	for _, level := range l.masks() {
		out = append(out, &ir.Fill{Array: l.slots.storage(t, level, nil).Crd, Count: l.positions(t, level), Value: &ir.Int{T: dtype.U8}})
	}
	if !l.partly && len(out) == 0 || l.result.appends() && !l.result.denseTail() {
		return out
	}
	vals := l.resultVals()
	return append(out, &ir.Fill{Array: vals, Count: l.positions(t, t.Order()-1), Value: identity(l.program.Source.Reduce, vals.Elem)})
}

// positions is the number of positions of a level of a stored tensor; of a result, that of what is allocated.
func (l *lowerer) positions(t *index.Tensor, level int) ir.Expr {
	n := ir.Expr(ir.Const(1))
	for i := range level + 1 {
		store := l.slots.storage(t, i, l.extentOfMode(t, i))
		if i > 0 {
			store.Rows = l.extentOfMode(t, i-1)
		}
		switch {
		case t.Format.Levels[i].Size(store, n) != nil:
			n = t.Format.Levels[i].Size(store, n)
		case t.Owner() == l.program.Source.LHS.Tensor:
			n = l.slots.counts[i]
		default:
			n = ir.Convert(ir.At(store.Pos, n), dtype.I64)
		}
	}
	return n
}
