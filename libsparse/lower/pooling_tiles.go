package lower

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Where rows that follow each other have most of their columns in common, as those of bands and of blocks have, a pooling takes several
// rows at once: columns in aligned blocks of tileColumns, of which it keeps those that any of the rows has. Scores of a tile, rows by a
// block, are computed for all of its elements, with a lane for each column, from operands that are packed by blocks of columns before;
// elements without an entry are then left out. Values are read once for all rows. A kernel decides by the pattern, for each group of
// rows, whether tiles are full enough; other rows are computed entry by entry.

const (
	// tileColumns is the number of columns of a block.
	tileColumns = 16
	// tileBlocks is the number of blocks whose scores are computed before their values are added.
	tileBlocks = 12
	// tileWidth is the number of scores of a row that are kept.
	tileWidth = tileColumns * tileBlocks
	// tileWaste is how many elements of tiles there may be for each entry.
	tileWaste = 4
	// tileSums is the largest extent of the columns of the result: the sums of a group of rows stay in the nearest cache.
	tileSums = 256
)

// tiles is the lowering of a pooling in tiles.
type tiles struct {
	pooling
	i, j    index.Var // of the rows and columns of the matrix
	count   int64     // of rows that are computed together
	operand []*packed
	kept    []*kept
	steps   []*index.Assignment
	stepped map[*index.Tensor]*ir.Array // the sums of steps at the elements of a tile
	factor  *index.Tensor               // the step that is the first factor of weights, nil where nothing needs it

	blocks, groups *ir.Var   // of columns, and of rows
	computed       *ir.Array // which groups of rows tiles have computed, for each of the outer coordinates
	finite         *ir.Array // zero where all values of a block of columns are finite, for each of the outer coordinates
	place          *ir.Array // of a block of columns among those of a group, counted from one; zero where it is none of them
	list           *ir.Array // the blocks of a group
	held           *ir.Array // whether an element of the tiles of a group has an entry, 1 or 0
	scored         *ir.Array // scores, then weights
	given          *ir.Array // the first factors of weights, nil where nothing needs them
	tops, totals   *ir.Array // for each row, as most and total are for one
	pooled         *ir.Array // sums, for each row
}

// packed is an operand of the scores that depends on columns, in the order: outer indices, block, indices that are summed, column.
type packed struct {
	access        *index.Access
	array         *ir.Array
	outer, summed []index.Var
}

// kept is the values of a matrix at the elements of the tiles of a group.
type kept struct {
	access *index.Access
	array  *ir.Array
}

// tiles is the lowering of x in tiles, nil where it has none.
func (x pooling) tiles() *tiles {
	t := &tiles{pooling: x, i: x.entries.Vars[0], j: x.Averaged[0], count: x.program.RowsTogether, stepped: map[*index.Tensor]*ir.Array{}}
	t.steps, t.factor = scores(x.program.Source)
	if t.count < 2 || !t.fits() || !t.reads() {
		return nil
	}
	t.blocks, t.groups = x.Index("blocks"), x.Index("groups")
	t.computed, t.place, t.list = x.Array("computed", dtype.U8), x.Array("place", dtype.I32), x.Array("list", dtype.I32)
	t.finite, t.held, t.scored = x.Array("finite", x.elem), x.Array("held", x.elem), x.Array("scored", x.elem)
	t.tops, t.totals, t.pooled = x.Array("tops", x.elem), x.Array("totals", x.elem), x.Array("pooled", x.elem)
	if t.factor != nil {
		t.given = x.Array("given", x.elem)
	}
	return t
}

// fits reports whether the result has one index of columns, whose extent is known, as all of what is added beside it, and the sums are few enough.
func (t *tiles) fits() bool {
	if len(t.Columns) != 1 || slices.Contains(index.Vars(t.Value), t.i) {
		return false
	}
	columns := []index.Var{t.Columns[0]}
	for _, b := range t.Beside {
		columns = append(columns, b.Columns(t.Pooling)...)
	}
	return !slices.ContainsFunc(columns, func(v index.Var) bool {
		n, exact := t.extent(v).(*ir.Int)
		return !exact || n.Value < tileColumns/2 || tileSums < n.Value
	})
}

// width is the number of columns of the result.
func (t *tiles) width() int64 { return t.extent(t.Columns[0]).(*ir.Int).Value }

// reads finds out what the scores read, and reports whether tiles can: operands that depend on columns must not depend on rows, too.
func (t *tiles) reads() bool {
	for n, s := range t.steps {
		for _, a := range index.Accesses(s.RHS) {
			if !a.Tensor.PatternOnly && t.stepped[a.Tensor] == nil && !t.read(a) {
				return false
			}
		}
		if n == len(t.steps)-1 {
			break
		}
		if len(s.Reduced()) == 0 && s.LHS.Tensor != t.factor {
			return false
		}
		t.stepped[s.LHS.Tensor] = t.Array("step", t.elem)
	}
	return true
}

