// Package cin is concrete index notation: index notation with loops and workspaces. It holds the statements, the
// printer, the well-formedness check and an interpreter. The language is that of Kjolstad, Ahrens, Kamil and
// Amarasinghe, "Tensor Algebra Compilation with Workspaces".
//
// It must not know how levels are walked or how loops are lowered.
package cin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/index"
)

// Stmt is a statement. The set of nodes is closed.
type Stmt interface{ stmt() }

type (
	// Forall runs Body for each coordinate of Var.
	Forall struct {
		Var  index.Var
		Unit Unit
		// Race says how threads that may write the same element keep apart.
		Race Race
		// Unroll is how many iterations are written out one after the other; 0 leaves it to the C compiler.
		Unroll int64
		// Prefetch is how many iterations ahead what is read by the coordinate is brought near; 0 leaves it to the processor.
		// With Begins it is only the begin of each row that is read by it.
		Prefetch int64
		Begins   bool
		// Ahead is the operand whose entries are brought near Distance entries before the loop walks them; nil leaves that to the processor.
		Ahead    *index.Tensor
		Distance int64
		// Adjacent says that what lanes read by the coordinates of several rows at once stands mostly side by side.
		Adjacent bool
		// Gather says that such elements are read by the processor's instruction for that.
		Gather bool
		// Order is the operand whose rows are visited by their lengths; nil has them visited as they come.
		Order *index.Tensor
		// Gallop says that levels which are intersected search for their common coordinates.
		Gallop bool
		// Choose says that values at coordinates of a union are chosen without branches.
		Choose bool
		Body   Stmt
	}
	// Where clears the workspace that Producer writes, runs Producer, then Consumer, which reads it.
	Where struct{ Consumer, Producer Stmt }
	// Assign sets an element, or reduces into it where Reduce is set.
	Assign struct {
		LHS    *index.Access
		Reduce dtype.Op
		RHS    index.Expr
	}
)

func (*Forall) stmt() {}
func (*Where) stmt()  {}
func (*Assign) stmt() {}

// Unit is what runs the iterations of a Forall.
type Unit string

// The units.
const (
	Serial  Unit = ""
	Threads Unit = "threads"
	Lanes   Unit = "lanes"
)

// Race is how the threads of a loop keep apart.
type Race string

// The strategies.
const (
	// Owned loops write elements that no other iteration writes.
	Owned Race = ""
	// Atomics update elements one by one: right in any order, so floating sums differ from run to run.
	Atomics Race = "atomics"
	// Temporary gives each thread a result of its own; they are added up in the order of the threads, so that the
	// result is the same for the same number of threads.
	Temporary Race = "temporary"
)

// HasRows reports whether an access has rows over v, all of which are stored, each as a run of entries.
func HasRows(a bind.Assignment, acc *index.Access, v index.Var) bool {
	f := a.Of(acc.Tensor).Format
	if f.Order() < 2 || acc.Windowed() || acc.Vars[f.ModeOrder[0]] != v {
		return false
	}
	rows, entries := f.Levels[0].Props(), f.Levels[1].Props()
	return rows.Full && rows.Ordered && entries.Segmented && entries.HasPos && !entries.Padded && !entries.RowRelative
}

// Walks reports whether the last level of an access is over v and stores its entries one after the other, those of each row behind those of the row before.
func Walks(a bind.Assignment, acc *index.Access, v index.Var) bool {
	f := a.Of(acc.Tensor).Format
	last := f.Order() - 1
	if last < 0 || acc.Windowed() || acc.Vars[f.ModeOrder[last]] != v {
		return false
	}
	entries := f.Levels[last].Props()
	return entries.Segmented && entries.HasPos && entries.HasCrd && !entries.Padded && !entries.RowRelative
}

// With is f around another body.
func (f *Forall) With(body Stmt) *Forall {
	g := *f
	g.Body = body
	return &g
}

// Loops lists the loops of s, outer ones before inner ones, and producers of a workspace before its consumers.
func Loops(s Stmt) []*Forall {
	switch s := s.(type) {
	case *Forall:
		return append([]*Forall{s}, Loops(s.Body)...)
	case *Where:
		return append(Loops(s.Producer), Loops(s.Consumer)...)
	default:
		return nil
	}
}

// Storage is how a workspace is kept.
type Storage string

