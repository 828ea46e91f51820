package codegen

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"libsparse/libsparse/diag"
)

// compileLimit bounds one run of the C compiler.
const compileLimit = 60 * time.Second

// Compiler is an identified C compiler.
type Compiler struct {
	Path    string // absolute
	Version string // the first line of --version
	search  string // the list of folders it finds its own tools in
	level   Level  // what it compiles for; empty for this machine
}

// Clang reports whether c is clang, whose OpenMP code needs another runtime than gcc's.
func (c *Compiler) Clang() bool { return strings.Contains(strings.ToLower(c.Version), "clang") }

// For is c as a compiler for every processor that has the instructions of a level, or for this machine if that is empty. What it
// builds for a level leaves it to the process which OpenMP runtime there is.
func (c *Compiler) For(level Level) *Compiler {
	other := *c
	other.level = level
	return &other
}

// Identity is text that changes when the compiler does, for cache keys.
func (c *Compiler) Identity() string { return c.Path + "\n" + c.Version }

// Toolchain finds C compilers and remembers their versions. The zero value is ready, and safe for concurrent use.
type Toolchain struct {
	mu    sync.Mutex
	known map[stamp]string
}

// stamp identifies the file of a compiler.
type stamp struct {
	path     string
	modified time.Time
	size     int64
}

// Find returns the compiler at explicit if that is not empty, else the first of cc, gcc and clang in the folders of
// the list path. With wantGCC, a clang is taken only if there is no gcc.
func (t *Toolchain) Find(ctx context.Context, explicit, path string, wantGCC bool) (*Compiler, error) {
	if explicit != "" {
		full, ok := locate(explicit, path)
		if !ok {
			return nil, diag.Errorf(diag.Toolchain, "the C compiler %s does not exist or can't be executed; give the path of gcc or clang", explicit)
		}
		return t.identify(ctx, full, path)
	}
	var second *Compiler
	var failure error
	for _, name := range []string{"cc", "gcc", "clang"} {
		full, ok := locate(name, path)
		if !ok {
			continue
		}
		c, err := t.identify(ctx, full, path)
		switch {
		case err != nil:
			failure = err
		case !wantGCC || !c.Clang():
			return c, nil
		case second == nil:
			second = c
		}
	}
	switch {
	case second != nil:
		return second, nil
	case failure != nil:
		return nil, failure
	}
	return nil, diag.Errorf(diag.Toolchain, "no C compiler was found, and this kernel has not been compiled before: "+
		"install gcc (Debian and Ubuntu: apt install gcc libc6-dev; Fedora: dnf install gcc) or name one").
		WithDetail("looked for cc, gcc and clang in: " + path)
}

// locate is the absolute path of an executable: name itself if it has a slash, else as found in the list path.
func locate(name, path string) (string, bool) {
	if strings.ContainsRune(name, '/') {
		full, err := filepath.Abs(name)
		return full, err == nil && executable(full)
	}
	for _, dir := range filepath.SplitList(path) {
		if full := filepath.Join(dir, name); filepath.IsAbs(full) && executable(full) {
			return full, true
		}
	}
	return "", false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// identify asks the compiler for its version, once for every state of its file.
func (t *Toolchain) identify(ctx context.Context, path, search string) (*Compiler, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, diag.Errorf(diag.Toolchain, "the C compiler %s can't be read: %v", path, err)
	}
	key := stamp{path: path, modified: info.ModTime(), size: info.Size()}
	t.mu.Lock()
	version, ok := t.known[key]
	t.mu.Unlock()
	if !ok {
		output, err := Invoke(ctx, "", search, path, "--version")
		if err != nil {
			return nil, err
		}
		version, _, _ = strings.Cut(strings.TrimSpace(output), "\n")
		t.mu.Lock()
		if t.known == nil {
			t.known = map[stamp]string{}
		}
		t.known[key] = version
		t.mu.Unlock()
	}
	return &Compiler{Path: path, Version: version, search: search}, nil
}
