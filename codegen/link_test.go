package codegen_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLink links what the C library has in several versions to that, and the rest to nothing.
func TestLink(t *testing.T) {
	c := compiler(t)
	dir := t.TempDir()
	runtime := filepath.Join(dir, "libgomp.so.1")
	source := filepath.Join(dir, "kernel.c")
	compile := func(text, object, openmp string) []string {
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Build(t.Context(), source, object, openmp); err != nil {
			t.Fatal(err)
		}
		return needed(t, object)
	}
	compile("void GOMP_parallel(void) {}\n", runtime, "")
	object := filepath.Join(dir, "kernel.so")
	if libraries := compile("void *malloc(__SIZE_TYPE__);\nvoid *f(void) { return malloc(3); }\n", object, runtime); len(libraries) > 0 {
		t.Error("a kernel without a library needs", libraries)
	}
	libraries := compile("float expf(float);\nfloat f(float x) { return expf(x); }\n", object, runtime)
	if !slices.ContainsFunc(libraries, func(name string) bool { return strings.HasPrefix(name, "libm.") }) {
		t.Error("expf of", libraries)
	}
}
