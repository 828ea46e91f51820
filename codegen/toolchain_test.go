package codegen_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"libsparse/codegen"
	"libsparse/libsparse/diag"
)

const searchPath = "/usr/local/bin:/usr/bin:/bin"

// compiler is the C compiler of this machine.
func compiler(t testing.TB) *codegen.Compiler {
	t.Helper()
	c, err := (&codegen.Toolchain{}).Find(context.Background(), "", searchPath, true)
	if err != nil {
		t.Skip(err)
	}
	return c
}

func script(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	clang, gcc, broken := t.TempDir(), t.TempDir(), t.TempDir()
	clangPath := script(t, clang, "cc", "echo Debian clang version 14.0.6; echo more")
	gccPath := script(t, gcc, "gcc", "echo gcc 12.2.0")
	script(t, broken, "cc", "echo cannot run; exit 3")
	for _, c := range []struct {
		name, explicit, path string
		wantGCC              bool
		want                 string // path, or a part of the message
	}{
		{"first", "", clang + ":" + gcc, false, clangPath},
		{"gcc wanted", "", clang + ":" + gcc, true, gccPath},
		{"only clang", "", clang, true, clangPath},
		{"explicit path", gccPath, clang, true, gccPath},
		{"explicit name", "gcc", clang + ":" + gcc, false, gccPath},
		{"none", "", t.TempDir() + "::relative", false, "install gcc"},
		{"explicit absent", "/no/cc", gcc, false, "/no/cc does not exist"},
		{"broken", "", broken, false, "failed"},
		{"broken, then good", "", broken + ":" + gcc, false, gccPath},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := (&codegen.Toolchain{}).Find(context.Background(), c.explicit, c.path, c.wantGCC)
			if e := (*diag.Error)(nil); errors.As(err, &e) {
				if e.Kind != diag.Toolchain || !strings.Contains(e.Message, c.want) {
					t.Error(e.Kind, e.Message)
				}
			} else if err != nil || got.Path != c.want {
				t.Error(got, err)
			}
		})
	}
}

