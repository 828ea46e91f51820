package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/lattice"
)

// Precompute puts a workspace below the outermost At loops of the nest that has the expression Of: the loops inside
// compute it into the workspace, and a second nest reads that.
type Precompute struct {
	// Of is the text of a part of the right-hand side, or factors of a product by name (Q*K); empty means all of it.
	Of   string
	At   int
	Name string
	// Storage may be empty: then it is a tile where the size is known and small, else an array.
	Storage cin.Storage
	// Rename gives loops that compute it variables of their own, so that later commands tell them from those that read it. The
	// workspace is over what is renamed: if that is summed over, then where the workspace is read.
	Rename []cin.Rename
}

// maxTile is the number of elements up to which a workspace is kept on the stack.
const maxTile = 1 << 13

func (c Precompute) String() string {
	text := fmt.Sprintf("precompute(%s, %s, at=%d", cmp.Or(c.Of, "all"), c.Name, c.At)
	if c.Storage != "" {
		text += ", " + string(c.Storage)
	}
	for i, r := range c.Rename {
		text += fmt.Sprintf("%s%s:%s", map[bool]string{true: ", rename=", false: " "}[i == 0], r.Of, r.As)
	}
	return text + ")"
}

// Apply implements Command.
func (c Precompute) Apply(p *cin.Program) (*cin.Program, error) {
	if err := c.checkName(p); err != nil {
		return nil, err
	}
	if err := c.checkRenaming(p); err != nil {
		return nil, err
	}
	q := p.Clone()
	body, err := c.split(q, p.Body, nil)
	if err != nil {
		return nil, err
	}
	q.Body = body
	return q, nil
}

// check refuses to write a result that has an operand's pattern in loops that don't walk that pattern.
func (c Precompute) check(p *cin.Program) (err error) {
	lhs, s := p.Source.LHS, p.Source.Result()
	if s.SamePattern == nil {
		return nil
	}
	for level, m := range s.Format.ModeOrder {
		if s.Format.Levels[level].Props().Locate {
			continue
		}
		leaves := p.Leaves(lhs.Vars[m], consuming(p.Body))
		loopsOver(p, leaves[len(leaves)-1], func(f *cin.Forall, _ []*cin.Forall) {
			l := lattice.Build(p.Source.Table, cin.Value(f.Body), lhs.Vars[m])
			if innermost(f.Body).LHS.Tensor == lhs.Tensor && !only(l, lattice.Key(p.Source.Table, lhs, level)) {
				err = failf(c, "%s has the pattern of %s, which the loop over %s that reads %s does not walk; choose a later at or a part of the expression",
					lhs, p.Source.Owner(lhs.Tensor).Name, f.Var, c.Name)
			}
		})
	}
	return err
}

func (c Precompute) checkName(p *cin.Program) error {
	taken := isName(c.Name) && p.Source.LHS.Tensor.Name == c.Name
	for _, t := range p.Source.Tensors() {
		taken = taken || t.Name == c.Name
	}
	for t := range p.Workspaces {
		taken = taken || t.Name == c.Name
	}
	switch {
	case !isName(c.Name):
		return failf(c, "%q is no name of a workspace", c.Name)
	case taken:
		return failf(c, "%s is already a tensor; choose another name", c.Name)
	default:
		return nil
	}
}

// split finds the nest whose assignment has the expression and divides it; around are the loops outside s. Workspaces are
// entered into p.
func (c Precompute) split(p *cin.Program, s cin.Stmt, around []*cin.Forall) (cin.Stmt, error) {
	loops, innermost := nest(s)
	if w, ok := innermost.(*cin.Where); ok {
		producer, err := c.split(p, w.Producer, nil) // whose workspace is cleared here
		if err == nil {
			return rebuild(loops, &cin.Where{Consumer: w.Consumer, Producer: producer}), nil
		}
		consumer, other := c.split(p, w.Consumer, slices.Concat(around, loops))
		if other != nil {
			return nil, err
		}
		return rebuild(loops, &cin.Where{Consumer: consumer, Producer: w.Producer}), nil
	}
	assign := innermost.(*cin.Assign)
	if c.At < 0 || c.At > len(loops) {
		return nil, failf(c, "the nest around %s has %d loops", assign, len(loops))
	}
	part, err := c.part(assign)
	if err != nil {
		return nil, err
	}
	return c.where(p, around, loops, assign, part)
}

