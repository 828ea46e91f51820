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
	Xor    Op = "xor"
	First  Op = "first"
	Second Op = "second"
	Neg    Op = "neg"
	Pow    Op = "pow"
	Atan2  Op = "atan2"
	// Fmod is the remainder of a division rounded towards zero, Remainder that of one rounded down (FloorDivide).
	Fmod        Op = "fmod"
	Remainder   Op = "remainder"
	FloorDivide Op = "floor_divide"
	// Comparisons are 1 where they hold, else 0.
	Lt Op = "lt"
	Le Op = "le"
	Gt Op = "gt"
	Ge Op = "ge"
	Eq Op = "eq"
	Ne Op = "ne"
	// Where is its second argument where the first isn't zero, else its third.
	Where Op = "where"
	// Mean reduces, and is computed in steps: it is no operator on two values.
	Mean Op = "mean"
	// SoftmaxMean is the mean of its second argument, weighted by the softmax of its first. It reduces, and is computed in steps or by
	// a kernel in one pass: it is no operator on two values.
	SoftmaxMean Op = "softmax_mean"
	// SoftmaxMeanInto is the same, by a kernel in one pass that also stores what gives the weights, in two arguments more.
	SoftmaxMeanInto Op = "softmax_mean_into"
	// WeightedSum is the sum of its second argument, weighted by its first: what a product is, in one pass that stores no weights.
	WeightedSum Op = "weighted_sum"
	// WeightedSumInto is the same, by a kernel that also adds sums over the rows to two operands.
	WeightedSumInto Op = "weighted_sum_into"
	// Sum is the sum of its argument over the indices that nothing else in the assignment has. It is computed in a step of its own.
	Sum Op = "sum"
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
	case Add, Sub, Mul, Div, Min, Max, And, Or, Xor, First, Second, Pow, Atan2, Fmod, Remainder, FloorDivide, Lt, Le, Gt, Ge, Eq, Ne, SoftmaxMean, WeightedSum:
		return 2
	case Where:
		return 3
	case SoftmaxMeanInto:
		return 4
	case WeightedSumInto:
		return 6
	case Neg, Sum:
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
	case Add, Or, Xor:
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
	case Add, Mul, Min, Max, And, Or, Xor:
		return true
	default:
		return false
	}
}

// IsComparison reports whether op compares its arguments.
func (op Op) IsComparison() bool {
	switch op {
	case Lt, Le, Gt, Ge, Eq, Ne:
		return true
	default:
		return false
	}
}

// Pools reports whether op makes one value of those at the entries of a row, by weights: it is a whole right side.
func (op Op) Pools() bool {
	return op == SoftmaxMean || op == SoftmaxMeanInto || op == WeightedSum || op == WeightedSumInto
}

// IsLogical reports whether the values of op are truth values.
func (op Op) IsLogical() bool { return op.IsComparison() || op == And || op == Or || op == Xor }

// Divides reports whether op divides whole numbers, which has no result where the divisor is zero.
func (op Op) Divides() bool { return op == FloorDivide || op == Remainder || op == Fmod }

// NeedsFloat reports whether op has a value for floating arguments only. The functions that round, and abs, keep integers.
func (op Op) NeedsFloat() bool {
	switch op {
	case Div, Atan2, SoftmaxMean, SoftmaxMeanInto, WeightedSum, WeightedSumInto:
		return true
	case Abs, Conj, Real, Imag, "floor", "ceil", "trunc", "round":
		return false
	default:
		_, ok := functions[op]
		return ok
	}
}