// read notes an operand that is kept or packed, and reports whether it can be.
func (t *tiles) read(a *index.Access) bool {
	switch {
	case !t.program.Source.Dense(a):
		if !slices.ContainsFunc(t.kept, func(k *kept) bool { return k.access.Tensor == a.Tensor }) {
			t.kept = append(t.kept, &kept{access: a, array: t.Array(a.Tensor.Name+"_tile", t.elem)})
		}
	case !slices.Contains(a.Vars, t.j) || t.packing(a) != nil:
	case slices.Contains(a.Vars, t.i):
		return false
	default:
		t.operand = append(t.operand, t.pack(a))
	}
	return true
}

func (t *tiles) pack(a *index.Access) *packed {
	p := &packed{access: a, array: t.Array(a.Tensor.Name+"_packed", t.elem)}
	for _, v := range a.Vars {
		switch {
		case v == t.j:
		case slices.Contains(t.Summed, v):
			p.summed = append(p.summed, v)
		default:
			p.outer = append(p.outer, v)
		}
	}
	return p
}

// packing is how an access is packed, nil if it isn't.
func (t *tiles) packing(a *index.Access) *packed {
	for _, p := range t.operand {
		if p.access.Tensor == a.Tensor && slices.Equal(p.access.Vars, a.Vars) {
			return p
		}
	}
	return nil
}

// kernel is the body of the kernel.
func (t *tiles) kernel() []ir.Stmt {
	matrices := t.product(t.outer())
	each := ir.Const(t.count * tileColumns)
	before := []ir.Stmt{
		ir.Let(t.blocks, ir.Div(ir.Add(t.extent(t.j), ir.Const(tileColumns-1)), ir.Const(tileColumns))),
		ir.Let(t.groups, ir.Div(ir.Add(t.extent(t.i), ir.Const(t.count-1)), ir.Const(t.count))),
		&ir.Alloc{Array: t.computed, Size: ir.AtLeastOne(ir.Mul(matrices, t.groups)), Zero: true, Heap: true},
	}
	after := []ir.Stmt{&ir.Free{Array: t.computed}}
	shared := func(a *ir.Array, size ir.Expr) {
		before, after = append(before, ir.NewArray(a, ir.AtLeastOne(size))), append(after, &ir.Free{Array: a})
	}
	var stmts, frees []ir.Stmt
	own := func(a *ir.Array, size ir.Expr, zero bool) {
		stmts = append(stmts, &ir.Alloc{Array: a, Size: ir.AtLeastOne(size), Zero: zero, Heap: true})
		frees = append(frees, &ir.Free{Array: a})
	}
	own(t.place, t.blocks, true)
	own(t.list, t.blocks, false)
	own(t.held, ir.Mul(t.blocks, each), false)
	for _, k := range t.kept {
		own(k.array, ir.Mul(t.blocks, each), false)
	}
	for _, p := range t.operand {
		shared(p.array, ir.Mul(ir.Mul(t.product(p.outer), t.blocks), ir.Mul(t.product(p.summed), ir.Const(tileColumns))))
		stmts = append(stmts, t.packs(p))
	}
	shared(t.finite, ir.Mul(matrices, t.blocks))
	stmts = append(stmts, t.checks())
	if len(t.Beside) > 0 {
		stmts = append(stmts, t.apart(t.matricesApart))
		return slices.Concat(before, []ir.Stmt{t.team(append(stmts, frees...))}, after)
	}
	stmts = append(stmts, t.share(t.groupOf(ir.Const(0), matrices, nil)))
	stmts = append(stmts, t.rows(func(row ir.Expr) ir.Expr {
		above := ir.Div(row, t.extent(t.i))
		group := ir.Div(ir.Remainder(row, above, t.extent(t.i)), ir.Const(t.count))
		return ir.At(t.computed, ir.Add(ir.Mul(above, t.groups), group))
	})...)
	return slices.Concat(before, []ir.Stmt{t.team(append(stmts, frees...))}, after)
}

// eachBlock is a loop that threads share, over the blocks of columns for all coordinates of some variables.
func (t *tiles) eachBlock(vars []index.Var, body func(number, block ir.Expr, e env) []ir.Stmt) ir.Stmt {
	number, above, block := t.Index("number"), t.Index("above"), t.Index("block")
	e := env{phase: computing}
	stmts := []ir.Stmt{ir.Let(above, ir.Div(number, t.blocks)), ir.Let(block, ir.Remainder(number, above, t.blocks))}
	stmts = append(stmts, t.decode(above, vars, &e)...)
	return t.share(ir.Count(number, ir.Mul(t.product(vars), t.blocks), append(stmts, body(number, block, e)...)...))
}