// The kinds of workspace.
const (
	// Tile is a dense array of a size known at compile time, or a scalar: registers.
	Tile Storage = "tile"
	// Array is a dense array on the heap.
	Array Storage = "array"
	// Row is a dense array with a mark for each element and the list of those that are set, so that it is read and cleared in
	// time proportional to those.
	Row Storage = "row"
	// Scatter is a row that is written without a branch which depends on the marks: for terms that fall on places in no order, so that
	// the processor can't predict which are new.
	Scatter Storage = "scatter"
	// Bitmap is a row with a bit for each element: its list is made of the bits, in order, which saves sorting it.
	Bitmap Storage = "bitmap"
	// Bytemap is a row with a byte for each element, which is set without reading what is there: for rows of many terms.
	Bytemap Storage = "bytemap"
	// Blocks is a bitmap with a mark for each of its words, for few entries in many words.
	Blocks Storage = "blocks"
	// Adaptive is a row that is a bitmap, a scatter or blocks each time that it is filled, by the number of its terms and how far apart they are.
	Adaptive Storage = "adaptive"
	// List holds coordinates and values in order of arrival; it is sorted and reduced before it is read.
	List Storage = "list"
	// Hash holds each coordinate once, found through a table by its hash; it is sorted before it is read.
	Hash Storage = "hash"
	// Lookup is a dense array with a mark for each element, which is read where other operands have entries, in no order of its own.
	Lookup Storage = "lookup"
)

// Placed reports whether a workspace has a place for each element, and records which are in use.
func (s Storage) Placed() bool {
	return s == Row || s == Scatter || s == Bitmap || s == Bytemap || s == Blocks || s == Adaptive
}

// Program is a statement with its tensors and the relations between its variables. Source has the storage of the tensors, workspaces too.
type Program struct {
	Source     bind.Assignment
	Workspaces map[*index.Tensor]Storage
	// Relations derive variables from others, in the order in which they were made.
	Relations []Relation
	// Insert says that entries of a rowwise result are put into their rows as they come, in any order of rows.
	Insert bool
	// Bounded says that entries of a rowwise result are written in one pass, to room for as many as there may be, and then moved together.
	Bounded bool
	// Bounds gives variables what is known of their extent at compile time.
	Bounds map[index.Var]Bounds
	Team   Team
	// RowsTogether is how many rows of a pooling are computed at once, where they have most of their columns in common; below 2 none are.
	RowsTogether int64
	Body         Stmt
}

// Bounds are the least and the largest extent that a variable may have.
type Bounds struct{ Least, Most int64 }

func (b Bounds) String() string {
	if b.Least == b.Most {
		return strconv.FormatInt(b.Least, 10)
	}
	return fmt.Sprintf("%d to %d", b.Least, b.Most)
}

// Exact is the extent of a variable where it is known at compile time.
func (p *Program) Exact(v index.Var) (n int64, known bool) {
	b, bounded := p.Bounds[v]
	return b.Least, bounded && b.Least == b.Most
}

// Concretize turns an assignment into the loop nest that visits its variables in order of appearance.
func Concretize(a bind.Assignment) *Program {
	assign := &Assign{LHS: a.LHS, RHS: a.RHS}
	if len(a.Reduced()) > 0 {
		assign.Reduce = a.Reduce
	}
	if m := a.Pooling(); m != nil {
		assign.Reduce = m.Op
		return &Program{Source: a, Body: Nest(slices.Concat(m.Rows, m.Averaged, m.Summed, m.Wide()), assign)}
	}
	return &Program{Source: a, Body: Nest(a.Vars(), assign)}
}

// Nest wraps body in serial loops over vars, outermost first.
func Nest(vars []index.Var, body Stmt) Stmt {
	for _, v := range slices.Backward(vars) {
		body = &Forall{Var: v, Body: body}
	}
	return body
}

// Clone copies p so that a transformation can change the copy's fields. Statements are shared: they never change.
func (p *Program) Clone() *Program {
	q := *p
	q.Relations = slices.Clone(p.Relations)
	q.Workspaces = map[*index.Tensor]Storage{}
	for t, s := range p.Workspaces {
		q.Workspaces[t] = s
	}
	q.Bounds = map[index.Var]Bounds{}
	maps.Copy(q.Bounds, p.Bounds)
	return &q
}

// Written is the tensor that s computes: that of the consumer of a Where.
func Written(s Stmt) *index.Access {
	switch s := s.(type) {
	case *Forall:
		return Written(s.Body)
	case *Where:
		return Written(s.Consumer)
	case *Assign:
		return s.LHS
	default:
		return nil
	}
}

// Value is the expression that s computes for each element, with workspaces replaced by their expressions.
func Value(s Stmt) index.Expr {
	switch s := s.(type) {
	case *Forall:
		return Value(s.Body)
	case *Assign:
		return s.RHS
	case *Where:
		held, inner := Written(s.Producer).Tensor, Value(s.Producer)
		return index.Replace(Value(s.Consumer), func(a *index.Access) index.Expr {
			if a.Tensor == held {
				return inner
			}
			return nil
		})
	default:
		return nil
	}
}
