package codegen

import "libsparse/libsparse/ir"

// prefetchBytes is how much a hint stands for: processors fetch lines in pairs.
const prefetchBytes = 128

func (e *emitter) prefetch(s *ir.Prefetch) {
	size := int64(s.Array.Elem.Size())
	for at := int64(0); at < s.Count; at += max(1, prefetchBytes/size) {
		e.line("__builtin_prefetch(&%s[%s]);", name(s.Array.Name), e.index(ir.SimplifyExpr(ir.Add(s.Index, ir.Const(at)))))
	}
}
