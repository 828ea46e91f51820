package lower

import (
	"cmp"

	"libsparse/libsparse/cin"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// workspace is a temporary as one function keeps it. Which fields are set depends on the storage.
type workspace struct {
	tensor  *index.Tensor
	storage cin.Storage
	scope   *scope
	// A scalar tile is a variable; set records that it was written, where that decides whether there is a result.
	scalar, set *ir.Var
	// vals holds the values; a Row finds them by coordinate.
	vals *ir.Array
	// A Row marks the places in its list, the number of elements in use. A List has one array of coordinates a mode, as they come and sorted, a Hash a
	// table of their numbers besides.
	mark, list, table *ir.Array
	crd, sorted       []*ir.Array
	sortedVals        *ir.Array
	capacity          map[*ir.Array]*ir.Var
	team              *teamwork // of a List that threads fill together
	count             *ir.Var
}

// where fills a workspace and reads it. What follows is done where the reader is: for what was written, if that is known.
func (l *lowerer) where(s *cin.Where, e env, following ...ir.Stmt) []ir.Stmt {
	w := l.workspace(cin.Written(s.Producer).Tensor)
	begin := w.begin(l, s, e)
	var producer []ir.Stmt
	if w.team != nil {
		producer = w.fillTogether(l, e)
	} else {
		producer = l.stmt(s.Producer, e)
	}
	if len(producer) == 0 && l.phase == counting && (w.storage == cin.Tile || w.storage == cin.Array) && w.set == nil {
		return append(l.stmt(s.Consumer, e), following...)
	}
	ready, done := w.finish(l, s)
	inner := e.clone()
	if w.count != nil {
		inner.pos[rootKey(w.tensor)] = format.Range{Lo: ir.Const(0), Hi: w.count}
	}
	consumer := append(l.stmt(s.Consumer, inner), following...)
	if w.set != nil {
		consumer = []ir.Stmt{ir.When(ir.Is(w.set, ir.Ne, ir.Bool(false)), consumer...)}
	}
	var out []ir.Stmt
	for _, part := range [][]ir.Stmt{begin, producer, ready, consumer, done} {
		out = append(out, part...)
	}
	return out
}

// workspace makes the storage of t, or finds it: arrays that outlive one use are shared by all uses in their scope.
func (l *lowerer) workspace(t *index.Tensor) *workspace {
	if w, ok := l.spaces[t]; ok && w.storage != cin.Tile && w.scope == l.scopes[len(l.scopes)-1] {
		return w
	}
	w := &workspace{tensor: t, storage: l.program.Workspaces[t], scope: l.scopes[len(l.scopes)-1], capacity: map[*ir.Array]*ir.Var{}}
	l.spaces[t] = w
	switch w.storage {
	case cin.Row:
		w.makeRow(l)
	case cin.List:
		w.makeList(l)
	case cin.Hash:
		w.makeList(l)
		w.makeTable(l)
	case cin.Array:
		w.makeArray(l)
	case cin.Tile:
	}
	return w
}

func (w *workspace) begin(l *lowerer, s *cin.Where, e env) []ir.Stmt {
	switch w.storage {
	case cin.Tile, cin.Array:
		return w.beginTile(l, s, e)
	default:
		return []ir.Stmt{ir.Set(w.count, ir.Const(0))}
	}
}

// write reduces one value into the workspace.
func (w *workspace) write(l *lowerer, a *cin.Assign, e env) []ir.Stmt {
	switch w.storage {
	case cin.Tile, cin.Array:
		return w.writeTile(l, a, e)
	case cin.Row:
		return w.writeRow(l, a, e)
	case cin.Hash:
		return w.writeHash(l, a, e)
	default:
		return w.writeList(l, a, e)
	}
}

// finish makes the workspace ready to be read; done is what has to follow the reader.
func (w *workspace) finish(l *lowerer, s *cin.Where) (ready, done []ir.Stmt) {
	switch w.storage {
	case cin.Tile, cin.Array:
		return nil, nil
	case cin.Row:
		return w.finishRow(l, s)
	case cin.Hash:
		return w.finishHash(l, s)
	default:
		return w.finishList(l)
	}
}

// read is the value at the current coordinates.
func (w *workspace) read(l *lowerer, a *index.Access, e env) ir.Expr {
	switch {
	case w.scalar != nil:
		return w.scalar
	case w.storage == cin.Row && a.Tensor.Order() == 1:
		return ir.At(w.vals, e.coord[a.Vars[0]])
	case w.storage == cin.Row:
		return ir.At(w.vals, ir.IndexAt(w.list, l.position(a, a.Tensor.Order()-1, e).Lo))
	case w.sortedVals != nil:
		return ir.At(w.sortedVals, l.position(a, a.Tensor.Order()-1, e).Lo)
	default:
		return ir.At(w.vals, l.position(a, a.Tensor.Order()-1, e).Lo)
	}
}

// storageOf is one level of the workspace.
func (w *workspace) storageOf(l *lowerer, v index.Var, level int, e env) format.Storage {
	switch w.storage {
	case cin.Row, cin.List, cin.Hash:
		return format.Storage{Crd: w.sorted[level]}
	default:
		if n, ok := e.width[v]; ok {
			return format.Storage{Extent: ir.Const(n)}
		}
		return format.Storage{Extent: l.count(v)}
	}
}

// reduction is the operator of the innermost assignment.
func reduction(s cin.Stmt) dtype.Op {
	switch s := s.(type) {
	case *cin.Forall:
		return reduction(s.Body)
	case *cin.Where:
		return reduction(s.Consumer)
	case *cin.Assign:
		return s.Reduce
	default:
		return ""
	}
}

// handedOn is the operator of the sums that a statement copies from a workspace of its own.
func handedOn(s cin.Stmt) dtype.Op {
	switch s := s.(type) {
	case *cin.Forall:
		return handedOn(s.Body)
	case *cin.Where:
		a, ok := cin.Value(s.Consumer).(*index.Access)
		if ok && a.Tensor == cin.Written(s.Producer).Tensor {
			return cmp.Or(reduction(s.Producer), handedOn(s.Producer))
		}
	}
	return ""
}

func (w *workspace) array(l *lowerer, suffix string, elem dtype.T) *ir.Array {
	return l.Array(w.tensor.Name+suffix, elem)
}

// indexType is the type of the coordinates that a workspace keeps.
func (w *workspace) indexType() dtype.T {
	if w.tensor.Index == dtype.Invalid {
		return dtype.I64
	}
	return w.tensor.Index
}
