package lower

// reserved words can't name a variable in C. Names of the C library and of types are among them.
var reserved = []string{
	"slots", "failed", "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
	"for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
	"static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm", "typeof", "linux",
	"unix", "malloc", "calloc", "realloc", "free", "memset", "memcpy", "int8_t", "int16_t", "int32_t", "int64_t",
	"uint8_t", "main", "threads", "size_t", "ptrdiff_t", "NULL", "errno", "abs", "exp", "log", "sin", "cos", "y0", "y1",
	"j0", "j1", "jn", "yn", "gamma", "signgam",
}
