// Package bind holds what is known of the tensors of an expression beside its notation: how each is stored, and statistics. Stages
// take a Table of that with an assignment, and return another one where they know more.
//
// It must not know about loops.
package bind

import (
	"slices"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// Storage is how a tensor is stored. It never changes once it is in a Table.
type Storage struct {
	Format format.Format
	// Index is the type of the pos and crd arrays.
	Index dtype.T
	// SamePattern is an earlier tensor whose pos and crd arrays this one shares, or nil. Dense levels below, which have no arrays,
	// may differ.
	SamePattern *index.Tensor
	// Permuted says that the values are in another order than the pattern: the value at position p is stored at perm[p].
	Permuted bool
	// Temporary says that the tensor is the result of a step, which no user sees, so that its format may depend on estimates.
	Temporary bool
	// Counted says that entries of the result are counted before they are written: there may be too many to bound them.
	Counted bool
	// Few says of the result that operands may be used few times in all, so that a conversion hardly pays.
	Few bool
	Statistics
}

// Statistics are the known sizes of a tensor, for the scheduler and the choice of formats only.
type Statistics struct {
	// Extents are representative extents of the modes, NNZ a representative number of entries.
	Extents []int64
	NNZ     int64
	// Filled is the number of coordinates of the first level with entries, 0 if it isn't known.
	Filled int64
	// Skew says for each level how unevenly entries are spread over its coordinates: the sum of the squares of the numbers of entries,
	// divided by that sum for equal numbers. It is empty if it isn't known. Reach is the distance of entries from the diagonal, as
	// a share of Whole; it is 0 if it isn't known.
	Skew  []int64
	Reach int64
	// Scattered says that the coordinates of neighbouring entries are seldom neighbours.
	Scattered bool
	// Far says that they are, and that caches don't keep the entries, which are several in a row.
	Far bool
	// Uneven says that the lengths of neighbouring rows differ, and can't be foreseen.
	Uneven bool
	// Adjacent says that neighbouring rows of slices mostly have neighbouring coordinates at each step.
	Adjacent bool
	// Strip is how many rows of a dense operand a thread turns into a panel at a time, where a product reads it across its rows; 0 where
	// copies in another order take no longer.
	Strip int64
}

// Whole is the unit of Statistics.Reach: that of a row whose entries go to an end of the matrix.
const Whole = 1 << 10

// Discovered reports whether kernels find the pattern of the tensor: it is no operand's, and some level of it is appended to.
func (s *Storage) Discovered() bool { return s.SamePattern == nil && len(s.Format.Groups()) > 0 }

// Masked reports whether kernels set a mask on a level of the tensor.
func (s *Storage) Masked(level int) bool {
	l := s.Format.Levels[level].Props()
	return s.SamePattern == nil && l.Locate && l.HasCrd
}

// Known reports whether the pattern of the tensor is there before its values are: kernels append to no level of it, and set no mask.
func (s *Storage) Known() bool {
	for level := range s.Format.Levels {
		if s.Masked(level) {
			return false
		}
	}
	return !s.Discovered()
}

// AppendedLevels is how many leading levels of a discovered result are appended to; what follows are dense blocks.
func (s *Storage) AppendedLevels() int {
	groups := s.Format.Groups()
	return groups[len(groups)-1].Last + 1
}

// Table is the storage of tensors. It never changes: With makes another one, which has what is new before the rest. A nil Table has no
// tensor.
type Table struct {
	tensor  *index.Tensor
	storage Storage
	dense   bool // the format is
	rest    *Table
	length  int
	found   map[*index.Tensor]*Table // where each tensor is in a long table; nil in a short one and between its parts
}

// walked is how many tensors are compared before a map tells where a tensor is: a sum of hundreds of terms has a long table.
const walked = 64

var unknown = &Storage{}

// at is the part of b that begins with t, nil where nothing is known of t.
func (b *Table) at(t *index.Tensor) *Table {
	for ; b != nil && b.tensor != t; b = b.rest {
		if b.found != nil {
			return b.found[t]
		}
	}
	return b
}

// Of is the storage of t, an empty one where nothing is known of it.
func (b *Table) Of(t *index.Tensor) *Storage {
	if b = b.at(t); b == nil {
		return unknown
	}
	return &b.storage
}

// With is b where t is stored as s says.
func (b *Table) With(t *index.Tensor, s Storage) *Table {
	out := &Table{tensor: t, storage: s, dense: s.Format.Dense(), rest: b, length: 1}
	if b != nil {
		out.length += b.length
	}
	if out.length%walked == 0 {
		out.found = make(map[*index.Tensor]*Table, out.length)
		for part := out; part != nil; part = part.rest {
			if out.found[part.tensor] == nil {
				out.found[part.tensor] = part
			}
		}
	}
	return out
}

// Owner is the tensor whose pos and crd arrays t uses: t itself, or the first of the tensors that share them.
func (b *Table) Owner(t *index.Tensor) *index.Tensor {
	for s := b.Of(t); s.SamePattern != nil; s = b.Of(t) {
		t = s.SamePattern
	}
	return t
}

// Dense reports whether the tensor of an access has a place for every element.
func (b *Table) Dense(a *index.Access) bool {
	b = b.at(a.Tensor)
	return b == nil || b.dense
}

// Stored is the variables of an access, outermost level first.
func (b *Table) Stored(a *index.Access) []index.Var {
	out := make([]index.Var, len(a.Vars))
	for l, m := range b.Of(a.Tensor).Format.ModeOrder {
		out[l] = a.Vars[m]
	}
	return out
}

// Entries is the variables of the sparse levels of an access, outermost first.
func (b *Table) Entries(a *index.Access) []index.Var {
	return b.Stored(a)[:b.Of(a.Tensor).Format.Sparse()]
}

// Together reports whether two accesses have the same entries, whatever dense blocks are below: each has a value where the other has.
func (b *Table) Together(x, y *index.Access) bool {
	return b.Owner(x.Tensor) == b.Owner(y.Tensor) && slices.Equal(b.Entries(x), b.Entries(y))
}

// Rows are the variables of the rows of a rowwise result, whose entries are counted row by row.
func (b *Table) Rows(a *index.Access) []index.Var {
	f := b.Of(a.Tensor).Format
	var rows []index.Var
	for _, m := range f.ModeOrder[:f.Groups()[0].First] {
		rows = append(rows, a.Vars[m])
	}
	return rows
}

// Presence reports whether e has a value at every coordinate, whatever is stored, and (ever) whether it can have one at all.
func (b *Table) Presence(e index.Expr) (always, ever bool) {
	switch e := e.(type) {
	case *index.Access:
		return b.Dense(e), true
	case *index.Missing:
		return false, false
	case *index.Call:
		certain, possible := make([]bool, len(e.Args)), make([]bool, len(e.Args))
		for k, arg := range e.Args {
			certain[k], possible[k] = b.Presence(arg)
		}
		return e.Region.Between(certain, possible)
	default:
		return true, true
	}
}

// Varies reports whether the coordinate of v decides whether e has a value: an operand with v stores only some coordinates.
func (b *Table) Varies(e index.Expr, v index.Var) bool {
	return slices.ContainsFunc(index.Accesses(e), func(a *index.Access) bool { return slices.Contains(a.Vars, v) && !b.Dense(a) })
}
