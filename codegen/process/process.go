// Package process runs loop programs as compiled C in a process of their own, without cgo: for the command line, and for
// tests that compare C with the interpreter. It is no way to call a kernel often, since every call copies all arrays.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"libsparse/codegen"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/ir"
)

// Options changes how a module is compiled.
type Options struct {
	// Flags are those of the C compiler.
	Flags []string
	// FailingMalloc makes Run fail at the allocation that it is told.
	FailingMalloc bool
}

// Program is a module compiled to an executable.
type Program struct {
	module *ir.Module
	file   string
	Source string // the emitted C, without the main function
}

// Compile verifies, emits and compiles m by the C compiler cc, into the folder dir.
func Compile(ctx context.Context, cc, dir string, m *ir.Module, opts Options) (*Program, error) {
	if err := ir.Verify(m); err != nil {
		return nil, err
	}
	source, err := codegen.Emit(m, codegen.Options{})
	if err != nil {
		return nil, err
	}
	p := &Program{module: m, file: filepath.Join(dir, "kernel"), Source: source}
	before := ""
	if opts.FailingMalloc {
		before += failingMalloc
	}
	if err := os.WriteFile(p.file+".c", []byte(before+source+harness(m)), 0o600); err != nil {
		return nil, diag.Errorf(diag.Toolchain, "the C source can't be written: %v", err)
	}
	args := append(slices.Clone(opts.Flags), "-o", p.file, p.file+".c", "-lm")
	if _, err := codegen.Invoke(ctx, dir, os.Getenv("PATH"), cc, args...); err != nil {
		return nil, err
	}
	return p, nil
}

// Limits of one run.
type Limits struct {
	// Repeat is how often the functions are called; 0 calls them once without measuring.
	Repeat int
	// FailAt is the number of the allocation that fails, counted from 1; 0 for none.
	FailAt int
}

// Run calls functions of p, one after the other while their status is OK, on args, which it updates in place. It returns
// the last status, and how long each repetition took.
func (p *Program) Run(ctx context.Context, fns []string, args []ir.Arg, limits Limits) (status int64, took []time.Duration, err error) {
	input, err := encode(p.module, args)
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(ctx, p.file, fns...)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=1", fmt.Sprint("KERNEL_FAIL=", limits.FailAt))
	if limits.Repeat > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprint("KERNEL_REPEAT=", limits.Repeat))
	}
	var output, printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &printed
	if err := cmd.Run(); err != nil {
		return 0, nil, fmt.Errorf("the compiled kernel: %w%s\n%s\n%s", err, signalled(err), printed.String(), p.Source)
	}
	if status, err = decode(p.module, output.Bytes(), args); err != nil {
		return 0, nil, fmt.Errorf("the result of the compiled kernel: %w", err)
	}
	for _, line := range strings.Fields(printed.String()) {
		if ns, err := strconv.ParseInt(line, 10, 64); err == nil && limits.Repeat > 0 {
			took = append(took, time.Duration(ns))
		}
	}
	return status, took, nil
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
