package index

import (
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
)

// maxArgs is how many arguments a call can have: its region is a table of all sets of them.
const maxArgs = 6

// Region is a Boolean function: it says whether a call has a value at a coordinate, given which of its arguments have one there. An
// argument without a value counts as zero.
type Region struct {
	// Args is the number of arguments. Bit m of Sets says whether the call has a value if exactly the arguments in the set m have one.
	Args int
	Sets uint64
}

// Argument is the region in which argument k of n has a value.
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

// Every is the region in which all n arguments have a value: that of products, and of combinations of semirings.
func Every(n int) Region {
	r := Everywhere(n)
	for k := range n {
		r = r.And(Argument(k, n))
	}
	return r
}

// Some is the region in which at least one of n arguments has a value: that of sums.
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

// Xor is the symmetric difference of two regions.
func (r Region) Xor(q Region) Region { return Region{Args: r.Args, Sets: r.Sets ^ q.Sets} }

// Not is the complement of a region.
func (r Region) Not() Region {
	n := uint(1) << r.Args
	return Region{Args: r.Args, Sets: ^r.Sets & (^uint64(0) >> (64 - n))}
}

// Has reports whether the call has a value if exactly the arguments in set have one.
func (r Region) Has(set uint) bool { return r.Sets&(1<<set) != 0 }

// Holds is Has, with the arguments one by one.
func (r Region) Holds(defined ...bool) bool { return r.Has(setOf(defined)) }

// Ignores reports whether the call has a value at the same coordinates whether the arguments in set have values or not.
func (r Region) Ignores(set uint) bool { return r.Grows(set) && r.Not().Grows(set) }

// Grows reports whether the call has a value wherever it has one without the arguments in set.
func (r Region) Grows(set uint) bool {
	for m := range uint(1) << r.Args {
		if r.Has(m&^set) && !r.Has(m) {
			return false
		}
	}
	return true
}

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

// Between looks at all sets of arguments that contain certain and are contained in possible: it reports whether the call has a value for
// every one of them, and for some.
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

// Least lists the minimal sets of arguments that give the call a value: wherever it has one, all arguments of some minimal set have.
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

// IsProduct reports whether the call has a value only if all arguments have one.
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

// RegionOf is the usual region of op in an expression: every coordinate at which the result may be nonzero, so that it equals that of
// dense tensors. An operator that makes something else of zeros, such as exp, has a value everywhere. Only quotients have none where
// nothing is divided, although 0 / 0 is NaN.
func RegionOf(op dtype.Op) Region {
	n := op.Arity()
	switch {
	case op.Pools():
		return Every(n)
	case !op.KeepsZeros():
		return Everywhere(n)
	case op == dtype.Div, op == dtype.First, op.Divides():
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

// usualRegion is the region of an operator on these arguments: pow keeps zeros if the exponent is a number above zero, and a choice has no value
// where it chooses the number zero.
func usualRegion(op dtype.Op, args []Expr) Region {
	switch op {
	case dtype.Pow:
		if exponent, ok := constant(args[1]); ok && exponent > 0 {
			return Argument(0, 2)
		}
	case dtype.Where:
		if other, ok := constant(args[2]); ok && other == 0 {
			return Argument(0, 3).And(Argument(1, 3))
		}
		if chosen, ok := constant(args[1]); ok && chosen == 0 {
			return Argument(2, 3)
		}
	}
	return RegionOf(op)
}

// constant is the value of a literal, which may have a sign.
func constant(e Expr) (float64, bool) {
	switch e := e.(type) {
	case *Literal:
		return e.Value, true
	case *Call:
		if e.Op == dtype.Neg {
			value, ok := constant(e.Args[0])
			return -value, ok
		}
	}
	return 0, false
}

// NewCall applies an operator with its usual region.
func NewCall(op dtype.Op, args ...Expr) *Call {
	return &Call{Op: op, Args: args, Region: usualRegion(op, args)}
}

// Term applies an operator to factors that must all be stored, as in a semiring's product.
func Term(op dtype.Op, args ...Expr) *Call {
	return &Call{Op: op, Args: args, Region: Every(len(args))}
}
