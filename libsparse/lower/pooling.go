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

// A pooling is computed in one pass over the entries of each row, and nothing is stored for each entry: the greatest score so far,
// the sum of the weights, and the weighted sums of values are rescaled where a greater score comes (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018). Entries are taken in short blocks, whose weights are kept on the stack, so that the sums
// stay in registers while a block is added (Dao et al., "FlashAttention", 2022).

const (
	// poolingBlock is the number of entries of a block.
	poolingBlock = 32
	// poolingTile is the number of bytes of sums that stay in registers.
	poolingTile = 256
)

// Pooling reports whether a pools over the columns of a matrix with compressed rows. All else that it reads is dense.
func Pooling(a bind.Assignment) bool {
	m := a.Pooling()
	if m == nil || len(m.Averaged) != 1 || len(m.Columns) > 1 || !a.LHS.Tensor.Elem.IsFloat() || !a.Result().Format.Dense() || a.LHS.Windowed() {
		return false
	}
	entries := entriesOf(a)
	if entries == nil || entries.Vars[1] != m.Averaged[0] || !slices.Contains(m.Rows, entries.Vars[0]) || !alone(a, entries) {
		return false
	}
	steps, _ := scores(a)
	for _, step := range steps {
		if slices.ContainsFunc(step.Reduced(), func(v index.Var) bool { return !slices.Contains(m.Summed, v) }) {
			return false
		}
	}
	return atEntries(a, m) && stores(a, m, entries.Vars[0])
}

// stores reports whether what is stored beside the result, if anything is, has the type of the sums, so that it isn't rounded, and sums over i.
func stores(a bind.Assignment, m *index.Pooling, i index.Var) bool {
	for _, to := range m.Stored() {
		if to.Tensor.Elem != a.LHS.Tensor.Elem.Accum() || len(m.Beside) > 0 && slices.Contains(to.Vars, i) {
			return false
		}
	}
	return !slices.ContainsFunc(m.Beside, func(b index.Beside) bool { return len(b.Columns(m)) != 1 || !hasValue(a, b.Value, false) })
}

// atEntries reports whether there are scores at the entries of sparse operands alone, and values everywhere.
func atEntries(a bind.Assignment, m *index.Pooling) bool {
	return hasValue(a, m.Score, true) && !hasValue(a, m.Score, false) && hasValue(a, m.Value, false)
}

// alone reports whether all that a reads is dense, or stored at the same entries.
func alone(a bind.Assignment, entries *index.Access) bool {
	for _, acc := range index.Accesses(a.RHS) {
		same := a.Owner(acc.Tensor) == a.Owner(entries.Tensor) && slices.Equal(acc.Vars, entries.Vars)
		if acc.Windowed() || a.Of(acc.Tensor).Permuted || !a.Dense(acc) && !same {
			return false
		}
	}
	return true
}

// entriesOf is the access to the first operand with compressed rows, nil if there is none.
func entriesOf(a bind.Assignment) *index.Access {
	for _, acc := range index.Accesses(a.RHS) {
		if a.Of(acc.Tensor).Format.Equal(compressedRows) {
			return acc
		}
	}
	return nil
}

// scores are the steps that compute the score, or the weight, of a pooling, and what is the first factor of the weight, if that is needed.
func scores(a bind.Assignment) (steps []*index.Assignment, factor *index.Tensor) {
	m := a.Pooling()
	names := index.Names([]*index.Assignment{a.Assignment})
	step := func(e index.Expr) *index.Access {
		to := &index.Access{Tensor: index.NewTemporary(names, a.Assignment), Vars: slices.Concat(m.Rows, m.Averaged)}
		steps = append(steps, (&index.Assignment{LHS: to, Reduce: dtype.Add, RHS: e}).Steps(names)...)
		return to
	}
	if len(m.Factors) == 0 {
		step(m.Score)
		return steps, nil
	}
	first := step(m.Factors[0])
	step(index.NewCall(dtype.Mul, first, m.Factors[1]))
	return steps, first.Tensor
}

// hasValue reports whether e has a value where sparse operands store something, or where they don't.
func hasValue(a bind.Assignment, e index.Expr, stored bool) bool {
	switch e := e.(type) {
	case *index.Access:
		return stored || a.Dense(e)
	case *index.Call:
		args := make([]bool, len(e.Args))
		for i, arg := range e.Args {
			args[i] = hasValue(a, arg, stored)
		}
		return e.Region.Holds(args...)
	default:
		return true
	}
}

// pooling is the lowering of a pooling.
type pooling struct {
	*lowerer
	*index.Pooling
	entries *index.Access
	elem    dtype.T
	// most, total and sums are the greatest score so far, the sum of the weights, and the weighted sums of values.
	most, total *ir.Var
	sums        *ir.Array
	weights     *ir.Array // the scores of a block, then their weights
	factors     *ir.Array // the first factors of the weights of a block, where they are needed
}

