package autoschedule

import (
	"math"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// plan is a complete candidate: an order of the loops with what follows from it. The model prices plans; the commands of a
// decision are written from the cheapest one, and nothing else chooses.
type plan struct {
	order       []index.Var
	conversions []Conversion
	workspace   workspace
	sharing     sharing
	// bounded says that entries of the result are not counted before they are written.
	bounded bool
	terms   Terms
	// around is how often the loop at each depth is expected to start, and last how often the body runs.
	around []float64
	// lookup is the row that the innermost loop looks coordinates up in; its operand is nil where there is none.
	lookup lookup
}

// workspace says where terms go before they are in the result.
type workspace struct {
	kind workspaceKind
	at   int // the depth of the loops that fill it
	// tiles says of a strip that it is cut into tiles, by one more loop.
	tiles bool
	// over is how many of the innermost variables a strip is over.
	over int
	// Of one filling of a workspace over several elements: how many terms it is expected to get, and for how many places.
	terms, places float64
}

type workspaceKind int

const (
	unbuffered workspaceKind = iota // entries come in storage order, or each element has one term
	inMemory                        // sums are updated in the result
	insertion                       // rows are counted, and entries put into them as they come
	scalar                          // one sum in a register
	strip                           // sums over the innermost variable, in registers
	row                             // a place for each coordinate of the last mode, with a list of those in use
	block                           // the same over several modes
	hashTable                       // a table of coordinates, sorted before it is read
	sortedList                      // all terms, sorted before they are read
)

// whole reports whether w holds the whole result.
func (w workspace) whole() bool { return w.kind > insertion && w.at == 0 }

// sharing says how threads divide the outermost loop, or why they don't.
type sharing int

const (
	divided        sharing = iota // they take blocks of its iterations
	inStrips                      // they take strips of its coordinates
	together                      // they fill one list
	apart                         // each has a result of its own, and these are added up
	aloneWhole                    // one thread: a workspace holds the whole result
	aloneFew                      // one thread: the list has too few entries for several to pay
	aloneListMerge                // one thread: a list holds the whole result, and the loop merges levels
	aloneShared                   // one thread: iterations write the same elements
	aloneMerge                    // one thread: the loop merges levels
)

// alone reports whether one thread runs the outermost loop.
func (s sharing) alone() bool { return s >= aloneWhole }

// place chooses the workspace for an order whose loops have been counted.
func (m *model) place(order []int) workspace {
	if m.sparse > 0 {
		return m.collect(order)
	}
	return m.accumulate(order)
}

// dense reports whether a loop over v visits every coordinate without matching anything stored.
func (m *model) dense(v int) bool {
	return !m.result.walks(v) && !m.any(func(o *operand) bool { return o.walks(v) })
}

// collect chooses how terms of a result whose pattern is found come to their entries: directly where they come in storage
// order, through a row where only the last variable comes out of order, a hash table or a sorted list for everything else.
func (m *model) collect(order []int) workspace {
	ordered := 0 // how many leading variables of the result come in order
	for ordered < len(m.stored) && !m.unordered(m.stored[ordered]) {
		ordered++
	}
	q := 0
	for q < ordered && order[q] == m.stored[q] {
		q++
	}
	switch all := len(m.stored); {
	case q >= m.sparse && (m.sparse < all || !m.reduces):
		return workspace{}
	case q >= m.sparse:
		return workspace{kind: scalar, at: q}
	case m.inserted && ordered == all && m.rowsInOrder(order):
		return workspace{kind: insertion}
	case q == all-1 && m.sparse == all && !m.longRow:
		return m.filling(workspace{kind: row, at: q})
	}
	w := m.filling(workspace{at: min(q, m.sparse-1)})
	w.kind = m.scatter(order, w)
	return w
}

// rowsInOrder reports whether loops visit the variables of a row of the result as the row stores them.
func (m *model) rowsInOrder(order []int) bool {
	rows, _ := m.assignment.Result().Format.Inserted()
	row := m.stored[rows.Groups()[0].First:]
	at := 0
	for _, v := range order {
		if at < len(row) && v == row[at] {
			at++
		}
	}
	return at == len(row)
}

// scatter chooses the kind of a workspace over several variables: a place for each element where that is small and used
// enough to be worth clearing, a hash table where elements have several terms each, a list where they have few.
func (m *model) scatter(order []int, w workspace) workspaceKind {
	c := m.constants
	if m.compact(w.places) && m.around[w.at]*w.terms > w.places {
		return block
	}
	elements := w.elements()
	switch {
	case !m.reduces || w.terms <= c.Repeats*elements:
		return sortedList
	case w.at == 0 && w.terms <= c.RepeatsTogether*elements && m.fillsTogether(order[0]):
		return sortedList
	default:
		return hashTable
	}
}

// filling estimates how many terms the loops from w.at on bring in one iteration of those around them.
func (m *model) filling(w workspace) workspace {
	w.terms, w.places = 1, 1
	for _, n := range m.visits[w.at:] {
		w.terms *= n
	}
	for _, v := range m.stored[w.at:] {
		w.places *= m.extents[v]
	}
	return w
}

// elements is how many different elements the terms of one filling are expected to fall on.
func (w workspace) elements() float64 { return -w.places * math.Expm1(-w.terms/w.places) }

// bounded reports whether the entries of the result can be written before they are counted: those of one row after the other, to room for as
// many as follow from the lengths of the operands' segments. That takes one pass over the operands and a copy, in place of two passes.
func (m *model) bounded(order []int, w workspace) bool {
	s, rows := m.assignment.Result(), len(m.stored)-1
	if !s.Discovered() || s.Counted || !s.Format.Listed() || m.assignment.LHS.Windowed() {
		return false
	}
	if w.kind == insertion || w.kind >= row && w.at != rows {
		return false
	}
	for depth, v := range m.stored[:rows] {
		if order[depth] != v || m.unordered(v) {
			return false
		}
	}
	return true
}

// compact reports whether a workspace may have a place and a mark for each of so many elements of the result.
func (m *model) compact(elements float64) bool {
	return elements*float64(m.assignment.LHS.Tensor.Elem.Accum().Size()+1) <= m.constants.CompactBytes
}

// unordered reports whether the loop over v meets coordinates in no order.
func (m *model) unordered(v int) bool {
	for i := range m.operands {
		if o := &m.operands[i]; o.disordered && o.walks(v) && !o.converted && !o.props(v).Ordered {
			return !m.lattice(v).Ordered()
		}
	}
	return false
}

// threads says how threads divide the outermost loop of an order with a workspace.
func (m *model) threads(order []int, w workspace) sharing {
	if w.tiles && w.at == 1 { // the reduction is outermost, but for the loop over tiles
		return m.share(order[len(order)-1], true, w)
	}
	return m.share(order[0], false, w)
}

// share says how threads divide the outermost loop, which is over root or over tiles of it.
func (m *model) share(root int, tiles bool, w workspace) sharing {
	switch {
	case w.whole() && w.kind != sortedList:
		return aloneWhole
	case w.whole() && !m.divisible(root):
		return aloneListMerge
	case w.whole() && !m.fillsTogether(root):
		return aloneFew
	case w.whole():
		return together
	case (w.kind != insertion || m.masked()) && !m.owns(root):
		return m.shared(root, tiles)
	case m.divisible(root):
		return divided
	case !tiles && m.striped(root):
		return inStrips
	default:
		return aloneMerge
	}
}

// divisible reports whether threads can divide the loop over v.
func (m *model) divisible(v int) bool { return m.dense(v) || m.lattice(v).Divisible() }

// lattice is the lattice of the loop over v, with the operands converted as the order that was priced last needs them.
func (m *model) lattice(v int) lattice.Lattice {
	key := latticeKey{v: v}
	for i := range m.operands {
		o := &m.operands[i]
		if l := o.place[v]; o.converted && l >= 0 {
			key.formats |= 1 << (2 * i)
			if o.filled[l] {
				key.formats |= 2 << (2 * i)
			}
		}
	}
	l, known := m.lattices[key]
	if !known {
		l = lattice.Loop(m.converted(), m.assignment.RHS, m.vars[v])
		if m.lattices == nil {
			m.lattices = map[latticeKey]lattice.Lattice{}
		}
		m.lattices[key] = l
	}
	return l
}

// latticeKey is a variable and what is converted of it: by operand whether it is, and whether its level is dense then.
type latticeKey struct {
	v       int
	formats uint64
}

// converted is how the operands are stored once they are converted as the order that was priced last needs them.
func (m *model) converted() *bind.Table {
	a := m.assignment
	b := a.Table
	for i := range m.operands {
		o := &m.operands[i]
		t := o.access.Tensor
		shared := o.storage.SamePattern != nil && m.any(func(p *operand) bool { return p.converted && p.access.Tensor == a.Owner(t) })
		if !o.converted && !shared {
			continue
		}
		s := *o.storage
		alike := o.converted && m.any(func(p *operand) bool {
			return p.converted && p.access.Tensor == a.Owner(t) && p.format(m.vars).Equal(o.format(m.vars)) && p.storage.Format.SameModes(o.storage.Format)
		})
		if !alike {
			s.SamePattern = nil
		}
		if o.converted {
			s.Format = o.format(m.vars)
		}
		b = b.With(t, s)
	}
	return b
}

// fillsTogether reports whether threads fill a list of the whole result, by blocks of the loop over v.
func (m *model) fillsTogether(v int) bool {
	return m.worthThreads() && m.divisible(v)
}

// owns reports whether iterations of an outermost loop over v write distinct elements.
func (m *model) owns(v int) bool { return m.naive().Owns(m.vars[v]) }

// shared says how threads divide a loop over root, or over tiles of it, whose iterations write the same elements.
func (m *model) shared(root int, tiles bool) sharing {
	if !tiles && m.addsUp() && m.divisible(root) {
		return apart
	}
	return aloneShared
}

// addsUp reports whether threads may have results of their own: those of two have no more elements than there are iterations.
func (m *model) addsUp() bool {
	elements, s := m.elements(), m.result.storage
	if s.SamePattern != nil {
		elements = m.entries(m.assignment.Of(s.SamePattern))
	}
	return (s.Format.Dense() || s.SamePattern != nil) && m.around[len(m.vars)] >= 2*elements
}

// elements is how many elements the result has, stored or not.
func (m *model) elements() float64 {
	elements := 1.0
	for v, free := range m.free {
		if free {
			elements *= m.extents[v]
		}
	}
	return elements
}

// naive is the program without commands, for legality queries.
func (m *model) naive() *cin.Program {
	if m.program == nil {
		m.program = &cin.Program{Source: m.assignment}
	}
	return m.program
}

// masked reports whether kernels set a mask on some level of the result.
func (m *model) masked() bool {
	for level := range m.result.storage.Format.Levels {
		if m.result.storage.Masked(level) {
			return true
		}
	}
	return false
}

// striped reports whether a loop over v that merges what several levels store may be cut into strips of coordinates, which isn't
// possible where a level is walked whole or not at all, and is worth it.
func (m *model) striped(v int) bool {
	return m.worthThreads() && m.result.cuts(v) && !m.any(func(o *operand) bool { return !o.cuts(v) })
}

// cuts reports whether a strip of the coordinates of v can be walked in o.
func (o *operand) cuts(v int) bool {
	l := o.place[v]
	if l < 0 {
		return true
	}
	if !o.converted {
		if p := o.props(v); p.ConversionOnly && !p.Locate {
			return false
		}
	}
	return o.filled[l] || o.access.Window(o.mode(v)) == nil
}

// worthThreads reports whether the tensors have enough entries together for what threads need beside the loops.
func (m *model) worthThreads() bool {
	entries := m.result.storage.NNZ
	for i := range m.operands {
		entries += m.operands[i].storage.NNZ
	}
	return float64(entries) >= m.constants.WorthThreads
}
