package codegen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"libsparse/libsparse/dtype"
)

// declarations are those of the C library that emitted code may use, by name. The system's headers have them too, but take a C
// compiler longer to read than a kernel does.
var declarations = func() map[string]string {
	found := map[string]string{
		"malloc":        "void *malloc(__SIZE_TYPE__);",
		"aligned_alloc": "void *aligned_alloc(__SIZE_TYPE__, __SIZE_TYPE__);",
		"calloc":        "void *calloc(__SIZE_TYPE__, __SIZE_TYPE__);",
		"realloc":       "void *realloc(void *, __SIZE_TYPE__);",
		"free":          "void free(void *);",
		"memset":        "void *memset(void *, int, __SIZE_TYPE__);",
		"memcpy":        "void *memcpy(void *restrict, const void *restrict, __SIZE_TYPE__);",
		"size_t":        "typedef __SIZE_TYPE__ size_t;",
		"NULL":          "#define NULL ((void *)0)",

		"omp_get_thread_num":  "int omp_get_thread_num(void);",
		"omp_get_num_threads": "int omp_get_num_threads(void);",

		"copysign":  "double copysign(double, double);",
		"copysignf": "float copysignf(float, float);",
		"INT64_C":   "#define INT64_C(x) x##L",
		"INT32_MIN": "#define INT32_MIN (-__INT32_MAX__ - 1)",
		"INT64_MIN": "#define INT64_MIN (-__INT64_MAX__ - 1)",
	}
	for _, bits := range []int{8, 16, 32, 64} {
		found[fmt.Sprintf("int%d_t", bits)] = fmt.Sprintf("typedef __INT%d_TYPE__ int%[1]d_t;", bits)
		found[fmt.Sprintf("uint%d_t", bits)] = fmt.Sprintf("typedef __UINT%d_TYPE__ uint%[1]d_t;", bits)
	}
	for op, f := range libraryFunctions {
		if f.real == "" {
			continue
		}
		for _, t := range []dtype.T{dtype.F32, dtype.F64} {
			name, _ := libraryFunction(op, t)
			parameters := strings.Repeat(", "+elemType(t), op.Arity())[2:]
			found[name] = fmt.Sprintf("%s %s(%s);", elemType(t), name, parameters)
		}
	}
	return found
}()

// declared is the declarations of what text names.
func declared(text string) string {
	lines := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if line, ok := declarations[word]; ok {
			lines[line+"\n"] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(lines)), "")
}