// where divides the loops inside At between the two sides of a workspace.
func (c Precompute) where(p *cin.Program, around, loops []*cin.Forall, assign *cin.Assign, part *part) (cin.Stmt, error) {
	outside := loops[:c.At]
	held, produce, consume := c.sides(p, loops[c.At:], assign, part)
	if c.Storage == cin.List || c.Storage == cin.Hash || c.Storage.Placed() && len(held) > 1 {
		sortByStorage(p, assign.LHS, held, consume)
	}
	if err := cmp.Or(c.checkLoops(produce), c.complete(p, part, assign, held)); err != nil {
		return nil, err
	}
	tells := gaps(p, assign, part, produce, held)
	access, err := c.workspace(p, part, held, tells)
	if err != nil {
		return nil, err
	}
	if tells && (p.Workspaces[access.Tensor] == cin.Array || p.Workspaces[access.Tensor] == cin.Tile) {
		return nil, failf(c, "%s stores what has a term only, and an array doesn't tell which elements that are; keep it as a row, a list or a hash",
			assign.LHS)
	}
	reduced := func(loops []*cin.Forall, into []index.Var) dtype.Op {
		if slices.ContainsFunc(loops, func(f *cin.Forall) bool { return !p.Covers(into, f.Var) }) {
			return cmp.Or(assign.Reduce, p.Source.Reduce)
		}
		return ""
	}
	consumer := &cin.Assign{LHS: assign.LHS, RHS: part.with(access)}
	if assign.Reduce != "" {
		consumer.Reduce = reduced(slices.Concat(around, outside, consume), assign.LHS.Vars)
	}
	producer := &cin.Assign{LHS: access, RHS: part.inner, Reduce: reduced(produce, held)}
	return rebuild(outside, &cin.Where{Consumer: rebuild(consume, consumer), Producer: rebuild(c.renamed(produce), producer)}), nil
}

// sides divides loops into the workspace's producers, with its variables, and its consumers.
func (c Precompute) sides(p *cin.Program, loops []*cin.Forall, assign *cin.Assign, part *part) (held []index.Var, produce, consume []*cin.Forall) {
	uses := func(v index.Var, e index.Expr) bool { return dependsOn(p, v, variables(e)) }
	for _, f := range loops {
		kept := uses(f.Var, assign.LHS) || uses(f.Var, part.rest) || !part.distributes(assign.Reduce, p.Source.LHS.Tensor.Elem) || c.renames(f.Var)
		filling := uses(f.Var, part.inner)
		if filling {
			produce = append(produce, f)
		}
		if filling && kept {
			held = append(held, p.Original(f.Var))
		}
		if kept || !filling {
			consume = append(consume, f)
		}
	}
	return held, produce, consume
}

// sortByStorage puts variables and loops in the order in which the result is stored: what is sorted is read in that order.
func sortByStorage(p *cin.Program, result *index.Access, held []index.Var, consume []*cin.Forall) {
	f := p.Source.Of(result.Tensor).Format
	rank := func(v index.Var) int {
		if m := slices.Index(result.Vars, v); m >= 0 {
			return f.LevelOf(m)
		}
		return -1
	}
	slices.SortStableFunc(held, func(a, b index.Var) int { return cmp.Compare(rank(a), rank(b)) })
	slices.SortStableFunc(consume, func(a, b *cin.Forall) int { return cmp.Compare(rank(p.Original(a.Var)), rank(p.Original(b.Var))) })
}

// dependsOn reports whether v is one of vars or a part of one.
func dependsOn(p *cin.Program, v index.Var, vars []index.Var) bool {
	if slices.Contains(vars, v) {
		return true
	}
	r := p.Derivation(v)
	return r != nil && slices.ContainsFunc(r.From(), func(u index.Var) bool { return dependsOn(p, u, vars) })
}

// variables lists those of expressions, index variables as values among them; nil expressions have none.
func variables(exprs ...index.Expr) []index.Var {
	var out []index.Var
	for _, e := range exprs {
		switch e := e.(type) {
		case *index.Access:
			out = append(out, e.Vars...)
		case *index.Position:
			out = append(out, e.Var)
		case *index.Call:
			out = append(out, variables(e.Args...)...)
		}
	}
	return out
}