func TestIdentityIsRemembered(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	path := script(t, dir, "cc", "echo x >> "+count+"; echo one")
	var tools codegen.Toolchain
	find := func() *codegen.Compiler {
		c, err := tools.Find(context.Background(), path, dir, false)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	find()
	if c := find(); c.Version != "one" || c.Identity() != path+"\none" {
		t.Error(c)
	}
	if text, _ := os.ReadFile(count); string(text) != "x\n" {
		t.Errorf("asked %q", text)
	}
	script(t, dir, "cc", "echo second")
	if c := find(); c.Version != "second" {
		t.Error("a new compiler was not noticed")
	}
}

func TestBuildErrors(t *testing.T) {
	c := compiler(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "kernel.c")
	if err := os.WriteFile(source, []byte("int broken(\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := c.Build(context.Background(), source, filepath.Join(dir, "kernel.so"), "")
	if e := (*diag.Error)(nil); !errors.As(err, &e) || e.Kind != diag.Toolchain || !strings.Contains(e.Detail, "kernel.c:1") {
		t.Error(err)
	}
	err = c.Build(context.Background(), source, filepath.Join(dir, "kernel.so"), "/no/libgomp.so.1")
	if e := (*diag.Error)(nil); !errors.As(err, &e) || !strings.Contains(e.Message, "/no/libgomp.so.1") {
		t.Error(err)
	}
}

// TestPartOfAnObject has a compiler end without an error though the disk is full, say.
func TestPartOfAnObject(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "kernel.c")
	if err := os.WriteFile(source, []byte("int kernel_compute(long *slots) { return (int)*slots; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := *compiler(t)
	for _, bytes := range []string{"0", "100", "900"} {
		c.Path = script(t, dir, "cc"+bytes, `for a in "$@"; do test "$p" = -o && out=$a; p=$a; done
`+compiler(t).Path+` "$@" || exit
case "$out" in *.so) head -c `+bytes+` "$out" > "$out.part"; mv "$out.part" "$out";; esac
`)
		err := c.Build(t.Context(), source, filepath.Join(dir, "kernel.so"), "")
		if err == nil || !strings.Contains(err.Error(), "not whole") || diag.From(err).Kind != diag.Toolchain {
			t.Errorf("%s bytes: %v", bytes, err)
		}
	}
}

// TestOptionsOfClang gives clang no option that it doesn't know, whether or not it is there to ask.
func TestOptionsOfClang(t *testing.T) {
	known := []string{
		"-O2", "-std=gnu11", "-march=native", "-fPIC", "-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-Wno-psabi", "-pipe",
		"-fno-asynchronous-unwind-tables", "-falign-loops=64", "-fopenmp", "-fopenmp-simd",
	}
	clang := &codegen.Compiler{Path: "/usr/bin/clang", Version: "Debian clang version 14.0.6"}
	for _, openmp := range []string{"", "/lib/libgomp.so.1"} {
		for _, option := range clang.Flags(openmp) {
			if !slices.Contains(known, option) {
				t.Errorf("with the runtime %q: %s", openmp, option)
			}
		}
	}
}

// TestManyWarnings keeps the first of what a compiler prints.
func TestManyWarnings(t *testing.T) {
	dir := t.TempDir()
	out, err := codegen.Invoke(t.Context(), dir, searchPath, script(t, dir, "cc", "echo begin; yes warning | head -c 9000000\n"))
	if err != nil || !strings.HasPrefix(out, "begin\nwarning") || len(out) > 1<<16 {
		t.Error(len(out), err)
	}
}

// TestServer runs a compiler that leaves a server behind, which holds its output open.
func TestServer(t *testing.T) {
	dir := t.TempDir()
	out, err := codegen.Invoke(t.Context(), dir, searchPath, script(t, dir, "cc", "sleep 20 & echo done\n"))
	if err != nil || out != "done\n" {
		t.Error(out, err)
	}
}

// TestSilentFailure asks a compiler that fails without a word once more, and says so if it does again.
func TestSilentFailure(t *testing.T) {
	dir := t.TempDir()
	once := script(t, dir, "once", `test -e "$TMPDIR/tried" || { : > "$TMPDIR/tried"; exit 1; }`)
	if _, err := codegen.Invoke(t.Context(), dir, searchPath, once); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"silent": "exit 1", "loud": `test -e "$TMPDIR/heard" && exit 0; : > "$TMPDIR/heard"; echo wrong; exit 3`, "killed": "kill -9 $$",
	} {
		_, err := codegen.Invoke(t.Context(), dir, searchPath, script(t, dir, name, text))
		want := map[string]string{"silent": "exit status 1, twice, and it did not say why", "loud": "exit status 3", "killed": "want of memory"}[name]
		if err == nil || !strings.Contains(err.Error(), want) || diag.From(err).Kind != diag.Toolchain {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestCancelKillsTheGroup(t *testing.T) {
	dir := t.TempDir()
	path := script(t, dir, "cc", "if [ $1 = --version ]; then echo v; else sleep 100 & sleep 100; fi")
	c, err := (&codegen.Toolchain{}).Find(context.Background(), path, searchPath, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	err = c.Build(ctx, "x.c", filepath.Join(dir, "x.so"), "")
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Error(err, time.Since(start))
	}
}

// build compiles the SpMM kernel to an object.
func build(t testing.TB, c *codegen.Compiler, openmp string) string {
	t.Helper()
	source, err := codegen.Emit(spmm(64), codegen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, object := filepath.Join(dir, "kernel.c"), filepath.Join(dir, "kernel.so")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Build(context.Background(), file, object, openmp); err != nil {
		t.Fatal(err, err.(*diag.Error).Detail)
	}
	return object
}

// needed are the libraries that the object names.
func needed(t *testing.T, object string) (list []string) {
	t.Helper()
	out, err := exec.Command("readelf", "-d", object).Output()
	if err != nil {
		t.Skip(err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if _, name, ok := strings.Cut(line, "Shared library: ["); ok {
			list = append(list, strings.TrimSuffix(name, "]"))
		}
	}
	return list
}

// TestOneOpenMP links to a runtime of another name, as torch brings one, and expects no second one.
func TestOneOpenMP(t *testing.T) {
	c := compiler(t)
	if c.Clang() {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	stub := filepath.Join(dir, "stub.c")
	text := "void GOMP_parallel(void) {} void GOMP_loop_nonmonotonic_dynamic_start(void) {}\n" +
		"void GOMP_loop_nonmonotonic_dynamic_next(void) {} void GOMP_loop_end_nowait(void) {}\n"
	if err := os.WriteFile(stub, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	runtime := filepath.Join(dir, "libgomp-a34b3233.so.1")
	if out, err := exec.Command(c.Path, "-shared", "-fPIC", "-Wl,-soname,libgomp-a34b3233.so.1", "-o", runtime, stub).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	found := 0
	for _, lib := range needed(t, build(t, c, runtime)) {
		if strings.Contains(lib, "omp") {
			found++
			if lib != filepath.Base(runtime) {
				t.Error("depends on", lib)
			}
		}
	}
	if found != 1 {
		t.Error("OpenMP runtimes:", found)
	}
	if libs := strings.Join(needed(t, build(t, c, "")), " "); !strings.Contains(libs, "libgomp.so") {
		t.Error("without a runtime of its own:", libs)
	}
}

func BenchmarkCompile(b *testing.B) {
	c := compiler(b)
	for b.Loop() {
		build(b, c, "")
	}
}
