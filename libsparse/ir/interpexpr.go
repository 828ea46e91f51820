package ir

import (
	"fmt"
	"slices"

	"libsparse/libsparse/dtype"
)

func (m *machine) eval(e Expr) value {
	switch e := e.(type) {
	case *Var:
		return m.variable(e.Name)
	case *Int:
		return intValue(e.T, e.Value)
	case *Float:
		return floatValue(e.T, e.Value)
	case *Load:
		return m.load(e)
	case *Binary:
		y := m.eval(e.Y)
		m.zero = m.zero || dividesByZero(e.Op, y)
		x, err := apply(e.Op, m.eval(e.X), y)
		if err != nil {
			m.failf("%v in %s", err, ExprText(e))
		}
		return x
	case *Compare:
		return m.compare(e)
	case *Unary:
		return unary(e.Op, m.eval(e.X))
	case *Cast:
		return m.eval(e.X).convert(e.To)
	case *Select:
		if m.eval(e.Cond).truth() {
			return m.eval(e.Then)
		}
		return m.eval(e.Else)
	case *Hash:
		return intValue(Index.Elem, HashOf(m.eval(e.Key).Int, m.eval(e.Size).Int))
	default:
		return m.vector(e)
	}
}

// vector is the value of an expression that makes or takes apart vectors, or asks where they may be stored.
func (m *machine) vector(e Expr) value {
	switch e := e.(type) {
	case *Lanes:
		return vectorOf(m.evalAll(e.Of))
	case *ReduceLanes:
		return m.reduceLanes(e)
	case *Tail:
		first := int64(e.Type().Lanes) - m.eval(e.Count).Int
		return m.choose(e.X, e.Else, func(lane int64) bool { return lane >= first })
	case *Head:
		count := m.eval(e.Count).Int
		return m.choose(e.X, e.Else, func(lane int64) bool { return lane < count })
	case *Where:
		of := m.eval(e.Of)
		return m.choose(e.X, e.Else, func(lane int64) bool { return of.lanes[lane].Int >= 0 })
	case *Aligned: // as torch allocates
		return intValue(dtype.Bool, 1)
	default:
		panic(fmt.Sprintf("BUG: no value for expression %T", e))
	}
}

func (m *machine) variable(name string) value {
	x, ok := m.vars[name]
	if !ok {
		m.failf("variable %s has no value", name)
	}
	return x
}

func (m *machine) compare(e *Compare) value {
	x := m.eval(e.X)
	switch e.Op {
	case LogAnd:
		return boolValue(x.truth() && m.eval(e.Y).truth())
	case LogOr:
		return boolValue(x.truth() || m.eval(e.Y).truth())
	default:
		return boolValue(compare(e.Op, x, m.eval(e.Y)))
	}
}

// unary is op(x), lane by lane.
func unary(op dtype.Op, x value) value {
	if x.lanes != nil {
		return mapLanes(x, func(y value) value { return unary(op, y) })
	}
	return value{t: op.Result(x.t), Value: op.Eval(x.t, x.Value)}
}

// span is the buffer of a, checked to hold the elements [lo, hi).
func (m *machine) span(a *Array, lo, hi int64) *Buffer {
	b := m.arrays[a.Name]
	switch {
	case b == nil:
		m.failf("array %s does not exist", a.Name)
	case lo < 0 || hi > int64(b.Len()) || lo > hi:
		if hi == lo+1 {
			m.failf("index %d is outside array %s of %d elements", lo, a.Name, b.Len())
		}
		m.failf("range %d:%d is outside array %s of %d elements", lo, hi, a.Name, b.Len())
	}
	return b
}

func (m *machine) load(e *Load) value {
	i := m.eval(e.Index).Int
	n := max(int64(e.Lanes), 1)
	b := m.span(e.Array, i, i+n)
	if n == 1 {
		return b.get(int(i))
	}
	out := value{t: b.Elem, lanes: make([]value, n)}
	for k := range out.lanes {
		out.lanes[k] = b.get(int(i) + k)
	}
	return out
}

func (m *machine) store(s *Store) {
	i := m.eval(s.Index).Int
	n := StoreLanes(s)
	b := m.span(s.Array, i, i+int64(n))
	x := m.eval(s.Value).convert(s.Array.Elem).broadcast(n)
	if n == 1 {
		m.storeElement(s, b, int(i), x, s.Reduce)
		return
	}
	for k, lane := range x.lanes {
		m.storeElement(s, b, int(i)+k, lane, s.Reduce)
	}
}

func (m *machine) storeElement(s Stmt, b *Buffer, i int, x value, reduce dtype.Op) {
	if reduce != "" {
		y, err := apply(reduce, b.get(i), x)
		if err != nil {
			m.failf("%v at %q", err, summary(s))
		}
		x = y
	}
	b.set(i, x)
}

func (m *machine) evalAll(list []Expr) []value {
	out := make([]value, len(list))
	for i, e := range list {
		out[i] = m.eval(e)
	}
	return out
}

// vectorOf is the vector of some scalars, or the scalar where there is one.
func vectorOf(lanes []value) value {
	if len(lanes) == 1 {
		return lanes[0]
	}
	return value{t: lanes[0].t, lanes: lanes}
}

func (m *machine) reduceLanes(e *ReduceLanes) value {
	sums := m.evalAll(e.Of)
	for i, x := range sums {
		var groups []value
		for lanes := range slices.Chunk(x.lanes, GroupLanes(e.Of[0].Type())) {
			groups = append(groups, m.halve(e.Op, lanes))
		}
		sums[i] = m.halve(e.Op, groups)
	}
	return vectorOf(sums)
}

// halve reduces a power of two of values: those that are half as many apart first.
func (m *machine) halve(op dtype.Op, x []value) value {
	for n := len(x) / 2; n > 0; n /= 2 {
		next := make([]value, n)
		for k := range next {
			sum, err := apply(op, x[k], x[k+n])
			if err != nil {
				m.failf("%v in a reduction of lanes", err)
			}
			next[k] = sum
		}
		x = next
	}
	return x[0]
}

// choose is the lanes of x for which kept holds, and those of otherwise elsewhere.
func (m *machine) choose(x, otherwise Expr, kept func(lane int64) bool) value {
	out, other := m.eval(x), m.eval(otherwise)
	out.lanes = slices.Clone(out.lanes)
	for k := range out.lanes {
		if !kept(int64(k)) {
			out.lanes[k] = other.lanes[k]
		}
	}
	return out
}
