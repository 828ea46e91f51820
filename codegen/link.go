package codegen

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// linking is how an object becomes a kernel: one small segment is quicker to link and to map than several.
var linking = []string{"-shared", "-z", "noseparate-code", "-z", "norelro"}

// link makes the shared object object of the objects that c has compiled. Most kernels need nothing but memory and threads, and are linked
// without the compiler's driver, which takes three times as long.
func (c *Compiler) link(ctx context.Context, compiled []string, object, openmp string) error {
	tmp := filepath.Dir(object)
	special := func(compiled string) bool { return !plain(compiled) }
	if linker, ok := locate("ld", c.search); ok && openmp != "" && !slices.ContainsFunc(compiled, special) {
		args := append(append(slices.Clone(linking), "-o", object), compiled...)
		if c.threads(openmp) {
			args = append(args, "--as-needed", openmp)
		}
		if _, err := Invoke(ctx, tmp, c.search, linker, args...); err == nil {
			return nil
		}
	}
	args := []string{"-shared", "-fPIC", "-nostartfiles", "-Wl," + strings.Join(linking[1:], ","), "-o", object}
	args = append(args, compiled...)
	if library := vectorLibrary(); library != "" && c.level == "" {
		args = append(args, "-Wl,--as-needed", library)
	}
	switch {
	case c.level != "":
		args = append(args, "-nostdlib", "-Wl,--as-needed", "-lm", "-lgcc")
	case openmp == "" && c.threads(openmp):
		args = append(args, "-fopenmp", "-Wl,--as-needed", "-lm")
	case !c.threads(openmp):
		args = append(args, "-Wl,--as-needed", "-lm")
	case c.Clang():
		args = append(args, openmp, "-Wl,--as-needed", "-lm")
	default:
		// Looking through the C library for a few functions that every process has takes longer than all the rest.
		args = append(args, openmp, "-nostdlib", "-Wl,--as-needed", "-lm", "-lgcc")
	}
	_, err := Invoke(ctx, tmp, c.search, c.Path, args...)
	return err
}

// plain reports whether an object calls nothing but functions of the OpenMP runtime, and those of the C library that have one
// version.
func plain(object string) bool {
	content, err := os.ReadFile(object)
	if err != nil {
		return false
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return false
	}
	symbols, err := file.Symbols()
	return err == nil && !slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		return s.Section == elf.SHN_UNDEF && !everywhere(s.Name)
	})
}

// everywhere reports whether a symbol is in every process that runs kernels.
func everywhere(symbol string) bool {
	switch symbol {
	case "", "_GLOBAL_OFFSET_TABLE_", "malloc", "aligned_alloc", "calloc", "realloc", "free", "memset", "memcpy", "memmove":
		return true
	}
	return strings.HasPrefix(symbol, "GOMP_") || strings.HasPrefix(symbol, "omp_") || strings.HasPrefix(symbol, "__kmpc_")
}