// packs packs an operand. The last block repeats its last column.
func (t *tiles) packs(p *packed) ir.Stmt {
	return t.eachBlock(p.outer, func(number, block ir.Expr, e env) []ir.Stmt {
		c, j := t.Index("c"), t.Index(string(t.j))
		at := number
		loops, e := t.loops(p.summed, e)
		for _, v := range p.summed {
			at = ir.Add(ir.Mul(at, t.extent(v)), e.coord.get(v))
		}
		e.bind(t.j, j)
		column := ir.Min(ir.Add(ir.Mul(block, ir.Const(tileColumns)), c), ir.Sub(t.extent(t.j), ir.Const(1)))
		put := ir.Put(p.array, ir.Add(ir.Mul(at, ir.Const(tileColumns)), c), t.value(p.access, t.elem, e))
		return []ir.Stmt{ir.Count(c, ir.Const(tileColumns), ir.Let(j, column), within(loops, put))}
	})
}

// loops are loops over variables, without bodies, and e within them.
func (t *tiles) loops(vars []index.Var, e env) ([]*ir.For, env) {
	var loops []*ir.For
	for _, v := range vars {
		at := t.Index(string(v))
		e.bind(v, at)
		loops = append(loops, ir.Count(at, t.extent(v)))
	}
	return loops, e
}

// within puts statements into the innermost of some loops, which may be none.
func within(loops []*ir.For, stmts ...ir.Stmt) ir.Stmt {
	for _, loop := range slices.Backward(loops) {
		loop.Body = ir.Do(stmts...)
		stmts = []ir.Stmt{loop}
	}
	if len(stmts) == 1 {
		return stmts[0]
	}
	return ir.Do(stmts...)
}

// checks finds the blocks whose values are finite: weights of zero, of elements without an entry, would make NaN of others.
func (t *tiles) checks() ir.Stmt {
	return t.eachBlock(t.outer(), func(number, block ir.Expr, e env) []ir.Stmt {
		j, k, sum := t.Index(string(t.j)), t.Index(string(t.Columns[0])), t.Scalar("none", t.elem)
		first := ir.Mul(block, ir.Const(tileColumns))
		e.bind(t.j, j)
		e.bind(t.Columns[0], k)
		value := t.value(t.Value, t.elem, e)
		columns := ir.Count(k, t.extent(t.Columns[0]), ir.Increase(sum, ir.Sub(value, value)))
		columns.Kind = ir.Simd
		return []ir.Stmt{
			ir.Declare(sum, zero(t.elem)),
			ir.Loop(j, first, ir.Min(ir.Add(first, ir.Const(tileColumns)), t.extent(t.j)), columns),
			ir.Put(t.finite, number, sum),
		}
	})
}

// groupOf is the loop over groups of rows of the matrices from lo to before hi. rest comes after the tiles of a group.
func (t *tiles) groupOf(lo, hi ir.Expr, rest func(tile tile) []ir.Stmt) *ir.For {
	g, first, stop, begin, end, found := t.Index("g"), t.Index("first"), t.Index("stop"), t.Index("begin"), t.Index("end"), t.Index("found")
	position := func(i ir.Expr) ir.Expr { return ir.IndexAt(t.storage(t.entries, 1, env{}).Pos, i) }
	rows := make([]ir.Expr, t.count)
	var named []ir.Stmt
	for r := range rows {
		row := t.Index(string(t.i))
		named = append(named, ir.Let(row, ir.Min(ir.Add(first, ir.Const(int64(r))), ir.Sub(stop, ir.Const(1)))))
		rows[r] = row
	}
	tile := tile{tiles: t, group: g, first: first, stop: stop, found: found, rows: rows, position: position}
	tile.most = t.Index("most")
	k := t.Index("k")
	var after []ir.Stmt
	if rest != nil {
		after = rest(tile)
	}
	return ir.Count(g, t.groups, slices.Concat([]ir.Stmt{
		ir.Let(first, ir.Mul(g, ir.Const(t.count))),
		ir.Let(stop, ir.Min(ir.Add(first, ir.Const(t.count)), t.extent(t.i))),
		ir.Let(begin, position(first)), ir.Let(end, position(stop)),
		ir.Let(tile.most, ir.Div(ir.Mul(ir.Sub(end, begin), ir.Const(tileWaste)), ir.Const(t.count*tileColumns))),
		ir.Declare(found, ir.Const(0)),
		tile.marks(),
		ir.When(ir.Is(found, ir.Le, tile.most), append(named, tile.matrices(lo, hi)...)...),
	}, after, []ir.Stmt{ir.Count(k, found, ir.Put(t.place, ir.IndexAt(t.list, k), ir.Const(0)))})...)
}

// valueOf is the value of a kept matrix at position p.
func (t *tiles) valueOf(k *kept, p ir.Expr, e env) ir.Expr {
	e.pos = e.pos.with(t.key(k.access, 1), format.Range{Lo: p, Hi: ir.Next(p)})
	return t.value(k.access, t.elem, e)
}
