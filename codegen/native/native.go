// Package native is the backend for the processor of this machine: C, built by the machine's C compiler.
//
// It must not emit code or run compilers itself: package codegen does, and codegen/process runs what it makes.
package native

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"libsparse/codegen"
	"libsparse/codegen/process"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/ir"
)

// C is the backend. Its methods VectorBytes and Vectorizes are those of its target.
type C struct {
	ir.Target
	compilers codegen.Toolchain
}

// New is the backend for this machine.
func New() *C { return &C{Target: codegen.Host()} }

// ForLevel is the backend for processors of a level, by its name.
func ForLevel(name string) *C { return For(codegen.Level(name).Target()) }

// For is the backend for a target that may not be this machine, to look at what is emitted for it.
func For(t codegen.Target) *C { return &C{Target: t} }

// Emit is m as C.
func (c *C) Emit(m *ir.Module) (string, error) {
	options := codegen.Options{}
	if machine, ok := c.Target.(codegen.Machine); ok {
		options.FunctionBytes = machine.FunctionBytes()
	}
	return codegen.Emit(m, options)
}

// Toolchain finds a C compiler.
func (c *C) Toolchain(ctx context.Context, t backend.Tools) (backend.Toolchain, error) {
	cc, err := c.find(ctx, t)
	if err != nil {
		return nil, err
	}
	return &toolchain{cc.For(codegen.Level(t.Level)), t.Threads}, nil
}

// find prefers gcc where the process has loaded gcc's runtime for OpenMP, which code of other compilers can't use.
func (c *C) find(ctx context.Context, t backend.Tools) (*codegen.Compiler, error) {
	return c.compilers.Find(ctx, t.Compiler, t.Path, strings.Contains(filepath.Base(t.Threads), "gomp"))
}

// toolchain is a C compiler with a runtime for OpenMP.
type toolchain struct {
	cc     *codegen.Compiler
	openmp string
}

func (t *toolchain) Identity() []string {
	return []string{t.cc.Identity(), strings.Join(t.cc.Flags(t.openmp), " ")}
}

func (t *toolchain) Build(ctx context.Context, source, object string) error {
	return t.cc.Build(ctx, source, object, t.openmp)
}

// Load compiles m to an executable, which runs as a process of its own.
func (c *C) Load(ctx context.Context, t backend.Tools, dir string, m *ir.Module) (backend.Program, error) {
	cc, err := c.find(ctx, t)
	if err != nil {
		return nil, err
	}
	flags := slices.DeleteFunc(cc.Flags(""), func(f string) bool { return f == "-fPIC" })
	u, err := process.Compile(ctx, cc.Path, dir, []*ir.Module{m}, process.Options{Flags: func(string) []string { return flags }})
	if err != nil {
		return nil, err
	}
	return program{u}, nil
}

// program is an executable with one module.
type program struct{ unit *process.Unit }

func (p program) Run(ctx context.Context, functions []string, args []ir.Arg, repeat int) (int64, []time.Duration, error) {
	return p.unit.Run(ctx, 0, functions, args, process.Limits{Repeat: repeat})
}
