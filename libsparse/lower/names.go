package lower

import (
	"strconv"

	"libsparse/libsparse/index"
)

// namer hands out the names of one function's variables.
type namer struct{ used map[string]bool }

func newNamer(s *slots) *namer {
	n := &namer{used: map[string]bool{"slots": true, "failed": true}}
	for _, word := range reserved {
		n.used[word] = true
	}
	for _, slot := range s.slots {
		if slot.Var != nil {
			n.used[slot.Var.Name] = true
		} else {
			n.used[slot.Array.Name] = true
		}
	}
	return n
}

// fresh is name, with a number behind it if that is taken.
func (n *namer) fresh(name string) string {
	free := name
	for i := 2; n.used[free]; i++ {
		free = name + "_" + strconv.Itoa(i)
	}
	n.used[free] = true
	return free
}

func (n *namer) forVar(v index.Var) string { return n.fresh(string(v)) }

// reserved words can't name a variable in C. Names of the C library and of types are among them.
var reserved = []string{
	"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
	"for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
	"static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm", "typeof", "linux",
	"unix", "malloc", "calloc", "realloc", "free", "memset", "memcpy", "int8_t", "int16_t", "int32_t", "int64_t",
	"uint8_t", "main", "threads", "size_t", "ptrdiff_t", "NULL", "errno", "abs", "exp", "log", "sin", "cos", "y0", "y1",
	"j0", "j1", "jn", "yn", "gamma", "signgam",
}