func poolingKernel(p *cin.Program) *Kernel {
	s := newSlots(p)
	l := newLowerer(p, s)
	elem := p.Source.LHS.Tensor.Elem.Accum()
	x := pooling{
		lowerer: l, Pooling: p.Source.Pooling(), entries: entriesOf(p.Source), elem: elem,
		most: l.Scalar("most", elem), total: l.Scalar("total", elem), sums: l.Array("sums", elem), weights: l.Array("weights", elem),
	}
	if len(x.Beside) > 0 {
		x.factors = l.Array("factors", elem)
	}
	body := l.guards()
	switch t := x.tiles(); {
	case t != nil:
		body = append(body, t.kernel()...)
	case len(x.Beside) > 0:
		body = append(body, x.team([]ir.Stmt{x.apart(x.matrices)}))
	default:
		body = append(body, x.team(x.rows(nil)))
	}
	return &Kernel{Layout: s.layout, Module: &ir.Module{Slots: s.slots, Funcs: []*ir.Func{returnOK(ComputeName, body)}}}
}

// outer are the variables of the rows of the result but for that of the matrix's rows: each of their values has scores of its own.
func (x pooling) outer() []index.Var {
	return slices.DeleteFunc(slices.Clone(x.Rows), func(v index.Var) bool { return v == x.entries.Vars[0] })
}

// product is the number of values of variables together.
func (x pooling) product(vars []index.Var) ir.Expr {
	n := ir.Expr(ir.Const(1))
	for _, v := range vars {
		n = ir.Mul(n, x.extent(v))
	}
	return n
}

// decode binds variables to the coordinates that a number stands for, the last of them counting fastest.
func (x pooling) decode(number ir.Expr, vars []index.Var, e *env) (stmts []ir.Stmt) {
	rest := number
	for i, v := range slices.Backward(vars) {
		if i == 0 {
			e.bind(v, rest)
			break
		}
		above, at := x.Index("above_"+string(v)), x.Index(string(v))
		stmts = append(stmts, ir.Let(above, ir.Div(rest, x.extent(v))), ir.Let(at, ir.Remainder(rest, above, x.extent(v))))
		e.bind(v, at)
		rest = above
	}
	return stmts
}

// rows is the loop over the rows of the result: of each matrix of scores, one after the other, so that the operands of one stay in a cache.
// Rows that have been computed already, if that is given, are left out.
func (x pooling) rows(computed func(row ir.Expr) ir.Expr) []ir.Stmt {
	row, vars := x.Index("row"), append(x.outer(), x.entries.Vars[0])
	e := env{phase: computing}
	body := x.decode(row, vars, &e)
	body = append(body, x.row(e)...)
	if computed != nil {
		body = []ir.Stmt{ir.When(ir.Is(computed(row), ir.Eq, ir.Number(0, dtype.U8)), body...)}
	}
	alloc, free := x.allocate()
	return slices.Concat(alloc, []ir.Stmt{x.share(ir.Count(row, x.product(vars), body...))}, free)
}

// team runs statements on threads where there is enough to do.
func (x pooling) team(stmts []ir.Stmt) ir.Stmt {
	work := ir.Mul(x.entriesAll(), ir.Mul(x.product(x.Columns), x.product(x.outer())))
	enough := ir.Is(work, ir.Gt, ir.Const(x.program.Team.Grain))
	return &ir.Parallel{Threads: x.slots.threads, Cond: enough, Body: ir.Do(stmts...)}
}

// allocate are the arrays of a thread.
func (x pooling) allocate() (alloc, free []ir.Stmt) {
	alloc = []ir.Stmt{&ir.Alloc{Array: x.weights, Size: ir.Const(poolingBlock)}}
	if x.factors != nil {
		alloc = append(alloc, &ir.Alloc{Array: x.factors, Size: ir.Const(poolingBlock)})
	}
	size := ir.Expr(ir.Const(1))
	if len(x.Columns) > 0 {
		size = x.extent(x.Columns[0])
	}
	if _, ok := size.(*ir.Int); ok {
		return append(alloc, &ir.Alloc{Array: x.sums, Size: size}), nil
	}
	return append(alloc, ir.NewArray(x.sums, ir.AtLeastOne(size))), []ir.Stmt{&ir.Free{Array: x.sums}}
}

// entriesAll is the number of entries of a matrix of scores.
func (x pooling) entriesAll() ir.Expr { return x.positions(x.entries.Tensor, 1) }

