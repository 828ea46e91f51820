package index

import (
	"slices"
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
)

// maxArgs is how many arguments a call can have: its region is a table of all sets of them.
const maxArgs = 6

// Region says at which coordinates a call has a value, given where its arguments have one: a Boolean function. Elsewhere
// it has none, and an argument without a value counts as zero.
type Region struct {
	// Args is the number of arguments. Bit m of Sets is set where the call has a value if exactly the arguments in m do.
	Args int
	Sets uint64
}

// Argument is where argument k of n has a value.
func Argument(k, n int) Region {
	r := Region{Args: n}
	for m := range uint(1) << n {
		if m&(1<<k) != 0 {
			r.Sets |= 1 << m
		}
	}
	return r
}

// Everywhere is all coordinates.
func Everywhere(n int) Region { return Nowhere(n).Not() }

// Nowhere is no coordinates.
func Nowhere(n int) Region { return Region{Args: n} }

// Every is where all of n arguments have a value: products, and the terms of semirings.
func Every(n int) Region {
	r := Everywhere(n)
	for k := range n {
		r = r.And(Argument(k, n))
	}
	return r
}

// Some is where at least one of n arguments has a value: sums.
func Some(n int) Region {
	r := Nowhere(n)
	for k := range n {
		r = r.Or(Argument(k, n))
	}
	return r
}

// And is the intersection of two regions.
func (r Region) And(q Region) Region { return Region{Args: r.Args, Sets: r.Sets & q.Sets} }

// Or is the union of two regions.
func (r Region) Or(q Region) Region { return Region{Args: r.Args, Sets: r.Sets | q.Sets} }

// Xor is where one of two regions is and the other isn't.
func (r Region) Xor(q Region) Region { return Region{Args: r.Args, Sets: r.Sets ^ q.Sets} }

// Not is the complement of a region.
func (r Region) Not() Region {
	n := uint(1) << r.Args
	return Region{Args: r.Args, Sets: ^r.Sets & (^uint64(0) >> (64 - n))}
}

// Has reports whether the call has a value where exactly the arguments in set do.
func (r Region) Has(set uint) bool { return r.Sets&(1<<set) != 0 }

// Holds is Has, with the arguments one by one.
func (r Region) Holds(defined ...bool) bool { return r.Has(setOf(defined)) }

// setOf has a bit for each true value.
func setOf(defined []bool) uint {
	set := uint(0)
	for k, d := range defined {
		if d {
			set |= 1 << k
		}
	}
	return set
}

// Between says whether the call has a value for every, and for some, choice of arguments that contains those in certain
// and is among those in possible.
func (r Region) Between(certain, possible []bool) (always, ever bool) {
	least, most := setOf(certain), setOf(possible)
	always = true
	for m := range uint(1) << r.Args {
		if m&least == least && m&^most == 0 {
			always, ever = always && r.Has(m), ever || r.Has(m)
		}
	}
	return always, ever
}

// Least lists the smallest sets of arguments that give the call a value: wherever it has one, one of them has.
func (r Region) Least() []uint {
	var out []uint
	for m := range uint(1) << r.Args {
		least := r.Has(m)
		for k := m; least && k > 0; {
			k = (k - 1) & m
			least = !r.Has(k)
		}
		if least {
			out = append(out, m)
		}
	}
	return out
}

// IsProduct reports whether the region is where all arguments have a value.
func (r Region) IsProduct() bool { return r == Every(r.Args) }

// String is the region over numbered arguments, as the parser reads it.
func (r Region) String() string {
	switch r {
	case Every(r.Args):
		return "every"
	case Some(r.Args):
		return "some"
	case Everywhere(r.Args):
		return "all"
	}
	var terms []string
	for m := range uint(1) << r.Args {
		if !r.Has(m) {
			continue
		}
		factors := make([]string, r.Args)
		for k := range factors {
			factors[k] = strconv.Itoa(k)
			if m&(1<<k) == 0 {
				factors[k] = "~" + factors[k]
			}
		}
		terms = append(terms, strings.Join(factors, " & "))
	}
	return strings.Join(terms, " | ")
}

// RegionOf is where op is defined when it is written out in an expression, so that the result is what dense tensors would
// give: wherever it may differ from zero. Functions of one argument, and comparisons, are defined where some argument is.
func RegionOf(op dtype.Op) Region {
	n := op.Arity()
	switch {
	case op == dtype.Div, op == dtype.First, op == dtype.Pow, op.Divides():
		return Argument(0, n)
	case op == dtype.Second:
		return Argument(1, n)
	case op == dtype.Where:
		return Argument(0, n).And(Argument(1, n)).Or(Argument(2, n))
	case op.Annihilates():
		return Every(n)
	default:
		return Some(n)
	}
}

// NewCall applies an operator as an expression writes it.
func NewCall(op dtype.Op, args ...Expr) *Call {
	return &Call{Op: op, Args: args, Region: RegionOf(op)}
}

// Term applies an operator to factors that must all be stored, as in a semiring's product.
func Term(op dtype.Op, args ...Expr) *Call {
	return &Call{Op: op, Args: args, Region: Every(len(args))}
}

// Presence reports whether e has a value at every coordinate, and ever whether it has one at any, whatever is stored.
func Presence(e Expr) (always, ever bool) {
	switch e := e.(type) {
	case *Access:
		return e.Tensor.Format.Dense(), true
	case *Missing:
		return false, false
	case *Call:
		certain, possible := make([]bool, len(e.Args)), make([]bool, len(e.Args))
		for k, arg := range e.Args {
			certain[k], possible[k] = Presence(arg)
		}
		return e.Region.Between(certain, possible)
	default:
		return true, true
	}
}

// Varies reports whether what e has a value at depends on v: an operand with v stores some coordinates only.
func Varies(e Expr, v Var) bool {
	return slices.ContainsFunc(Accesses(e), func(a *Access) bool { return slices.Contains(a.Vars, v) && !a.Tensor.Format.Dense() })
}
