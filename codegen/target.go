package codegen

import (
	"golang.org/x/sys/cpu"

	"libsparse/libsparse/dtype"
)

// Target is a kind of processor, by the width of its vector registers in bytes.
type Target int

// Host is the processor of this machine.
func Host() Target {
	switch {
	case cpu.X86.HasAVX512F:
		return 64
	case cpu.X86.HasAVX2:
		return 32
	default:
		return 16
	}
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

// Vectorizes reports whether op, or no operator, works on vectors of t. Those of complex values are left to the C compiler,
// and functions of the C library have none; exp of float is written out.
func (Target) Vectorizes(op dtype.Op, t dtype.T) bool {
	switch {
	case t == dtype.Bool || t.IsComplex():
		return false
	case op == dtype.Div:
		return t.IsFloat()
	case op == "exp":
		return t == dtype.F32
	case op == dtype.Pow || op.Divides():
		return false
	default:
		_, function := libraryFunction(op, t)
		return !function && op != dtype.And && op != dtype.Or && op != dtype.Xor
	}
}
