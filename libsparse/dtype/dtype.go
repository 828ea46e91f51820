// Package dtype names the scalar types and the scalar operators of the compiler.
//
// It is a leaf: it must not import any other package of the project.
package dtype

// T is a scalar type, of tensor values or of coordinates and positions.
type T string

// The scalar types. Bool is one byte, 0 or 1, as in torch.
const (
	Invalid T = ""
	Bool    T = "bool"
	U8      T = "u8"
	I8      T = "i8"
	I16     T = "i16"
	I32     T = "i32"
	I64     T = "i64"
	F32     T = "f32"
	F64     T = "f64"
)

// all lists the scalar types in the order of promotion.
var all = []T{Bool, U8, I8, I16, I32, I64, F32, F64}

// All returns every scalar type.
func All() []T { return append([]T(nil), all...) }

// Parse returns the type called name.
func Parse(name string) (T, bool) {
	for _, t := range all {
		if string(t) == name {
			return t, true
		}
	}
	return Invalid, false
}

// IsFloat reports whether t is a floating type.
func (t T) IsFloat() bool { return t == F32 || t == F64 }

// IsInt reports whether t is an integer type; Bool is none.
func (t T) IsInt() bool {
	switch t {
	case U8, I8, I16, I32, I64:
		return true
	default:
		return false
	}
}

// Size is the size of t in bytes.
func (t T) Size() int {
	switch t {
	case Bool, U8, I8:
		return 1
	case I16:
		return 2
	case I32, F32:
		return 4
	case I64, F64:
		return 8
	default:
		return 0
	}
}

// C is the name of t in C99 with stdint.h.
func (t T) C() string {
	switch t {
	case Bool:
		return "uint8_t"
	case U8:
		return "uint8_t"
	case I8:
		return "int8_t"
	case I16:
		return "int16_t"
	case I32:
		return "int32_t"
	case I64:
		return "int64_t"
	case F32:
		return "float"
	case F64:
		return "double"
	default:
		panic("BUG: no C type for dtype " + string(t))
	}
}
