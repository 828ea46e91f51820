package codegen

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"libsparse/libsparse/diag"
)

// Flags is how c compiles a kernel against the OpenMP runtime with the absolute path openmp, without input and
// output: part of the cache key. An empty openmp stands for the compiler's own runtime.
//
// Integers wrap, as in torch. Floats are contracted to fused multiply-adds but otherwise as written.
func (c *Compiler) Flags(openmp string) []string {
	flags := []string{
		"-O2", "-std=gnu11", "-march=native", "-fPIC", "-shared", "-fwrapv", "-fno-math-errno", "-fno-trapping-math",
		"-ffp-contract=fast", "-Wno-psabi", "-pipe",
		// Passes that take a quarter of the time of -O2 and find nothing in loops as plain as these.
		"-fno-tree-vrp", "-fno-thread-jumps", "-fno-tree-pre", "-fno-code-hoisting", "-fno-ipa-icf", "-fno-ipa-cp",
		"-fno-asynchronous-unwind-tables", // no exception passes through a kernel
	}
	if c.threads(openmp) {
		return append(flags, "-fopenmp")
	}
	return append(flags, "-fopenmp-simd")
}

// linking is how an object becomes a kernel: nothing has to run when it is loaded, and one small segment is quicker to link
// and to map than several.
var linking = []string{"-nostartfiles", "-Wl,-z,noseparate-code", "-Wl,-z,norelro"}

// threads reports whether code of c can run on the runtime openmp: clang's can't on gcc's.
func (c *Compiler) threads(openmp string) bool {
	return !c.Clang() || openmp == "" || !strings.Contains(filepath.Base(openmp), "gomp")
}

// Build compiles the C file source to the shared object object. The object depends on the OpenMP runtime at openmp
// alone: --as-needed drops the one that the compiler driver adds for -fopenmp, as its symbols are found by then.
func (c *Compiler) Build(ctx context.Context, source, object, openmp string) error {
	if _, err := os.Stat(openmp); openmp != "" && err != nil {
		return diag.Errorf(diag.Toolchain, "the OpenMP runtime %s can't be read: %v", openmp, err)
	}
	args := append(c.Flags(openmp), linking...)
	args = append(args, "-o", object, source)
	switch {
	case openmp == "" || !c.threads(openmp):
		args = append(args, "-Wl,--as-needed", "-lm")
	case c.Clang():
		args = append(args, openmp, "-Wl,--as-needed", "-lm")
	default:
		// Looking through the C library for a few functions that every process has takes longer than all the rest.
		args = append(args, openmp, "-nostdlib", "-Wl,--as-needed", "-lm", "-lgcc")
	}
	if _, err := Invoke(ctx, filepath.Dir(object), c.search, c.Path, args...); err != nil {
		return err
	}
	if _, err := os.Stat(object); err != nil {
		return diag.Errorf(diag.Toolchain, "%s made no object: it is no C compiler; set LIBSPARSE_CC to the path of gcc or clang", c.Path)
	}
	return nil
}
