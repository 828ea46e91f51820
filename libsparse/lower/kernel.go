// Package lower turns concrete index notation into loop IR: one function that computes, and one that counts where the
// pattern of the result must be found first.
//
// It decides nothing: order, workspaces, tiles and threads are the schedule's. What is known at one place of the nest is an
// env. How the pattern of a result is written is an assembly, how a temporary is kept a workspace: one type and one file for
// each way. The other files are loops (forall, merge, search, derive, positions, tiles), threads (parallel, balance),
// the argument block (slots, guard), conversions to levels that are not appended to (conversion), copies of rows (gather), and sums and means that are weighted by scores (pooling, pooling_tiles).
package lower

import (
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
)

// Names of the functions of a kernel.
const (
	ComputeName  = "kernel_compute"
	AssembleName = "kernel_assemble"
	RevalueName  = "kernel_revalue"
	BoundName    = "kernel_bound"
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
	// Assembled says that the kernel has a function AssembleName, and Revalued that it has a function RevalueName.
	Assembled, Revalued bool
	// Bounded says that it has a function BoundName, to be called first.
	Bounded bool
}

// phase says which function of the kernel is lowered.
type phase int

const (
	computing phase = iota // fills coordinates and values
	counting               // counts entries, and writes the positions of rowwise results
	revaluing              // fills the values of a result whose coordinates are known from an earlier call
	bounding               // adds up how many entries there may be
)

// lowerer is the state of the lowering of one function.
type lowerer struct {
	*ir.Builder
	program *cin.Program
	slots   *slots
	// lattices say what loops visit; they are nil where there are no loops to lower.
	lattices *lattice.Table
	result   assembly
	// scalars are the variables that hold operands without modes, which a function loads once; nil where each access loads.
	scalars map[*index.Tensor]*ir.Var
	// partly is a finding about a dense result: some element may be left unwritten, or is reduced into, so that it is filled first.
	partly bool
	// computed is how many entries the result has, where its pattern is there; else nil.
	computed ir.Expr
}

// of is how a tensor of the program is stored.
func (l *lowerer) of(t *index.Tensor) *bind.Storage { return l.program.Source.Of(t) }

// format is the format of a tensor of the program.
func (l *lowerer) format(t *index.Tensor) format.Format { return l.of(t).Format }

// key identifies the positions of a level of an access, as iterators are identified.
func (l *lowerer) key(a *index.Access, level int) string {
	return lattice.Key(l.program.Source.Table, a, level)
}

// Lower lowers a program whose loops no format contradicts. The lattices are those of its loops.
func Lower(p *cin.Program, lattices *lattice.Table) (*Kernel, error) {
	if level, ok := Conversion(p.Source); ok {
		return conversionKernel(p, level), nil
	}
	if Gather(p.Source) {
		return gatherKernel(p), nil
	}
	if p.Source.Pooling() != nil {
		return poolingKernel(p), nil
	}
	if err := p.Legal(); err != nil {
		return nil, err
	}
	if err := check(p, lattices); err != nil {
		return nil, err
	}
	s := newSlots(p)
	k := kernel(p, s, lattices)
	if s.refused != nil {
		return nil, s.refused
	}
	return k, nil
}

// kernel has the functions of a program that check has passed; s.refused says afterwards whether a loop that was left could not be lowered.
func kernel(p *cin.Program, s *slots, lattices *lattice.Table) *Kernel {
	if p.Bounded {
		return boundedKernel(p, s, lattices)
	}
	k := &Kernel{Layout: s.layout, Module: &ir.Module{Slots: s.slots}, Assembled: p.Source.Result().Discovered()}
	if k.Assembled {
		k.Module.Funcs = append(k.Module.Funcs, function(p, s, lattices, AssembleName, counting))
	}
	k.Module.Funcs = append(k.Module.Funcs, function(p, s, lattices, ComputeName, computing))
	if k.Revalued = revalued(p, lattices); k.Revalued {
		k.Module.Funcs = append(k.Module.Funcs, function(p, s, lattices, RevalueName, revaluing))
	}
	return k
}

// check refuses loops of the program that need an order; what is left of them where an operand has no value, needOrder refuses.
func check(p *cin.Program, lattices *lattice.Table) error {
	for _, f := range cin.Loops(p.Body) {
		if err := inOrder(p, f, lattices.Loop(f)); err != nil {
			return err
		}
	}
	return nil
}