// row computes a row of the result.
func (x pooling) row(e env) []ir.Stmt {
	begin, end, i := x.Index("begin"), x.Index("end"), e.coord.get(x.entries.Vars[0])
	e.pos = e.pos.with(x.key(x.entries, 0), format.Range{Lo: i, Hi: ir.Next(i)})
	pos := x.slots.storage(x.entries.Tensor, 1, nil).Pos
	block, stop := x.Index("block"), x.Index("stop")
	blocks := ir.Loop(block, begin, end, append([]ir.Stmt{ir.Let(stop, ir.Min(end, ir.Add(block, ir.Const(poolingBlock))))}, x.block(block, stop, e)...)...)
	blocks.Step = poolingBlock
	stmts := []ir.Stmt{ir.Let(begin, ir.IndexAt(pos, i)), ir.Let(end, ir.IndexAt(pos, ir.Next(i)))}
	if x.Normalized() {
		stmts = append(stmts, ir.Declare(x.most, ir.Number(index.Lowest(x.elem), x.elem)), ir.Declare(x.total, zero(x.elem)))
	}
	some := ir.Is(begin, ir.Lt, end)
	stmts = append(stmts, x.columns(e, func(at ir.Expr, _ env) ir.Stmt { return ir.Put(x.sums, at, zero(x.elem)) })...)
	stmts = append(stmts, blocks)
	stmts = append(stmts, x.store(e, some, x.most, x.total)...)
	return append(stmts, x.columns(e, func(at ir.Expr, e env) ir.Stmt {
		value := ir.At(x.sums, at)
		if !x.Normalized() {
			return x.write(x.program.Source.LHS, e, nil, value)
		}
		return x.write(x.program.Source.LHS, e, some, ir.Div(value, x.total))
	})...)
}

// store keeps what gives the weights of a row, if that is asked for.
func (x pooling) store(e env, some, most, total ir.Expr) []ir.Stmt {
	if x.Most == nil {
		return nil
	}
	return []ir.Stmt{x.write(x.Most, e, some, most), x.write(x.Share, e, some, ir.Div(ir.Number(1, x.elem), total))}
}

// write stores an element of the result, or of what is stored beside it, which is zero where the condition does not hold.
func (x pooling) write(to *index.Access, e env, cond, value ir.Expr) ir.Stmt {
	if cond != nil {
		value = &ir.Select{Cond: cond, Then: value, Else: zero(x.elem)}
	}
	return ir.Put(x.slots.vals(to.Tensor), x.elementAt(to, e), value)
}

// columns does something for each sum of a row.
func (x pooling) columns(e env, body func(at ir.Expr, e env) ir.Stmt) []ir.Stmt {
	if len(x.Columns) == 0 {
		return []ir.Stmt{body(ir.Const(0), e)}
	}
	k := x.Columns[0]
	at := x.Index(string(k))
	e.bind(k, at)
	loop := ir.Count(at, x.extent(k), body(at, e))
	loop.Kind = ir.Simd
	return []ir.Stmt{loop}
}

// block adds the entries from block to below stop.
func (x pooling) block(block, stop ir.Expr, e env) []ir.Stmt {
	if !x.Normalized() {
		weighed := x.each(block, stop, e, func(n ir.Expr, e env) []ir.Stmt {
			stmts, weight, factor := x.score(e)
			if factor != nil {
				stmts = append(stmts, ir.Put(x.factors, n, factor))
			}
			return append(stmts, ir.Put(x.weights, n, weight))
		})
		return slices.Concat([]ir.Stmt{weighed}, x.add(block, stop, e), x.addBeside(block, stop, e))
	}
	greatest, shrink, weight := x.Scalar("greatest", x.elem), x.Scalar("shrink", x.elem), x.Scalar("weight", x.elem)
	scored := x.each(block, stop, e, func(n ir.Expr, e env) []ir.Stmt {
		stmts, score, _ := x.score(e)
		// Without a branch: loads of later entries don't wait for the score.
		larger := ir.Set(greatest, &ir.Select{Cond: ir.Is(score, ir.Gt, greatest), Then: score, Else: greatest})
		return append(stmts, ir.Put(x.weights, n, score), larger)
	})
	rescaled := []ir.Stmt{ir.Let(shrink, exp(ir.Sub(x.most, greatest))), &ir.Assign{Var: x.total, Reduce: dtype.Mul, Value: shrink}}
	rescaled = append(rescaled, x.columns(e, func(at ir.Expr, _ env) ir.Stmt { return ir.Update(x.sums, at, dtype.Mul, shrink) })...)
	rescaled = append(rescaled, ir.Set(x.most, greatest))
	n := x.Index("n")
	weighed := ir.Count(
		n, ir.Sub(stop, block), ir.Let(weight, exp(ir.Sub(ir.At(x.weights, n), x.most))), ir.Put(x.weights, n, weight), ir.Increase(x.total, weight),
	)
	stmts := []ir.Stmt{ir.Declare(greatest, x.most), scored, ir.When(ir.Is(greatest, ir.Gt, x.most), rescaled...), weighed}
	return append(stmts, x.add(block, stop, e)...)
}

