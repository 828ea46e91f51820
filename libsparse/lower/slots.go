package lower

import (
	"fmt"
	"slices"
	"strconv"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Result is the Operand of the slots that belong to the result.
const Result = -1

// Slot is the meaning of one word of the argument block.
type Slot struct {
	// Kind is threads, streamed (whether a dense result is to go past the caches), extent, mode, pos, crd, perm, vals, order, which has the rows of an operand by their lengths, or what functions leave to those that are called later: count, bound, starts,
	// filled, room_crd and room_vals. Repeated calls hand on code, and are told by coded that it is there.
	Kind string `json:"kind"`
	// Index is the variable of an extent.
	Index string `json:"index,omitempty"`
	// Operand and Level say whose array or count it is; of a mode, whose extent, and Level is the mode.
	Operand int `json:"operand"`
	Level   int `json:"level"`
	// Before says which function needs an array of the result: bound, assemble, compute or revalue.
	Before string `json:"before,omitempty"`
	// Length is how long an array of the result has to be: an ir.Formula over the extents, counts and arrays of other slots,
	// named slot0, slot1 and so on.
	Length any     `json:"length,omitempty"`
	length ir.Expr // the same
}

// slots is the argument block of a kernel: the thread count, the extents, each operand's arrays, the result's.
type slots struct {
	*bind.Table
	slots   []ir.Slot
	layout  []Slot
	threads *ir.Var
	extents map[index.Var]*ir.Var
	modes   map[modeKey]*ir.Var // the extents of modes that are accessed through windows
	counts  map[int]*ir.Var     // of the result's levels
	bound   *ir.Var             // of the entries of a bounded result
	coded   *ir.Var             // whether its entries have codes
	arrays  map[arrayKey]*ir.Array
	first   int   // level of the result that the kernel writes: those above are the operand's
	refused error // why a loop can't be lowered that is left where an operand has no value
}

type modeKey struct {
	tensor *index.Tensor
	mode   int
}

type arrayKey struct {
	tensor *index.Tensor
	kind   string
	level  int
}

func newSlots(p *cin.Program) *slots {
	s := &slots{Table: p.Source.Table, extents: map[index.Var]*ir.Var{}, modes: map[modeKey]*ir.Var{}, counts: map[int]*ir.Var{}, arrays: map[arrayKey]*ir.Array{}}
	s.threads = s.scalar("threads", Slot{Kind: "threads"}, false)
	for _, v := range p.Source.Vars() {
		s.extents[v] = s.scalar("n_"+string(v), Slot{Kind: "extent", Index: string(v)}, false)
		s.extents[v].Least, s.extents[v].Most = p.Bounds[v].Least, p.Bounds[v].Most
	}
	for i, t := range p.Source.Tensors() {
		s.windowed(p.Source.Assignment, t, i)
		s.tensor(t, i, "")
	}
	if m := p.Source.Pooling(); m != nil {
		for _, to := range m.Stored() {
			s.vals(to.Tensor).ReadOnly = false
		}
	}
	s.orders(p)
	s.windowed(p.Source.Assignment, p.Source.LHS.Tensor, Result)
	if level, ok := Conversion(p.Source); ok {
		s.first = level
	}
	s.resultSlots(p.Source.LHS.Tensor)
	if add := assemblyOf(p).slots; add != nil {
		add(s, p.Source.LHS.Tensor)
	}
	s.streamed(p)
	s.walks(p)
	newLowerer(p, s).lengths()
	return s
}

// streamed adds whether a dense result is larger than the caches, where loops in lanes of a known length write it.
func (s *slots) streamed(p *cin.Program) {
	t := p.Source.LHS.Tensor
	if f := s.Of(t).Format; !f.Dense() || f.Order() < 2 || t.Elem != dtype.F32 && t.Elem != dtype.F64 {
		return
	}
	writes := func(f *cin.Forall) bool {
		a, ok := f.Body.(*cin.Assign)
		_, known := p.Exact(p.Original(f.Var))
		return ok && known && f.Unit == cin.Lanes && a.LHS.Tensor == t && a.Reduce == ""
	}
	if slices.ContainsFunc(cin.Loops(p.Body), writes) {
		s.scalar("streamed", Slot{Kind: "streamed"}, false)
		s.slots[len(s.slots)-1].Streams = s.arrays[arrayKey{t, "vals", 0}]
	}
}

// orders adds the orders in which loops visit the rows of operands.
func (s *slots) orders(p *cin.Program) {
	tensors := p.Source.Tensors()
	for _, f := range cin.Loops(p.Body) {
		if f.Order != nil && s.order(f.Order) == nil {
			at := Slot{Kind: "order", Operand: slices.Index(tensors, f.Order)}
			s.array(f.Order, f.Order.Name+"_order", s.Of(f.Order).Index, at)
		}
	}
}

// order is the order of the rows of t, nil where no loop visits them in one.
func (s *slots) order(t *index.Tensor) *ir.Array { return s.arrays[arrayKey{t, "order", 0}] }

// windowed adds the extents of the modes of t that are accessed through windows.
func (s *slots) windowed(a *index.Assignment, t *index.Tensor, operand int) {
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		for m, w := range acc.Windows {
			if k := (modeKey{t, m}); w != nil && acc.Tensor == t && s.modes[k] == nil {
				s.modes[k] = s.scalar(fmt.Sprintf("%s_mode%d", t.Name, m+1), Slot{Kind: "mode", Operand: operand, Level: m}, false)
			}
		}
	}
}

