package codegen

import (
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"libsparse/libsparse/diag"
)

// Flags is how c compiles a kernel against the OpenMP runtime with the absolute path openmp, without input and
// output: part of the cache key. An empty openmp stands for the compiler's own runtime.
//
// Integers wrap, as in torch. Floats are contracted to fused multiply-adds, in every loop, but otherwise as written: so two kernels that sum in
// the same order give the same bits.
func (c *Compiler) Flags(openmp string) []string {
	flags := []string{
		"-O2", "-std=gnu11", "-march=" + cmp.Or(string(c.level), "native"), "-fPIC", "-fwrapv", "-fno-math-errno", "-fno-trapping-math",
		"-ffp-contract=fast", "-Wno-psabi", "-pipe",
		"-fno-asynchronous-unwind-tables", // no exception passes through a kernel
		"-falign-loops=64",                // a loop of 90 bytes takes a fifth longer where it lies in three lines of code instead of two
	}
	if !c.Clang() {
		// Passes that take a quarter of the time of -O2 and find nothing in loops as plain as these.
		flags = append(flags, "-fno-tree-vrp", "-fno-thread-jumps", "-fno-tree-pre", "-fno-code-hoisting", "-fno-ipa-icf", "-fno-ipa-cp")
		flags = append(flags, "--param=avoid-fma-max-bits=0") // tuned for some processors, gcc leaves sums in loops alone and contracts others
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

// worthParts is how many bytes of C are worth a compiler for each processor: one takes 20 ms to begin.
const worthParts = 8000

// compile makes objects in the folder dir, which together have the functions of the C file source.
func (c *Compiler) compile(ctx context.Context, source, dir, openmp string) (objects []string, err error) {
	files := []string{source}
	if text, err := os.ReadFile(source); err == nil && len(text) >= worthParts && c.level == "" {
		if several := parts(string(text), runtime.GOMAXPROCS(0)); len(several) > 1 {
			files = nil
			for k, part := range several {
				files = append(files, filepath.Join(dir, fmt.Sprintf("part%d.c", k)))
				if err := os.WriteFile(files[k], []byte(part), 0o600); err != nil {
					return nil, diag.Errorf(diag.Toolchain, "a part of the kernel's C can't be written: %v", err)
				}
			}
		}
	}
	failures := make([]error, len(files))
	var compiling sync.WaitGroup
	for k, file := range files {
		objects = append(objects, filepath.Join(dir, filepath.Base(file)+".o"))
		compiling.Go(func() {
			args := append(c.Flags(openmp), "-c", "-o", objects[k], file)
			_, failures[k] = Invoke(ctx, dir, c.search, c.Path, args...)
		})
	}
	compiling.Wait()
	return objects, cmp.Or(failures...)
}

// Build compiles the C file source to the shared object object, which depends on the OpenMP runtime at openmp alone. It leaves other
// files beside the object.
func (c *Compiler) Build(ctx context.Context, source, object, openmp string) error {
	if _, err := os.Stat(openmp); openmp != "" && err != nil {
		return diag.Errorf(diag.Toolchain, "the OpenMP runtime %s can't be read: %v", openmp, err)
	}
	compiled, err := c.compile(ctx, source, filepath.Dir(object), openmp)
	if err != nil {
		return err
	}
	if err := c.link(ctx, compiled, object, openmp); err != nil {
		return err
	}
	if _, err := os.Stat(object); err != nil {
		return diag.Errorf(diag.Toolchain, "%s made no object: it is no C compiler; set LIBSPARSE_CC to the path of gcc or clang", c.Path)
	}
	if err := whole(object); err != nil {
		return diag.Errorf(diag.Toolchain, "%s reported no error and made an object that is not whole: %v; see whether the disk is full, "+
			"or set LIBSPARSE_CC to the path of gcc or clang", c.Path, err)
	}
	return nil
}

// whole says why a shared object can't be one that a linker has written to its end.
func whole(object string) error {
	f, err := elf.Open(object)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	_, err = f.DynamicSymbols()
	return err
}
