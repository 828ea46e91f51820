package codegen

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"libsparse/libsparse/dtype"
	"libsparse/libsparse/ir"
)

// vectorLibrary is the path of libmvec, the part of glibc that computes functions of math.h on vectors of x86, to within four units in the
// last place. It is empty where there is none, or one from before glibc 2.35, which lacks most functions.
var vectorLibrary = sync.OnceValue(func() string {
	if runtime.GOARCH != "amd64" {
		return ""
	}
	for _, folder := range libraryFolders() {
		if path := filepath.Join(folder, "libmvec.so.1"); defines(path, vectorFunction("tanh", ir.Type{Elem: dtype.F32, Lanes: 16})) {
			return path
		}
	}
	return ""
})

// libraryFolders is the folder of the C library that this process has loaded, or where Linux keeps it if the process has none.
func libraryFolders() []string {
	if maps, err := os.Open("/proc/self/maps"); err == nil {
		defer func() { _ = maps.Close() }() // nothing was written
		for lines := bufio.NewScanner(maps); lines.Scan(); {
			if _, path, ok := strings.Cut(lines.Text(), "/"); ok && filepath.Base(path) == "libc.so.6" {
				return []string{"/" + filepath.Dir(path)}
			}
		}
	}
	return []string{"/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"}
}

// defines reports whether the shared object at path defines a symbol.
func defines(path, symbol string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // nothing was written
	symbols, err := file.DynamicSymbols()
	return err == nil && slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == symbol })
}

// vectorFunction is the name in vectorLibrary of an operator on vectors of type t, by the System V ABI for vector functions.
func vectorFunction(op dtype.Op, t ir.Type) string {
	width := map[int]string{16: "b", 32: "d", 64: "e"}[t.Lanes*t.Elem.Size()]
	name, _ := libraryFunction(op, t.Elem)
	return "_ZGV" + width + "N" + strconv.Itoa(t.Lanes) + strings.Repeat("v", op.Arity()) + "_" + name
}

// computesOnVector reports whether op on a single value of type t is computed on a vector, so that it has the bits that it has in loops over vectors:
// gradients of maxima compare terms with the greatest of them, which another loop has found.
func (e *emitter) computesOnVector(op dtype.Op, t ir.Type) bool {
	if t.Lanes != 1 || !op.Approximates() {
		return false
	}
	return op == "exp" && t.Elem == dtype.F32 || e.opts.FunctionBytes > 0 && inVectorLibrary(op, t.Elem)
}

// oneOfVector is the C text of op on single values of type t: the first lane of a vector that has them in all lanes.
func (e *emitter) oneOfVector(op dtype.Op, t ir.Type, values ...ir.Expr) string {
	long := ir.Type{Elem: t.Elem, Lanes: max(e.opts.FunctionBytes, 16) / t.Elem.Size()}
	e.uses.vector(long)
	arguments := make([]string, len(values))
	for k, x := range values {
		arguments[k] = fmt.Sprintf("%s(%s)", e.uses.helper("splat", long), e.value(x))
	}
	return fmt.Sprintf("%s(%s)[0]", e.uses.helper(string(op), long), strings.Join(arguments, ", "))
}

// longerText is the body of a function of one or two vectors that is computed on longer ones.
var longerText = map[int]string{
	1: `    __attribute__((const)) LONG FUNCTION(LONG);
    LONG longer;
    for (int lane = 0; lane < COUNT; lane++) {
        longer[lane] = x[lane % WIDTH];
    }
    longer = FUNCTION(longer);
    for (int lane = 0; lane < WIDTH; lane++) {
        x[lane] = longer[lane];
    }
    return x;`,
	2: `    __attribute__((const)) LONG FUNCTION(LONG, LONG);
    LONG longer, other;
    for (int lane = 0; lane < COUNT; lane++) {
        longer[lane] = x[lane % WIDTH];
        other[lane] = y[lane % WIDTH];
    }
    longer = FUNCTION(longer, other);
    for (int lane = 0; lane < WIDTH; lane++) {
        x[lane] = longer[lane];
    }
    return x;`,
}

// lanewise is the template of a function on vectors of type t. Where longer is not 0, it is computed on vectors of so many lanes, in which the values
// are repeated: others could take long.
func lanewise(op dtype.Op, t ir.Type, longer int) string {
	if op == "exp" && t.Elem == dtype.F32 {
		return exponential(t)
	}
	name, library := libraryFunction(op, t.Elem)
	size := t.Lanes * t.Elem.Size()
	text := "    for (int lane = 0; lane < WIDTH; lane++) {\n        x[lane] = FUNCTION(x[lane]);\n    }\n    return x;"
	if !library { // the absolute value of an integer
		text = strings.Replace(text, "FUNCTION(x[lane])", "x[lane] < 0 ? (ELEMENT)-x[lane] : x[lane]", 1)
	}
	text = strings.ReplaceAll(text, "FUNCTION", name)
	switch {
	case longer > 0:
		long := ir.Type{Elem: t.Elem, Lanes: longer}
		called := strings.NewReplacer("LONG", vectorName(long), "COUNT", strconv.Itoa(longer), "FUNCTION", vectorFunction(op, long)).Replace(longerText[op.Arity()])
		text = passed(longer*t.Elem.Size(), called, text)
	case op.Approximates() && size >= 16 && size <= 64:
		text = passed(size, strings.ReplaceAll("    __attribute__((const)) VECTOR FUNCTION(VECTOR);\n    return FUNCTION(x);", "FUNCTION", vectorFunction(op, t)), text)
	}
	parameters := "VECTOR x"
	if op.Arity() == 2 {
		parameters = "VECTOR x, VECTOR y"
		text = strings.NewReplacer("(VECTOR)", "(VECTOR, VECTOR)", "(x)", "(x, y)", "(x[lane])", "(x[lane], y[lane])").Replace(text)
	}
	return "static inline VECTOR NAME(" + parameters + ")\n{\n" + text + "\n}\n"
}

// passed is text that calls a function of vectors of so many bytes, and other text where the C compiler is kept from the registers in which they are passed.
func passed(bytes int, text, other string) string {
	if bytes == 16 { // which all x86 of 64 bits have
		return text
	}
	return "#if defined " + vectorMacros[bytes] + "\n" + text + "\n#else\n" + other + "\n#endif"
}
