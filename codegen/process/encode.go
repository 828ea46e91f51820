package process

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// encode is the content of the slots as harness reads it: for every slot its word (of a scalar) or its length in
// bytes (of an array), then the bytes of the arrays in order.
func encode(m *ir.Module, args []ir.Arg) ([]byte, error) {
	if len(args) != len(m.Slots) {
		return nil, fmt.Errorf("%d arguments for %d slots", len(args), len(m.Slots))
	}
	var words, bytes []byte
	for i, s := range m.Slots {
		switch {
		case s.Array != nil && args[i].Array != nil && args[i].Array.Elem == s.Array.Elem:
			b := args[i].Array
			words = binary.NativeEndian.AppendUint64(words, uint64(b.Len()*b.Elem.Size()))
			bytes = appendBuffer(bytes, b)
		case s.Var != nil && args[i].Scalar != nil:
			words = binary.NativeEndian.AppendUint64(words, uint64(*args[i].Scalar))
		default:
			return nil, fmt.Errorf("argument %d does not fit its slot", i)
		}
	}
	return append(words, bytes...), nil
}

func appendBuffer(out []byte, b *ir.Buffer) []byte {
	for i := range b.Len() {
		switch b.Elem {
		case dtype.F32:
			out = binary.NativeEndian.AppendUint32(out, math.Float32bits(float32(b.Float[i])))
		case dtype.F64:
			out = binary.NativeEndian.AppendUint64(out, math.Float64bits(b.Float[i]))
		case dtype.F16, dtype.BF16:
			out = binary.NativeEndian.AppendUint16(out, dtype.HalfBits(b.Elem, float32(b.Float[i])))
		case dtype.C64:
			out = binary.NativeEndian.AppendUint32(out, math.Float32bits(float32(real(b.Complex[i]))))
			out = binary.NativeEndian.AppendUint32(out, math.Float32bits(float32(imag(b.Complex[i]))))
		case dtype.C128:
			out = binary.NativeEndian.AppendUint64(out, math.Float64bits(real(b.Complex[i])))
			out = binary.NativeEndian.AppendUint64(out, math.Float64bits(imag(b.Complex[i])))
		default:
			out = appendInt(out, b.Int[i], b.Elem.Size())
		}
	}
	return out
}

func appendInt(out []byte, x int64, size int) []byte {
	switch size {
	case 1:
		return append(out, byte(x))
	case 2:
		return binary.NativeEndian.AppendUint16(out, uint16(x))
	case 4:
		return binary.NativeEndian.AppendUint32(out, uint32(x))
	default:
		return binary.NativeEndian.AppendUint64(out, uint64(x))
	}
}

// decode reads what harness wrote: the status, how long each repetition took, and the words and bytes back into args.
func decode(m *ir.Module, from io.Reader, repeat int, args []ir.Arg) (status int64, took []time.Duration, err error) {
	words := make([]int64, 1+repeat+len(m.Slots))
	if err := binary.Read(from, binary.NativeEndian, words); err != nil {
		return 0, nil, err
	}
	for _, ns := range words[1 : 1+repeat] {
		took = append(took, time.Duration(ns))
	}
	for i, s := range m.Slots {
		if s.Var != nil {
			*args[i].Scalar = words[1+repeat+i]
			continue
		}
		b := args[i].Array
		data := make([]byte, b.Len()*b.Elem.Size())
		if _, err := io.ReadFull(from, data); err != nil {
			return 0, nil, fmt.Errorf("array %s is cut off: %w", s.Array.Name, err)
		}
		for k := range b.Len() {
			readElement(b, k, data[k*b.Elem.Size():])
		}
	}
	return words[0], took, nil
}

func readElement(b *ir.Buffer, k int, data []byte) {
	switch b.Elem {
	case dtype.F32:
		b.Float[k] = float64(math.Float32frombits(binary.NativeEndian.Uint32(data)))
	case dtype.F64:
		b.Float[k] = math.Float64frombits(binary.NativeEndian.Uint64(data))
	case dtype.F16, dtype.BF16:
		b.Float[k] = float64(dtype.FromHalfBits(b.Elem, binary.NativeEndian.Uint16(data)))
	case dtype.C64:
		part := func(at int) float64 { return float64(math.Float32frombits(binary.NativeEndian.Uint32(data[at:]))) }
		b.Complex[k] = complex(part(0), part(4))
	case dtype.C128:
		part := func(at int) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(data[at:])) }
		b.Complex[k] = complex(part(0), part(8))
	case dtype.Bool, dtype.U8:
		b.Int[k] = int64(data[0])
	case dtype.I8:
		b.Int[k] = int64(int8(data[0]))
	case dtype.I16:
		b.Int[k] = int64(int16(binary.NativeEndian.Uint16(data)))
	case dtype.I32:
		b.Int[k] = int64(int32(binary.NativeEndian.Uint32(data)))
	default:
		b.Int[k] = int64(binary.NativeEndian.Uint64(data))
	}
}
