package codegen

import (
	"strconv"
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// stream writes a store that goes past the caches where the processor has one.
func (e *emitter) stream(s *ir.Store, t ir.Type) {
	value := e.valueAs(s.Value, t)
	e.line("%s(&%s[%s], %s);", e.uses.helper("stream", t), name(s.Array.Name), e.index(s.Index), value)
}

// drain writes a wait for what was streamed.
func (e *emitter) drain(s *ir.Drain) {
	e.line("if (%s) {", e.value(s.If))
	e.line("    %s();", e.uses.helper("drain", ir.Type{}))
	e.line("}")
}

// vectorMacros are what C compilers define where they compile for x86 with vector registers of so many bytes.
var vectorMacros = map[int]string{16: "__SSE2__", 32: "__AVX__", 64: "__AVX512F__"}

// streamText is the helper of a streaming store of a vector.
func (h helper) streamText() string {
	instruction := map[dtype.T]string{dtype.F32: "movntps", dtype.F64: "movntpd"}[h.t.Elem]
	bytes := h.t.Lanes * h.t.Elem.Size()
	if bytes > 16 { // those of the first vectors have no number
		instruction += strconv.Itoa(8 * bytes)
	}
	return strings.NewReplacer("MACRO", vectorMacros[bytes], "ELEMENT", elemType(h.t.Elem), "VECTOR", vectorName(h.t), "NAME", h.name(), "INSTRUCTION", instruction).Replace(
		`static inline void NAME(ELEMENT *to, VECTOR value)
{
#if defined MACRO && !defined __clang__
    __builtin_ia32_INSTRUCTION(to, value);
#else
    *(VECTOR *)to = value;
#endif
}
`)
}

const drainText = `static inline void drain(void)
{
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}
`
