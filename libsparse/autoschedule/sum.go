package autoschedule

import (
	"slices"
	"strings"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/schedule"
)

// sum keeps the sum of each element in a scalar: of the factors that change with the innermost loop, where that is the whole
// reduction, so that the others are multiplied once for each element.
func (d *Decision) sum(a bind.Assignment, w workspace, name string) {
	summed := d.Order[w.at:]
	if all := a.Reduced(); len(all) == len(summed) {
		summed = all
	}
	part := schedule.Precompute{At: w.at, Name: name, Storage: cin.Tile}
	part.Of = d.varying(a, summed)
	d.add(part)
	d.note("workspace %s: a scalar, since %v is summed inside each element", name, summed)
	if part.Of != "" {
		d.note("factors other than %s are multiplied once for each element", part.Of)
	}
	if d.blockRows(a, w) {
		return
	}
	d.together(a, w)
	d.gather(a, w)
	d.across(a, w)
}

// across sums several rows at once, each in a lane, where their entries stand side by side, as in SELL, ELL and DIA.
func (d *Decision) across(a bind.Assignment, w workspace) {
	depth, t := len(d.Order)-1, a.LHS.Tensor.Elem.Accum()
	if depth < 1 || w.at != depth || t == dtype.Bool || t.IsComplex() || a.Result().Discovered() {
		return
	}
	rows, count := d.Order[depth-1], int64(acrossBytes/t.Size())
	it, size, ok := sideBySide(a, rows, d.Order[depth])
	if !ok {
		return
	}
	gathered := !it.Props().Filling // on diagonals the columns of neighbours are neighbours, too
	if !gathered {
		count = int64(streamBytes / t.Size())
	}
	if size > 0 {
		count = min(count, size)
	}
	if count < 2 || size%count != 0 {
		return
	}
	if gathered && d.plan.around[depth+1] >= d.constants.ShortRow*d.plan.around[depth] {
		d.add(schedule.Unroll{Var: d.Order[depth], Factor: shortLanes * d.turns(a, depth)})
	}
	d.add(schedule.Unroll{Var: rows, Factor: count})
	d.note("%d elements over %s are summed at once, each in a lane: their entries stand side by side in %s", count, rows, it.Access.Tensor.Name)
	if gathered {
		d.byCoordinates(a, it.Access.Tensor, d.Order[depth])
	}
}

// byCoordinates says how lanes read what stands at the coordinates of v, where rows of t are summed in them.
func (d *Decision) byCoordinates(a bind.Assignment, t *index.Tensor, v index.Var) {
	if d.gathersAtOnce(a, v) {
		d.add(schedule.Gather{Var: v})
		d.note("what they read by coordinates the processor reads at once")
	}
	if a.Of(t).Adjacent {
		d.add(schedule.Adjacent{Var: v})
		d.note("what they read by coordinates is loaded at once where these follow each other, as they mostly do")
	}
}

// sideBySide is the level that the loop over v walks alone, where the places of neighbouring rows stand side by side, and of how many; 0 is all of them.
func sideBySide(a bind.Assignment, rows, v index.Var) (it lattice.Iterator, count int64, ok bool) {
	l := lattice.Loop(a.Table, a.RHS, v)
	if len(l.Points) != 1 || len(l.Iterators()) != 1 || len(l.Points[0].Located) > 0 {
		return it, 0, false
	}
	it = l.Iterators()[0]
	stored := a.Of(it.Access.Tensor).Format
	below, ok := stored.Levels[it.Level].(format.Grouped)
	if !ok || it.Level != 1 || it.Access.Windowed() || it.Access.Vars[stored.ModeOrder[0]] != rows || !stored.Levels[0].Props().Full {
		return it, 0, false
	}
	return it, below.Group(), true
}

// shortLanes is how many partial sums an element has then for each vector that takes turns where its row is summed in lanes (ir.Accumulate): as many as that
// has, so that it has the same bits.
const shortLanes = 4

// acrossBytes is the width of the vectors of sums of several rows: wider ones aren't faster, since loads of what is gathered are the limit (measured: SpMV in
// SELL with 4, 8 and 16 lanes on 12 real matrices).
const acrossBytes = 32

// streamBytes is the same where nothing is gathered: that of the widest vectors.
const streamBytes = 64

// turns is how many vectors of the sums of a scalar take turns in the innermost loop.
func (d *Decision) turns(a bind.Assignment, depth int) int64 {
	long := d.constants.TurnsLong
	if d.gathersAtOnce(a, d.Order[depth]) {
		long = d.constants.GatherLong
	}
	if around := d.plan.around; around[depth+1] >= long*around[depth] {
		return 2
	}
	return 1
}

// gathersAtOnce reports whether the processor had better read what sums over v take from dense operands by its instruction for that.
func (d *Decision) gathersAtOnce(a bind.Assignment, v index.Var) bool {
	return d.constants.GatherLong > 0 && a.LHS.Tensor.Elem == dtype.F32 && slices.ContainsFunc(index.Accesses(a.RHS), func(acc *index.Access) bool {
		stored := a.Stored(acc)
		return a.Dense(acc) && acc.Tensor.Elem == dtype.F32 && len(stored) > 0 && stored[len(stored)-1] == v
	})
}