// inOrder refuses a loop that needs coordinates in order of a level that has none: one that walks it together with other levels,
// or a loop over what a result is appended by.
func inOrder(p *cin.Program, f *cin.Forall, lat lattice.Lattice) error {
	out := cin.Written(f.Body)
	ordered := lat.Full() || len(lat.Iterators()) > 1 || out.Tensor == p.Source.LHS.Tensor && appendsBy(p, out, f.Var)
	for _, it := range lat.Iterators() {
		if ordered && !it.Props().Ordered {
			return diag.Errorf(diag.Unsupported, "the loop over %s needs the coordinates of %s in order, and format %q has none; "+
				"convert it to another format", f.Var, it.Access, p.Source.Of(it.Access.Tensor).Format)
		}
	}
	return nil
}

func newLowerer(p *cin.Program, s *slots) *lowerer {
	return &lowerer{Builder: ir.NewBuilder(s.slots), program: p, slots: s}
}

func function(p *cin.Program, s *slots, lattices *lattice.Table, name string, ph phase) *ir.Func {
	return functionBy(p, s, lattices, name, ph, assemblyOf(p).new)
}

// functionBy is a function that writes the result by a way of its own.
func functionBy(p *cin.Program, s *slots, lattices *lattice.Table, name string, ph phase, way func(l *lowerer) assembly) *ir.Func {
	l := newLowerer(p, s)
	l.lattices, l.scalars = lattices, map[*index.Tensor]*ir.Var{}
	l.result = way(l)
	e := env{phase: ph, region: &region{}, out: target{vals: s.vals(p.Source.LHS.Tensor)}}
	sums := (ph == computing || ph == revaluing) && summedApart(p)
	if sums {
		e.out.vals = l.Array(p.Source.LHS.Tensor.Name+"_sums", p.Source.LHS.Tensor.Elem.Accum())
	}
	before, after := l.result.frame(l, &e)
	stmts := l.body(e)
	body := l.guards()
	if sums {
		alloc, round := l.frameSums(e.out.vals)
		body, after = append(body, alloc...), append(after, round...)
	}
	return returnOK(name, slices.Concat(body, l.loads(), l.clearResult(e), e.region.allocs, before, stmts, e.region.frees, after))
}

func returnOK(name string, body []ir.Stmt) *ir.Func {
	return &ir.Func{Name: name, Body: ir.Do(append(body, &ir.Return{Value: ir.Const(ir.OK)})...)}
}

// body lowers the whole program.
func (l *lowerer) body(e env) []ir.Stmt {
	if l.lattices.Body == nil {
		return l.nothing()
	}
	return l.stmt(l.lattices.Body, e)
}

// clearResult sets a dense result to its fill value where the loops don't write every element.
func (l *lowerer) clearResult(e env) []ir.Stmt {
	t := l.program.Source.LHS.Tensor
	if e.phase != computing { // where values are computed again, every one is
		return nil
	}
	var out []ir.Stmt
	for _, level := range l.masks() {
		out = append(out, &ir.Fill{Array: l.slots.storage(t, level, nil).Crd, Count: l.positions(t, level), Value: zero(dtype.U8)})
	}
	if !l.partly && len(out) == 0 || l.of(t).Discovered() && !denseBlocks(l.of(t)) {
		return out
	}
	return append(out, l.cleared(e.out.vals))
}

// cleared sets the values of the result to what reductions begin with.
func (l *lowerer) cleared(vals *ir.Array) ir.Stmt {
	t := l.program.Source.LHS.Tensor
	fill := identity(l.program.Source.Reduce, vals.Elem)
	return &ir.Fill{Array: vals, Count: l.positions(t, l.format(t).Order()-1), Value: fill}
}

// positions is the number of positions of a level of a stored tensor; of a result, the number of those that are allocated.
func (l *lowerer) positions(t *index.Tensor, level int) ir.Expr {
	return l.positionsBelow(t, 0, level, ir.Const(1))
}

// positionsBelow is the number of positions of the last of several levels, given the number n of positions above the first.
func (l *lowerer) positionsBelow(t *index.Tensor, first, last int, n ir.Expr) ir.Expr {
	for i := first; i <= last; i++ {
		store := l.stored(t, i)
		switch size := l.format(t).Levels[i].Size(store, n); {
		case size != nil:
			n = size
		case l.program.Source.Owner(t) == l.program.Source.LHS.Tensor:
			n = l.slots.counts[i]
		default:
			n = ir.IndexAt(store.Pos, n)
		}
	}
	return n
}
