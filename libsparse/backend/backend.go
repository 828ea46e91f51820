// Package backend is the contract between loop programs and what turns them into code that runs.
//
// The stages before it know no backend but by this interface, and use no words or types of the language that it writes. C
// is the only one so far, codegen/native. One for LLVM would emit its IR as text, build it with clang or llc and load it as
// C does. One for CUDA would give threads a grid, refuse by Vectorizes what it has no vectors for, build with nvcc, and
// load by copying the arrays to the device and back; what the slots hold is then its own affair, as long as callers are told.
//
// It must not choose a backend: whoever makes a compiler does.
package backend

import (
	"context"
	"time"

	"libsparse/libsparse/ir"
)

// Backend turns loop programs into code for one kind of machine. Implementations are safe for concurrent use.
type Backend interface {
	// Target describes the machine to the passes: the width of its vectors, and what it computes on them.
	ir.Target
	// Emit is the text of a verified module. It is part of the cache key, so it may depend on the module and the target only.
	Emit(m *ir.Module) (string, error)
	// Toolchain finds what builds emitted text with the given tools.
	Toolchain(ctx context.Context, t Tools) (Toolchain, error)
	// Load builds m in the folder dir so that this process can call it without linking it: for the command line and tests.
	// Processes that call kernels often load the built object themselves.
	Load(ctx context.Context, t Tools, dir string, m *ir.Module) (Program, error)
}

// Tools are the parts of the machine that a build depends on; what is empty is looked for.
type Tools struct {
	// Compiler is the path of the compiler for the emitted text.
	Compiler string
	// Path is the list of folders in which compilers are looked for.
	Path string
	// Threads is the path of the runtime library for threads that the calling process has loaded.
	Threads string
	// Level names the instructions to build for in place of all that this machine has, for any process: Threads is then empty.
	Level string
}

// Toolchain builds emitted text.
type Toolchain interface {
	// Identity changes whenever a build of the same text would differ; it is part of the cache key.
	Identity() []string
	// Build makes the file object, with the functions of the module, of the emitted text in the file source.
	Build(ctx context.Context, source, object string) error
}

// Program is a loaded module.
type Program interface {
	// Run calls functions of the module one after the other while their status is OK, on args, which it updates in place. It
	// returns the last status. It calls them repeat times, at least once, and says how long each time took.
	Run(ctx context.Context, functions []string, args []ir.Arg, repeat int) (status int64, took []time.Duration, err error)
}