func (s *slots) scalar(name string, meaning Slot, out bool) *ir.Var {
	v := &ir.Var{Name: name, T: ir.Index}
	s.slots = append(s.slots, ir.Slot{Var: v, Out: out})
	s.layout = append(s.layout, meaning)
	return v
}

func (s *slots) array(t *index.Tensor, name string, elem dtype.T, meaning Slot) {
	a := &ir.Array{Name: name, Elem: elem, ReadOnly: meaning.Operand != Result}
	s.arrays[arrayKey{t, meaning.Kind, meaning.Level}] = a
	s.slots = append(s.slots, ir.Slot{Array: a})
	s.layout = append(s.layout, meaning)
}

// tensor adds the arrays of a tensor: those of its levels unless it shares them, then its values.
func (s *slots) tensor(t *index.Tensor, operand int, before string) {
	if s.Of(t).SamePattern == nil {
		for l, level := range s.Of(t).Format.Levels {
			early := before
			if operand == Result && (s.Of(t).Format.Rowwise() || level.Props().ConversionOnly) && level.Props().HasPos {
				early = "assemble"
			}
			if operand == Result && l < s.first {
				continue
			}
			if level.Props().HasPos {
				s.array(t, levelName(t.Name, "pos", l), s.Of(t).Index, Slot{Kind: "pos", Operand: operand, Level: l, Before: early})
			}
			if level.Props().HasCrd {
				s.array(t, levelName(t.Name, "crd", l), level.CrdType(s.Of(t).Index), Slot{Kind: "crd", Operand: operand, Level: l, Before: before})
			}
		}
	}
	if s.Of(t).Permuted && !t.PatternOnly {
		s.array(t, t.Name+"_perm", s.Of(t).Index, Slot{Kind: "perm", Operand: operand})
	}
	if !t.PatternOnly {
		s.array(t, t.Name+"_vals", t.Elem, Slot{Kind: "vals", Operand: operand, Before: before})
	}
}

func (s *slots) resultSlots(t *index.Tensor) {
	if s.Of(t).Discovered() {
		for _, g := range s.Of(t).Format.Groups() {
			if g.Last < s.first {
				continue
			}
			count := s.scalar(levelName(t.Name, "count", g.First), Slot{Kind: "count", Operand: Result, Level: g.First}, true)
			for l := g.First; l <= g.Last; l++ {
				s.counts[l] = count
			}
		}
	}
	s.tensor(t, Result, "compute")
}

func (s *slots) vals(t *index.Tensor) *ir.Array { return s.arrays[arrayKey{t, "vals", 0}] }

// storage is one level of a stored tensor; extent is that of the level's mode.
func (s *slots) storage(t *index.Tensor, level int, extent ir.Expr) format.Storage {
	return format.Storage{
		Extent: extent,
		Pos:    s.arrays[arrayKey{s.Owner(t), "pos", level}],
		Crd:    s.arrays[arrayKey{s.Owner(t), "crd", level}],
	}
}

// levelName names a part of a level, counted from one: A_pos2 has the positions of the second level of A, and A_p2 is one of
// them.
func levelName(tensor, part string, level int) string {
	return tensor + "_" + part + strconv.Itoa(level+1)
}

// Len is the length of an array of the result, given the words of the argument block: those of the counts are read after the first
// phase.
func (k *Kernel) Len(slot int, args []ir.Arg) (int, error) {
	length := &ir.Func{Name: "length", Body: ir.Do(&ir.Return{Value: k.Layout[slot].length})}
	n, err := ir.Run(&ir.Module{Slots: k.Module.Slots, Funcs: []*ir.Func{length}}, length.Name, args)
	return int(n), err
}
