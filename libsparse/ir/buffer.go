package ir

import (
	"fmt"
	"math"

	"libsparse/libsparse/dtype"
)

// Buffer is the contents of an array: Float holds the elements of floating types, Int those of the others.
type Buffer struct {
	Elem  dtype.T
	Int   []int64
	Float []float64
}

// NewBuffer is a buffer of n zeros.
func NewBuffer(t dtype.T, n int) *Buffer {
	b := &Buffer{Elem: t}
	if t.IsFloat() {
		b.Float = make([]float64, n)
	} else {
		b.Int = make([]int64, n)
	}
	return b
}

// Ints is a buffer of the given integers.
func Ints(t dtype.T, values ...int64) *Buffer {
	b := NewBuffer(t, len(values))
	for i, x := range values {
		b.set(i, intValue(t, x))
	}
	return b
}

// Floats is a buffer of the given floats.
func Floats(t dtype.T, values ...float64) *Buffer {
	b := NewBuffer(t, len(values))
	for i, x := range values {
		b.set(i, floatValue(t, x))
	}
	return b
}

// Len is the number of elements.
func (b *Buffer) Len() int {
	if b.Elem.IsFloat() {
		return len(b.Float)
	}
	return len(b.Int)
}

// Clone is an independent copy of b.
func (b *Buffer) Clone() *Buffer {
	return &Buffer{Elem: b.Elem, Int: append([]int64(nil), b.Int...), Float: append([]float64(nil), b.Float...)}
}

// Arg is the content of one slot: Scalar the 64-bit word of a scalar (the bits of a float, an int64 otherwise),
// Array the contents of an array. Out scalars and stored-to arrays are updated in place.
type Arg struct {
	Scalar *int64
	Array  *Buffer
}

// ScalarArg is the slot of an integer scalar.
func ScalarArg(x int64) Arg { return Arg{Scalar: &x} }

// ArrayArg is the slot of an array.
func ArrayArg(b *Buffer) Arg { return Arg{Array: b} }

// CloneArgs is an independent copy of args.
func CloneArgs(args []Arg) []Arg {
	out := make([]Arg, len(args))
	for i, a := range args {
		if a.Array != nil {
			out[i] = ArrayArg(a.Array.Clone())
		} else if a.Scalar != nil {
			out[i] = ScalarArg(*a.Scalar)
		}
	}
	return out
}

func (b *Buffer) get(i int) value {
	if b.Elem.IsFloat() {
		return value{t: b.Elem, f: b.Float[i]}
	}
	return value{t: b.Elem, i: b.Int[i]}
}

func (b *Buffer) set(i int, x value) {
	if b.Elem.IsFloat() {
		b.Float[i] = x.f
	} else {
		b.Int[i] = x.i
	}
}

// poison fills b from element lo on with values that a correct program never shows: it stands for memory that was
// not set.
func (b *Buffer) poison(lo int) {
	for i := lo; i < b.Len(); i++ {
		if b.Elem.IsFloat() {
			b.Float[i] = math.NaN()
		} else {
			b.Int[i] = wrap(b.Elem, 0x5a5a5a5a5a5a5a5a)
		}
	}
}

// resize gives b room for n elements; new ones are poison.
func (b *Buffer) resize(n int) {
	old := b.Len()
	if n <= old {
		return
	}
	grown := NewBuffer(b.Elem, n)
	copy(grown.Int, b.Int)
	copy(grown.Float, b.Float)
	grown.poison(old)
	b.Int, b.Float = grown.Int, grown.Float
}

// scalarFromWord is the scalar of type t in a slot's 64-bit word.
func scalarFromWord(t dtype.T, word int64) value {
	switch t {
	case dtype.F64:
		return floatValue(t, math.Float64frombits(uint64(word)))
	case dtype.F32:
		return floatValue(t, float64(math.Float32frombits(uint32(word))))
	default:
		return intValue(t, word)
	}
}

// word is the 64-bit word that holds x in a slot.
func (x value) word() int64 {
	switch x.t {
	case dtype.F64:
		return int64(math.Float64bits(x.f))
	case dtype.F32:
		return int64(math.Float32bits(float32(x.f)))
	default:
		return x.i
	}
}

// checkArgs reports the first argument that does not fit its slot.
func checkArgs(slots []Slot, args []Arg) error {
	if len(slots) != len(args) {
		return fmt.Errorf("%d arguments for %d slots", len(args), len(slots))
	}
	for i, s := range slots {
		switch {
		case s.Array != nil && (args[i].Array == nil || args[i].Array.Elem != s.Array.Elem):
			return fmt.Errorf("slot %d needs an array of %s for %s", i, s.Array.Elem, s.Array.Name)
		case s.Var != nil && args[i].Scalar == nil:
			return fmt.Errorf("slot %d needs a scalar for %s", i, s.Var.Name)
		}
	}
	return nil
}
