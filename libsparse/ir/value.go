package ir

import (
	"fmt"
	"math"

	"libsparse/libsparse/dtype"
)

// value is a scalar (lanes is nil; i or f by t), or a vector of scalars.
type value struct {
	t     dtype.T
	i     int64
	f     float64
	lanes []value
}

// wrap is x reduced to the range of t, as a conversion in C does; non-zero is 1 as a Bool.
func wrap(t dtype.T, x int64) int64 {
	switch t {
	case dtype.Bool:
		if x != 0 {
			return 1
		}
		return 0
	case dtype.U8:
		return int64(uint8(x))
	case dtype.I8:
		return int64(int8(x))
	case dtype.I16:
		return int64(int16(x))
	case dtype.I32:
		return int64(int32(x))
	default:
		return x
	}
}

// round is x rounded to the precision of t.
func round(t dtype.T, x float64) float64 {
	if t == dtype.F32 {
		return float64(float32(x))
	}
	return x
}

func intValue(t dtype.T, x int64) value     { return value{t: t, i: wrap(t, x)} }
func floatValue(t dtype.T, x float64) value { return value{t: t, f: round(t, x)} }

func boolValue(x bool) value {
	if x {
		return value{t: dtype.Bool, i: 1}
	}
	return value{t: dtype.Bool}
}

// truth reports whether x is not zero.
func (x value) truth() bool { return x.i != 0 || x.f != 0 || math.IsNaN(x.f) }

// convert is x as a value of type t.
func (x value) convert(t dtype.T) value {
	switch {
	case x.lanes != nil:
		return mapLanes(x, func(y value) value { return y.convert(t) })
	case t == x.t:
		return x
	case t == dtype.Bool:
		return boolValue(x.truth())
	case t.IsFloat() && x.t.IsFloat():
		return floatValue(t, x.f)
	case t == dtype.F32:
		return value{t: t, f: float64(float32(x.i))} // one rounding, not two
	case t.IsFloat():
		return floatValue(t, float64(x.i))
	case x.t.IsFloat():
		return intValue(t, int64(x.f))
	default:
		return intValue(t, x.i)
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
	switch {
	case op == dtype.And:
		return boolValue(x.truth() && y.truth()).convert(x.t), nil
	case op == dtype.Or:
		return boolValue(x.truth() || y.truth()).convert(x.t), nil
	case op == dtype.Xor:
		return boolValue(x.truth() != y.truth()).convert(x.t), nil
	case x.t.IsFloat():
		return floatValue(x.t, applyFloat(op, x.f, y.f)), nil
	case op == dtype.Div && y.i == 0:
		return value{}, fmt.Errorf("integer division by zero")
	default:
		return intValue(x.t, applyInt(op, x.i, y.i)), nil
	}
}

// applyFloat computes in float64; rounding once more to float32 gives the float32 result for these operators.
func applyFloat(op dtype.Op, x, y float64) float64 {
	switch op {
	case dtype.Add:
		return x + y
	case dtype.Sub:
		return x - y
	case dtype.Mul:
		return float64(x * y)
	case dtype.Div:
		return x / y
	case dtype.Min:
		if x < y || math.IsNaN(x) {
			return x
		}
		return y
	case dtype.Max:
		if x > y || math.IsNaN(x) {
			return x
		}
		return y
	case dtype.Pow, dtype.Atan2, dtype.Fmod:
		return op.Apply(x, y)
	default:
		panic("BUG: no float operator " + string(op))
	}
}

func applyInt(op dtype.Op, x, y int64) int64 {
	switch op {
	case dtype.Add:
		return x + y
	case dtype.Sub:
		return x - y
	case dtype.Mul:
		return x * y
	case dtype.Div:
		return x / y
	case dtype.Min:
		return min(x, y)
	case dtype.Max:
		return max(x, y)
	default:
		panic("BUG: no integer operator " + string(op))
	}
}

// compare is the comparison of two scalars of one kind.
func compare(op Cmp, x, y value) bool {
	if x.t.IsFloat() {
		return holds(op, x.f, y.f)
	}
	return holds(op, x.i, y.i)
}

func holds[T int64 | float64](op Cmp, x, y T) bool {
	switch op {
	case Lt:
		return x < y
	case Le:
		return x <= y
	case Gt:
		return x > y
	case Ge:
		return x >= y
	case Eq:
		return x == y
	case Ne:
		return x != y
	default:
		panic("BUG: no comparison " + string(op))
	}
}