func exp(x ir.Expr) ir.Expr { return &ir.Unary{Op: "exp", X: x} }

// each is the loop over the entries of a block; n counts them.
func (x pooling) each(block, stop ir.Expr, e env, body func(n ir.Expr, e env) []ir.Stmt) ir.Stmt {
	p, j := x.Index("p"), x.Index(string(x.Averaged[0]))
	e.bind(x.Averaged[0], j)
	e.pos = e.pos.with(x.key(x.entries, 1), format.Range{Lo: p, Hi: ir.Next(p)})
	crd := x.slots.storage(x.entries.Tensor, 1, nil).Crd
	return ir.Loop(p, block, stop, append([]ir.Stmt{ir.Let(j, ir.IndexAt(crd, p))}, body(ir.Sub(p, block), e)...)...)
}

// score computes the score of an entry: steps that sum, each into a variable, and an expression of those. factor is nil where nothing needs it.
func (x pooling) score(e env) (out []ir.Stmt, score, factor *ir.Var) {
	steps, first := scores(x.program.Source)
	for _, step := range steps {
		sum := x.Scalar("score", x.elem)
		inner, summed := e, step.Reduced()
		var loops []*ir.For
		for _, v := range summed {
			at := x.Index(string(v))
			inner.bind(v, at)
			loops = append(loops, ir.Count(at, x.extent(v)))
		}
		value := x.value(step.RHS, x.elem, inner)
		score = sum
		if step.LHS.Tensor == first {
			factor = sum
		}
		e.views = e.views.with(step.LHS.Tensor, &view{element: func(*lowerer, *index.Access, env) ir.Expr { return sum }})
		if len(loops) == 0 {
			out = append(out, ir.Let(sum, value))
			continue
		}
		body := ir.Increase(sum, value)
		loops[len(loops)-1].Kind = ir.Simd
		for _, loop := range slices.Backward(loops) {
			loop.Body = ir.Do(body)
			body = loop
		}
		out = append(out, ir.Declare(sum, zero(x.elem)), body)
	}
	return out, score, factor
}

// add adds the weighted values of a block to the sums: of as many columns at a time as have registers.
func (x pooling) add(block, stop ir.Expr, e env) []ir.Stmt {
	value := func(n ir.Expr, e env) ir.Expr { return ir.Mul(ir.At(x.weights, n), x.value(x.Value, x.elem, e)) }
	width := int64(1)
	if len(x.Columns) > 0 {
		exact, ok := x.extent(x.Columns[0]).(*ir.Int)
		if !ok {
			return []ir.Stmt{x.each(block, stop, e, func(n ir.Expr, e env) []ir.Stmt {
				return x.columns(e, func(at ir.Expr, e env) ir.Stmt { return ir.Update(x.sums, at, dtype.Add, value(n, e)) })
			})}
		}
		width = exact.Value
	}
	var out []ir.Stmt
	tile := poolingTile / int64(x.elem.Size())
	for first := int64(0); first < width; first += tile {
		out = append(out, x.addTile(first, min(tile, width-first), block, stop, e, value)...)
	}
	return out
}

// addTile adds to the sums of size columns from first on.
func (x pooling) addTile(first, size int64, block, stop ir.Expr, e env, value func(n ir.Expr, e env) ir.Expr) []ir.Stmt {
	own := x.Array("tile", x.elem)
	columns := func(body func(q, at ir.Expr) ir.Stmt) ir.Stmt {
		q := x.Index("q")
		loop := ir.Count(q, ir.Const(size), body(q, ir.Add(ir.Const(first), q)))
		loop.Kind = ir.Simd
		return loop
	}
	added := x.each(block, stop, e, func(n ir.Expr, e env) []ir.Stmt {
		return []ir.Stmt{columns(func(q, at ir.Expr) ir.Stmt {
			if len(x.Columns) > 0 {
				e.bind(x.Columns[0], at)
			}
			return ir.Update(own, q, dtype.Add, value(n, e))
		})}
	})
	return []ir.Stmt{ir.Do(
		&ir.Alloc{Array: own, Size: ir.Const(size)},
		columns(func(q, at ir.Expr) ir.Stmt { return ir.Put(own, q, ir.At(x.sums, at)) }),
		added,
		columns(func(q, at ir.Expr) ir.Stmt { return ir.Put(x.sums, at, ir.At(own, q)) }),
	)}
}