// gather sums in lanes where the innermost loop walks a level of one operand whose rows are not too short for that.
func (d *Decision) gather(a bind.Assignment, w workspace) {
	depth := len(d.Order) - 1
	v, around := d.Order[depth], d.plan.around
	t := a.LHS.Tensor.Elem
	it, ok := walked(a, v)
	if !ok || t == dtype.Bool || t.IsComplex() || around[depth+1] < d.constants.ShortRow*around[depth] {
		return
	}
	turns, atOnce := d.turns(a, depth), d.gathersAtOnce(a, v)
	if turns > 1 {
		d.add(schedule.Unroll{Var: v, Factor: turns})
	}
	d.add(schedule.Vectorize{Var: v})
	d.note("sums over %s are kept in lanes, which don't wait for each other", v)
	switch {
	case turns > 1 && atOnce:
		d.add(schedule.Gather{Var: v})
		d.note("eight of them are a vector, whose factors the processor reads at once by their coordinates")
	case turns > 1:
		d.note("two vectors of them take turns, since rows are long")
	}
	if w.at == depth {
		d.order(a, it.Access, depth-1)
		d.rows(a, depth-1)
	}
}

// order visits rows of similar length one after the other, where the lengths of neighbours can't be foreseen. What is converted has rows that
// nobody has looked at.
func (d *Decision) order(a bind.Assignment, rows *index.Access, depth int) {
	s := a.Of(rows.Tensor)
	if depth < 0 || !s.Uneven || s.Permuted || a.Result().Discovered() || !cin.HasRows(a, rows, d.Order[depth]) {
		return
	}
	d.add(schedule.Order{Var: d.Order[depth], Of: rows.Tensor.Name})
	d.note("rows of %s of similar length are summed one after the other, since processors can't foresee the lengths of neighbours", rows.Tensor.Name)
}

// rows has the lanes of neighbouring elements reduced together: those over the innermost loop around the sums that is not bound to one iteration.
func (d *Decision) rows(a bind.Assignment, depth int) {
	around, count := d.plan.around, grouped(a)
	for depth > 0 && around[depth+1] <= around[depth] {
		depth--
	}
	if depth < 0 || count < 2 || count > 4 || a.Result().Discovered() || !dense(a, d.Order[depth]) || around[depth+1] < float64(count)*around[depth] {
		return
	}
	d.add(schedule.Unroll{Var: d.Order[depth], Factor: int64(count)})
	d.note("the lanes of %d elements over %s are reduced together", count, d.Order[depth])
}

// walked is the level that the loop over v walks, where it is one with segments, alone, of whole operands.
func walked(a bind.Assignment, v index.Var) (it lattice.Iterator, ok bool) {
	it, ok = onlyLevel(a, v)
	if !ok {
		return it, false
	}
	p := it.Props()
	return it, p.Segmented && p.Unique && !p.Padded
}

// onlyLevel is the level whose coordinates the loop over v visits, where it is one, and nothing else is looked up.
func onlyLevel(a bind.Assignment, v index.Var) (it lattice.Iterator, ok bool) {
	l := lattice.Loop(a.Table, a.RHS, v)
	if l.Full() || len(l.Points) != 1 || len(l.Iterators()) != 1 || len(l.Points[0].Located) > 0 ||
		slices.ContainsFunc(index.Accesses(a.RHS), (*index.Access).Windowed) {
		return it, false
	}
	return l.Iterators()[0], true
}

// varying names the factors of a product that change with the one variable that is summed; it is empty where they are all of them, or
// the sum may have no term.
func (d *Decision) varying(a bind.Assignment, summed []index.Var) string {
	product, ok := factors(a.Assignment)
	if !ok || len(summed) > 1 || index.Least(a.Extent(summed[0])) == 0 || !everyTerm(a, product, summed[0]) {
		return ""
	}
	var inside, outside []string
	for _, acc := range product {
		if slices.Contains(acc.Vars, summed[0]) {
			inside = append(inside, acc.Tensor.Name)
		} else {
			outside = append(outside, acc.Tensor.Name)
		}
	}
	if len(outside) == 0 || slices.ContainsFunc(inside, func(name string) bool { return slices.Contains(outside, name) }) {
		return ""
	}
	return strings.Join(inside, "*")
}

// together has several elements summed at once, as many as vectors of sums are reduced together, where a dense reduction stands
// inside a loop that is long enough.
func (d *Decision) together(a bind.Assignment, w workspace) {
	depth := len(d.Order) - 2 // of the loop over elements
	count, around := grouped(a), d.plan.around
	if w.at != depth+1 || depth < 1 || a.Result().Discovered() || !dense(a, d.Order[depth+1]) || count < 2 || count > 4 ||
		around[depth+1] < float64(count)*around[depth] {
		return
	}
	d.prefetch(a)
	d.add(schedule.Unroll{Var: d.Order[depth], Factor: int64(count)})
	d.note("%d elements over %s are summed at once: they share what is loaded, and vectors of sums are reduced together", count, d.Order[depth])
}

// grouped is how many sums of the result have their lanes reduced together.
func grouped(a bind.Assignment) int {
	return groupBytes / a.LHS.Tensor.Elem.Accum().Size()
}

// groupBytes is the width in which processors exchange lanes of vectors cheaply.
const groupBytes = 16
