// Package process runs loop programs as compiled C in a process of their own, without cgo: for the command line, and for
// tests that compare C with the interpreter. It is no way to call a kernel often, since every call copies all arrays.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"libsparse/codegen"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/ir"
)

// Options changes how a unit is compiled.
type Options struct {
	// Flags are those of the C compiler, given the C.
	Flags func(source string) []string
	// FailingMalloc makes calls fail at the allocation that Limits says.
	FailingMalloc bool
}

// Unit is one or many modules, compiled to one executable.
type Unit struct {
	modules []*ir.Module
	file    string
	// Source is the emitted C, without the main function.
	Source string
}

// Compile verifies, emits and compiles modules by the C compiler cc, into the folder dir.
func Compile(ctx context.Context, cc, dir string, modules []*ir.Module, opts Options) (*Unit, error) {
	for _, m := range modules {
		if err := ir.Verify(m); err != nil {
			return nil, err
		}
	}
	source, err := codegen.EmitUnit(modules, symbol, codegen.Options{})
	if err != nil {
		return nil, err
	}
	u := &Unit{modules: modules, file: filepath.Join(dir, "kernels"), Source: source}
	before := ""
	if opts.FailingMalloc {
		before = failingMalloc
	}
	if err := os.WriteFile(u.file+".c", []byte(before+source+harness(modules)), 0o600); err != nil {
		return nil, diag.Errorf(diag.Toolchain, "the C source can't be written: %v", err)
	}
	args := append(slices.Clone(opts.Flags(source)), "-o", u.file, u.file+".c", "-lm")
	if _, err := codegen.Invoke(ctx, dir, os.Getenv("PATH"), cc, args...); err != nil {
		return nil, err
	}
	return u, nil
}

// Limits of one call.
type Limits struct {
	// Repeat is how often the functions are called; 0 means once.
	Repeat int
	// FailAt is the number of the allocation that fails, counted from 1; 0 for none.
	FailAt int
}

// Process is a running unit, which serves one call after the other.
type Process struct {
	unit    *Unit
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	printed bytes.Buffer
}

// Start starts a process; Close ends it.
func (u *Unit) Start(ctx context.Context) (*Process, error) {
	p := &Process{unit: u, cmd: exec.CommandContext(ctx, u.file)}
	p.cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=1")
	p.cmd.Stderr = &p.printed
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

// Call calls functions of module k, one after the other while their status is OK, on args, which it updates in place. It returns
// the last status, and how long each repetition took. A process is of no use after an error.
func (p *Process) Call(k int, functions []string, args []ir.Arg, limits Limits) (status int64, took []time.Duration, err error) {
	m := p.unit.modules[k]
	repeat := max(limits.Repeat, 1)
	input := appendInt(appendInt(appendInt(appendInt(nil, int64(k), 8), int64(repeat), 8), int64(limits.FailAt), 8), int64(len(functions)), 8)
	for _, name := range functions {
		at := slices.IndexFunc(m.Funcs, func(f *ir.Func) bool { return f.Name == name })
		if at < 0 {
			return 0, nil, fmt.Errorf("the module has no function %s", name)
		}
		input = appendInt(input, int64(at), 8)
	}
	slots, err := encode(m, args)
	if err != nil {
		return 0, nil, err
	}
	if _, err := p.in.Write(append(input, slots...)); err != nil {
		return 0, nil, p.failure(k, err)
	}
	if status, took, err = decode(m, p.out, repeat, args); err != nil {
		return 0, nil, p.failure(k, err)
	}
	return status, took, nil
}

// failure ends the process and says why a call of module k failed.
func (p *Process) failure(k int, err error) error {
	if ended := p.Close(); ended != nil {
		err = ended
	}
	source, emitErr := codegen.Emit(p.unit.modules[k], codegen.Options{})
	if emitErr != nil {
		return emitErr
	}
	return fmt.Errorf("%w\n%s", err, source)
}

// Close ends the process, and says what sanitizers found at the end.
func (p *Process) Close() error {
	_ = p.in.Close() // the process may have ended by itself
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the compiled kernel: %w%s\n%s", err, signalled(err), p.printed.String())
	}
	return nil
}

// signalled says that a process ended by running out of memory, as far as that can be told.
func signalled(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() && s.Signal() == syscall.SIGKILL {
			return " (perhaps for want of memory)"
		}
	}
	return ""
}

// Run calls functions of module k in a process of its own, as Process.Call does.
func (u *Unit) Run(ctx context.Context, k int, functions []string, args []ir.Arg, limits Limits) (status int64, took []time.Duration, err error) {
	p, err := u.Start(ctx)
	if err != nil {
		return 0, nil, err
	}
	if status, took, err = p.Call(k, functions, args, limits); err != nil {
		return 0, nil, err
	}
	return status, took, p.Close()
}
