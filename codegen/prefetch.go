package codegen

import "libsparse/libsparse/ir"

// prefetchBytes is how much a hint stands for: processors fetch lines in pairs. lineBytes is a line: those of a stream are asked for one by one.
const prefetchBytes, lineBytes = 128, 64

func (e *emitter) prefetch(s *ir.Prefetch) {
	size, bytes := int64(s.Array.Elem.Size()), int64(prefetchBytes)
	if s.Beyond {
		bytes = lineBytes
	}
	for at := int64(0); at < s.Count; at += max(1, bytes/size) {
		index := e.index(ir.SimplifyExpr(ir.Add(s.Index, ir.Const(at))))
		if s.Beyond { // a pointer behind the end of an array may not be formed, a number may
			e.line("__builtin_prefetch((const void *)((uint64_t)%s + %d * (uint64_t)(%s)));", name(s.Array.Name), size, index)
			continue
		}
		e.line("__builtin_prefetch(&%s[%s]);", name(s.Array.Name), index)
	}
}
