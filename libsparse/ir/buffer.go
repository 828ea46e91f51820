package ir

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"libsparse/libsparse/dtype"
)

// Buffer is the contents of an array: Float holds the elements of floating types, Complex those of complex ones, Int those
// of the others.
type Buffer struct {
	Elem    dtype.T
	Int     []int64
	Float   []float64
	Complex []complex128
}

// NewBuffer is a buffer of n zeros.
func NewBuffer(t dtype.T, n int) *Buffer {
	b := &Buffer{Elem: t}
	switch {
	case t.IsFloat():
		b.Float = make([]float64, n)
	case t.IsComplex():
		b.Complex = make([]complex128, n)
	default:
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

// Len is the number of elements; two of the three slices are empty.
func (b *Buffer) Len() int { return len(b.Int) + len(b.Float) + len(b.Complex) }

// At is element i.
func (b *Buffer) At(i int) dtype.Value { return b.get(i).Value }

// Set makes x, a value of the buffer's type, element i.
func (b *Buffer) Set(i int, x dtype.Value) { b.set(i, value{t: b.Elem, Value: x}) }

// Clone is an independent copy of b.
func (b *Buffer) Clone() *Buffer {
	return &Buffer{Elem: b.Elem, Int: slices.Clone(b.Int), Float: slices.Clone(b.Float), Complex: slices.Clone(b.Complex)}
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
	switch {
	case b.Elem.IsFloat():
		return value{t: b.Elem, Value: dtype.Value{Num: complex(b.Float[i], 0)}}
	case b.Elem.IsComplex():
		return value{t: b.Elem, Value: dtype.Value{Num: b.Complex[i]}}
	default:
		return value{t: b.Elem, Value: dtype.Value{Int: b.Int[i]}}
	}
}

func (b *Buffer) set(i int, x value) {
	switch {
	case b.Elem.IsFloat():
		b.Float[i] = real(x.Num)
	case b.Elem.IsComplex():
		b.Complex[i] = x.Num
	default:
		b.Int[i] = x.Int
	}
}

// poison fills b from element lo on with values that a correct program never shows: it stands for memory that was
// not set.
func (b *Buffer) poison(lo int) {
	nan, pattern := value{Value: dtype.Value{Num: cmplx.NaN()}}, intValue(b.Elem, 0x5a5a5a5a5a5a5a5a)
	for i := lo; i < b.Len(); i++ {
		if b.Int == nil {
			b.set(i, nan)
		} else {
			b.set(i, pattern)
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
	copy(grown.Complex, b.Complex)
	grown.poison(old)
	*b = *grown
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
		return int64(math.Float64bits(real(x.Num)))
	case dtype.F32:
		return int64(math.Float32bits(float32(real(x.Num))))
	default:
		return x.Int
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
