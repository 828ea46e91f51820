package dtype

// Accum is the type that values of type t are computed and summed in.
func (t T) Accum() T {
	if t.IsHalf() {
		return F32
	}
	return t
}

// Real is the type of the parts of a complex type, and t itself of any other.
func (t T) Real() T {
	switch t {
	case C64:
		return F32
	case C128:
		return F64
	default:
		return t
	}
}

// Complex is the complex type that holds values of type t.
func (t T) Complex() T {
	if t == F64 || t == C128 {
		return C128
	}
	return C64
}

// Holds reports whether values of type other can become values of type t: as in torch, of the same category or a wider
// one.
func (t T) Holds(other T) bool { return types[other].kind <= types[t].kind }

// Promote is the smallest type that holds the values of both, as torch.promote_types; Invalid gives way to anything.
func Promote(a, b T) T {
	x, y := types[a], types[b]
	switch {
	case x.kind < y.kind:
		return Promote(b, a)
	case a == b || y.kind <= boolean:
		return a
	case x.kind == complexes:
		if b == F64 || b == C128 {
			return C128
		}
		return a
	case x.kind > y.kind:
		return a
	case x.size == y.size && x.kind == integer: // u8 and i8
		return I16
	case x.size == y.size: // f16 and bf16
		return F32
	case x.size < y.size:
		return b
	default:
		return a
	}
}

// PromoteNumber is what values of type t and a number without a type of its own become: numbers of a wider category than
// t's have torch's default type.
func PromoteNumber(t, number T) T {
	if types[t].kind >= types[number].kind {
		return t
	}
	if number.IsComplex() {
		return t.Complex()
	}
	return number
}
