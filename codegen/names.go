package codegen

import (
	"strings"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// ctype is the C name of t.
func ctype(t ir.Type) string {
	if t.Lanes > 1 {
		return vectorName(t)
	}
	return elemType(t.Elem)
}

// reserved are the identifiers that names of loop programs must not take in C: its keywords, names of the C library, and those
// that emitted code has for itself. No other package has to know them.
var reserved = func() map[string]bool {
	set := map[string]bool{}
	for _, word := range []string{
		"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
		"float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
		"sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm",
		"typeof", "linux", "unix", "slots", "status", "malloc", "aligned_alloc", "calloc", "realloc", "free", "memset", "memcpy",
		"allocate", "resize", "hash", "clear", "next_part", "size_t", "ptrdiff_t", "main", "NULL", "errno", "abs",
		"y0", "y1", "j0", "j1", "jn", "yn", "gamma", "signgam", "omp_get_thread_num", "omp_get_num_threads",
	} {
		set[word] = true
	}
	for _, c := range ctypes {
		set[c] = true
	}
	for _, f := range libraryFunctions {
		set[f.real], set[f.real+"f"] = true, true
	}
	return set
}()

// typed reports whether a part of n is the name of a type, as in the names of vector types and helper functions: f32x8, max_i64.
func typed(n string) bool {
	for part := range strings.SplitSeq(n, "_") {
		element, _, _ := strings.Cut(part, "x")
		if _, ok := dtype.Parse(element); ok {
			return true
		}
	}
	return false
}

// name is the C identifier of a name of a loop program. Different names have different identifiers. Compilers have words of their
// own that begin with an underscore, more than a list could have, and none of them ends like these.
func name(n string) string {
	if strings.HasPrefix(n, "_") {
		return n + "_v"
	}
	if reserved[strings.TrimRight(n, "_")] || typed(n) {
		return n + "_"
	}
	return n
}
