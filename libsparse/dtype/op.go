package dtype

import "math"

// Op is a scalar operator. The compiler learns everything it needs from the methods of Op: adding an operator
// means adding it here, to ir's interpreter and to codegen's printer.
type Op string

// The operators. First and Second are binary and return that argument.
const (
	Add    Op = "add"
	Sub    Op = "sub"
	Mul    Op = "mul"
	Div    Op = "div"
	Min    Op = "min"
	Max    Op = "max"
	And    Op = "and"
	Or     Op = "or"
	First  Op = "first"
	Second Op = "second"
	Neg    Op = "neg"
)

// The functions that complex types treat as special. Real and Imag are the parts of a value.
const (
	Abs  Op = "abs"
	Conj Op = "conj"
	Real Op = "real"
	Imag Op = "imag"
)

// Arity is the number of arguments of op, 0 if there is no such operator.
func (op Op) Arity() int {
	switch op {
	case Add, Sub, Mul, Div, Min, Max, And, Or, First, Second:
		return 2
	case Neg:
		return 1
	}
	if _, ok := functions[op]; ok {
		return 1
	}
	return 0
}

// Infix is the usual sign of op, or "" if it is written as a function.
func (op Op) Infix() string {
	switch op {
	case Add:
		return "+"
	case Sub:
		return "-"
	case Mul:
		return "*"
	case Div:
		return "/"
	default:
		return ""
	}
}

// Identity is the value e with op(e, x) = x, as a float64; infinities stand for the extreme values of t.
// ok is false where op has none and so can't reduce.
func (op Op) Identity() (e float64, ok bool) {
	switch op {
	case Add, Or:
		return 0, true
	case Mul, And:
		return 1, true
	case Min:
		return math.Inf(1), true
	case Max:
		return math.Inf(-1), true
	default:
		return 0, false
	}
}

// Annihilates reports whether op(0, x) = op(x, 0) = 0 for every x, so that a term exists only where all its
// sparse arguments are stored.
func (op Op) Annihilates() bool { return op == Mul || op == And }

// Commutes reports whether op is commutative and associative.
func (op Op) Commutes() bool {
	switch op {
	case Add, Mul, Min, Max, And, Or:
		return true
	default:
		return false
	}
}
