package ir

import (
	"fmt"
	"slices"

	"libsparse/libsparse/dtype"
)

// value is a scalar of type t (lanes is nil), or a vector of scalars.
type value struct {
	t dtype.T
	dtype.Value
	lanes []value
}

func intValue(t dtype.T, x int64) value     { return value{t: t, Value: dtype.Int(t, x)} }
func floatValue(t dtype.T, x float64) value { return value{t: t, Value: dtype.Float(t, x)} }

func boolValue(x bool) value {
	if x {
		return intValue(dtype.Bool, 1)
	}
	return intValue(dtype.Bool, 0)
}

// truth reports whether x is not zero.
func (x value) truth() bool { return x.Truth() }

// convert is x as a value of type t. What becomes a half is rounded to float32 first, as compiled code does.
func (x value) convert(t dtype.T) value {
	switch {
	case x.lanes != nil:
		return mapLanes(x, func(y value) value { return y.convert(t) })
	case t.IsHalf() && x.t != dtype.F32 && x.t != t:
		return x.convert(dtype.F32).convert(t)
	default:
		return value{t: t, Value: dtype.Convert(x.Value, x.t, t)}
	}
}

func mapLanes(x value, f func(value) value) value {
	out := value{t: x.t, lanes: make([]value, len(x.lanes))}
	for i, lane := range x.lanes {
		out.lanes[i] = f(lane)
		out.t = out.lanes[i].t
	}
	return out
}

// broadcast is x as a vector of n lanes, or x itself where n is 1.
func (x value) broadcast(n int) value {
	if x.lanes != nil || n <= 1 {
		return x
	}
	out := value{t: x.t, lanes: make([]value, n)}
	for i := range out.lanes {
		out.lanes[i] = x
	}
	return out
}

// apply is op(x, y), lane by lane where one of them is a vector.
func apply(op dtype.Op, x, y value) (value, error) {
	n := max(len(x.lanes), len(y.lanes))
	if n == 0 {
		return applyScalar(op, x, y)
	}
	x, y = x.broadcast(n), y.broadcast(n)
	out := value{t: x.t, lanes: make([]value, n)}
	for i := range out.lanes {
		lane, err := apply(op, x.lanes[i], y.lanes[i])
		if err != nil {
			return value{}, err
		}
		out.lanes[i] = lane
	}
	return out, nil
}

func applyScalar(op dtype.Op, x, y value) (value, error) {
	if op == dtype.Div && !x.t.IsFloat() && !x.t.IsComplex() && y.Int == 0 {
		return value{}, fmt.Errorf("integer division by zero")
	}
	return value{t: x.t, Value: op.Eval(x.t, x.Value, y.Value)}, nil
}

// dividesByZero reports whether op divides by y, or by a lane of it, which is an integer and zero.
func dividesByZero(op dtype.Op, y value) bool {
	if y.lanes == nil {
		return op.DividesByZero(y.t, y.Value)
	}
	return slices.ContainsFunc(y.lanes, func(lane value) bool { return dividesByZero(op, lane) })
}

var comparisons = map[Cmp]dtype.Op{Lt: dtype.Lt, Le: dtype.Le, Gt: dtype.Gt, Ge: dtype.Ge, Eq: dtype.Eq, Ne: dtype.Ne, NotAbove: dtype.Le}

// compare is the comparison of two scalars of one kind.
func compare(op Cmp, x, y value) bool {
	meaning, ok := comparisons[op]
	if !ok {
		panic("BUG: no comparison " + string(op))
	}
	return meaning.Eval(x.t, x.Value, y.Value).Truth()
}
