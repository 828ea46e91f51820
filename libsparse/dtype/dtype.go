// Package dtype names the scalar types and the scalar operators of the compiler.
//
// It is a leaf: it must not import any other package of the project.
package dtype

// T is a scalar type, of tensor values or of coordinates and positions.
type T string

// The scalar types. Bool is one byte, 0 or 1, as in torch. F16 and BF16 are types of memory only: values are computed
// as Accum says and rounded when they are stored.
const (
	Invalid T = ""
	Bool    T = "bool"
	U8      T = "u8"
	I8      T = "i8"
	I16     T = "i16"
	I32     T = "i32"
	I64     T = "i64"
	F16     T = "f16"
	BF16    T = "bf16"
	F32     T = "f32"
	F64     T = "f64"
	C64     T = "c64"
	C128    T = "c128"
)

// info is the properties of a type.
type info struct {
	kind kind
	size int
}

// kind is a category of types; a wider one comes later.
type kind int

const (
	none kind = iota
	boolean
	integer
	floating
	complexes
)

// types describes every type.
var types = map[T]info{
	Bool: {boolean, 1},
	U8:   {integer, 1},
	I8:   {integer, 1},
	I16:  {integer, 2},
	I32:  {integer, 4},
	I64:  {integer, 8},
	F16:  {floating, 2},
	BF16: {floating, 2},
	F32:  {floating, 4},
	F64:  {floating, 8},
	C64:  {complexes, 8},
	C128: {complexes, 16},
}

// all lists the scalar types in the order of promotion.
var all = []T{Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64, C64, C128}

// All returns every scalar type.
func All() []T { return append([]T(nil), all...) }

// Parse returns the type called name.
func Parse(name string) (T, bool) {
	if _, ok := types[T(name)]; ok {
		return T(name), true
	}
	return Invalid, false
}

// IsFloat reports whether t is a real floating type.
func (t T) IsFloat() bool { return types[t].kind == floating }

// IsHalf reports whether t is a floating type of two bytes, which nothing is computed in.
func (t T) IsHalf() bool { return t == F16 || t == BF16 }

// IsComplex reports whether t is a complex type.
func (t T) IsComplex() bool { return types[t].kind == complexes }

// IsInt reports whether t is an integer type; Bool is none.
func (t T) IsInt() bool { return types[t].kind == integer }

// Size is the size of t in bytes.
func (t T) Size() int { return types[t].size }