// workspace makes the temporary for the values of a part, with one mode for each held variable; tells says that it should tell which
// elements were written.
func (c Precompute) workspace(p *cin.Program, part *part, held []index.Var, tells bool) (*index.Access, error) {
	size, known := int64(1), true
	var extents []int64
	for _, v := range held {
		n, constant, err := c.count(p, v)
		if err != nil {
			return nil, err
		}
		known = known && constant && n <= maxTile
		if known {
			size *= n
			known = size <= maxTile
		}
		extents = append(extents, n)
	}
	storage, err := c.storage(p, held, tells, known)
	if err != nil {
		return nil, err
	}
	f := format.AllDense(len(held))
	if sparse(storage) {
		for i := range held {
			// The coordinates in use are one run of positions, walked like the later levels of COO.
			f.Levels[i] = format.Singleton{Unique: i == len(held)-1}
		}
	}
	if storage == cin.Lookup {
		f.Levels[0] = format.Bitmap{}
	}
	w := &index.Tensor{Name: c.Name, Elem: part.elem(p.Source.LHS.Tensor.Elem)}
	p.Source = p.Source.With(w, bind.Storage{Format: f, Index: p.Source.Result().Index, Statistics: bind.Statistics{Extents: extents}})
	p.Workspaces[w] = storage
	for _, r := range c.Rename {
		p.Relations = append(p.Relations, &r)
	}
	return &index.Access{Tensor: w, Vars: held}, nil
}

// sparse reports whether a workspace holds coordinates.
func sparse(s cin.Storage) bool {
	return s.Placed() || s == cin.List || s == cin.Hash
}

// told reports whether a workspace records which elements are written, which threads can't do together.
func told(s cin.Storage) bool { return sparse(s) || s == cin.Lookup }

// storage is the kind of the workspace over held: as the command says, else by what is known of its size, and whether it should tell
// which elements were written.
func (c Precompute) storage(p *cin.Program, held []index.Var, tells, known bool) (cin.Storage, error) {
	derived := slices.IndexFunc(held, func(v index.Var) bool { return p.Derivation(v) != nil })
	switch storage := cmp.Or(c.Storage, usual(tells && derived < 0, known)); {
	case storage == cin.Tile && !known:
		return "", failf(c, "a tile over %v has no constant size of at most %d elements; split or bound them, or keep it as an array", held, maxTile)
	case storage == cin.Tile || storage == cin.Array:
		return storage, nil
	case !told(storage):
		return "", failf(c, "there is no storage %q; it is tile, array, row, scatter, bitmap, bytemap, blocks, adaptive, list, hash or lookup", storage)
	case derived >= 0:
		return "", failf(c, "%q keeps coordinates, which the derived variable %s has none of; keep it as a tile or an array", storage, held[derived])
	case len(held) == 0:
		return "", failf(c, "%q needs a variable; keep a single value as a tile", storage)
	case storage == cin.Lookup && len(held) > 1:
		return "", failf(c, "a lookup is over one variable, not over %v; keep it as a row", held)
	default:
		return storage, nil
	}
}

// usual is the kind of a workspace where the command doesn't say it.
func usual(tells, known bool) cin.Storage {
	switch {
	case tells:
		return cin.Row
	case known:
		return cin.Tile
	default:
		return cin.Array
	}
}

// count is how many values a workspace has for v, and whether the kernel knows that when it is compiled.
func (c Precompute) count(p *cin.Program, v index.Var) (n int64, constant bool, err error) {
	ceil := func(n, by int64) int64 { return (n + by - 1) / max(by, 1) }
	switch r := p.Derivation(v).(type) {
	case *cin.Rename:
		return c.count(p, r.Of)
	case nil:
		if exact, ok := p.Exact(v); ok {
			return exact, true, nil
		}
		return p.Source.Extent(v), false, nil
	case *cin.Split:
		_, positions := p.Derivation(p.Original(r.Parent)).(*cin.Positions)
		switch {
		case v == r.Inner && r.Parts == 0:
			return r.Factor, true, nil
		case v == r.Outer && r.Tail > 0: // strips that are shifted have no number
		case v == r.Outer && r.Parts > 0:
			return r.Parts, true, nil
		case !positions:
			n, constant, err := c.count(p, r.Parent)
			return ceil(n, max(r.Factor, r.Parts)), constant, err
		}
	}
	return 0, false, failf(c, "the workspace would be indexed by %s, which has no fixed number of values; choose another at", v)
}
