package codegen

import (
	"golang.org/x/sys/cpu"

	"libsparse/libsparse/dtype"
)

// Target is a kind of processor, by the width of its vector registers in bytes.
type Target int

// Machine is a target that runs with the C library of this machine, which may have vectorLibrary.
type Machine struct{ Target }

// Host is this machine.
func Host() Machine {
	switch {
	case cpu.X86.HasAVX512F:
		return Machine{64}
	case cpu.X86.HasAVX2:
		return Machine{32}
	default:
		return Machine{16}
	}
}

// Vectorizes reports whether op works on vectors of t by instructions or by the vector library.
func (m Machine) Vectorizes(op dtype.Op, t dtype.T) bool {
	return m.Target.Vectorizes(op, t) || inVectorLibrary(op, t) && vectorLibrary() != ""
}

// inVectorLibrary reports whether op on t is left to the vector library where there is one. Its log10 of 1000 and cbrt of 27 in float are not 3, unlike
// others', so floor would give 2; exp of float is written out.
func inVectorLibrary(op dtype.Op, t dtype.T) bool {
	return op.Approximates() && (t == dtype.F64 || t == dtype.F32 && op != "log10" && op != "cbrt" && op != "exp")
}

// FunctionBytes is the size of the longest vectors on which functions are computed by the vector library; 0 where there is none.
func (m Machine) FunctionBytes() int {
	if vectorLibrary() == "" {
		return 0
	}
	return int(m.Target)
}

// Level names a set of instructions that several kinds of processors have, as C compilers call it.
type Level string

// Target is the kind of processor that has no more than the instructions of l.
func (l Level) Target() Target {
	switch l {
	case "x86-64-v4":
		return 64
	case "x86-64-v3":
		return 32
	default:
		return 16
	}
}

// VectorBytes is the width of the vector registers in bytes.
func (t Target) VectorBytes() int { return int(t) }

// Vectorizes reports whether op, or no operator, works on vectors of t by instructions. Those of complex values are left to the C compiler; exp of
// float is written out.
func (Target) Vectorizes(op dtype.Op, t dtype.T) bool {
	if t == dtype.Bool || t.IsComplex() {
		return false
	}
	switch {
	case op == dtype.Div:
		return t.IsFloat()
	case op.Approximates():
		return op == "exp" && t == dtype.F32
	case op.IsFunction():
		_, ok := libraryFunction(op, t)
		return ok && !t.IsHalf() || op == dtype.Abs && t.IsInt()
	default:
		return !op.Divides() && op != dtype.And && op != dtype.Or && op != dtype.Xor
	}
}
