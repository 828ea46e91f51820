package codegen

import (
	"cmp"
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
		"-O2", "-std=gnu11", "-march=" + cmp.Or(string(c.level), "native"), "-fPIC", "-fwrapv", "-fno-math-errno", "-fno-trapping-math",
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

// threads reports whether code of c can run on the runtime openmp: clang's can't on gcc's.
func (c *Compiler) threads(openmp string) bool {
	return !c.Clang() || openmp == "" || !strings.Contains(filepath.Base(openmp), "gomp")
}

// Build compiles the C file source to the shared object object, which depends on the OpenMP runtime at openmp alone. It leaves other
// files beside the object.
func (c *Compiler) Build(ctx context.Context, source, object, openmp string) error {
	if _, err := os.Stat(openmp); openmp != "" && err != nil {
		return diag.Errorf(diag.Toolchain, "the OpenMP runtime %s can't be read: %v", openmp, err)
	}
	compiled := object + ".o"
	args := append(c.Flags(openmp), "-c", "-o", compiled, source)
	if _, err := Invoke(ctx, filepath.Dir(object), c.search, c.Path, args...); err != nil {
		return err
	}
	if err := c.link(ctx, compiled, object, openmp); err != nil {
		return err
	}
	if _, err := os.Stat(object); err != nil {
		return diag.Errorf(diag.Toolchain, "%s made no object: it is no C compiler; set LIBSPARSE_CC to the path of gcc or clang", c.Path)
	}
	return nil
}
