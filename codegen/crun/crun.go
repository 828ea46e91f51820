// Package crun runs loop programs as compiled C in tests, which compare C with the interpreter. It needs a C compiler; no
// package of the compiler imports it.
package crun

import (
	"strings"
	"testing"

	"libsparse/codegen/process"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/ir"
)

// Options changes how a module is compiled.
type Options struct {
	// Sanitize adds the address and undefined-behaviour sanitizers.
	Sanitize bool
	// Optimize compiles as kernels are compiled: with fused multiply-adds, whose rounding the interpreter lacks.
	Optimize bool
	// Quick leaves out every optimization, for many kernels.
	Quick bool
	// Warnings makes every warning of -Wall -Wextra an error.
	Warnings bool
	// Plain compiles for any processor of this kind, without the instructions of this one.
	Plain bool
	// FailingMalloc makes RunFailing possible.
	FailingMalloc bool
}

// Program is one or many modules compiled to an executable.
type Program struct {
	*process.Unit
	process *process.Process // of the Runners
}

// Run compiles m and calls its functions fns, one after the other while their status is OK, on args, which it updates
// in place. It returns the last status.
func Run(t testing.TB, m *ir.Module, fns []string, args []ir.Arg) int64 {
	t.Helper()
	return Compile(t, m, Options{}).Run(t, fns, args)
}

// Compile verifies, emits and compiles m.
func Compile(t testing.TB, m *ir.Module, opts Options) *Program {
	t.Helper()
	return CompileUnit(t, []*ir.Module{m}, opts)
}

// CompileUnit verifies, emits and compiles many modules as one file.
func CompileUnit(t testing.TB, modules []*ir.Module, opts Options) *Program {
	t.Helper()
	unit, err := process.Compile(t.Context(), "cc", t.TempDir(), modules, process.Options{
		Flags:         func(source string) []string { return flags(source, opts) },
		FailingMalloc: opts.FailingMalloc,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, diag.From(err).Detail)
	}
	return &Program{Unit: unit}
}

func flags(source string, opts Options) []string {
	list := []string{"-std=gnu11", "-fwrapv", "-Wno-psabi", "-pipe"}
	if !opts.Plain {
		list = append(list, "-march=native")
	}
	switch {
	case opts.Optimize:
		list = append(list, "-O2", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast")
	case opts.Sanitize, opts.Quick: // sanitizers take long to compile
		list = append(list, "-O0", "-ffp-contract=off")
	default:
		list = append(list, "-O1", "-ffp-contract=off")
	}
	if opts.Warnings {
		list = append(list, "-Wall", "-Wextra", "-Werror", "-Wno-error=sign-compare") // gcc 12 takes -(b + 1) of a bool for unsigned
	}
	if opts.Sanitize {
		list = append(list, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
	}
	if strings.Contains(source, "#pragma omp parallel") {
		return append(list, "-fopenmp")
	}
	return append(list, "-fopenmp-simd")
}

// Run calls functions of the only module, as the function Run does.
func (p *Program) Run(t testing.TB, fns []string, args []ir.Arg) int64 {
	t.Helper()
	return p.RunFailing(t, 0, fns, args)
}

// RunFailing is Run with the nth allocation of the kernel failing, counted from 1. The program must have been compiled
// with Options.FailingMalloc.
func (p *Program) RunFailing(t testing.TB, nth int, fns []string, args []ir.Arg) int64 {
	t.Helper()
	status, _, err := p.Unit.Run(t.Context(), 0, fns, args, process.Limits{FailAt: nth})
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// Runner runs functions of module k, all in one process, which is started at the first call. Close ends it.
func (p *Program) Runner(t testing.TB, k int) func(fn string, args []ir.Arg) (int64, error) {
	return func(fn string, args []ir.Arg) (int64, error) {
		if p.process == nil {
			var err error
			if p.process, err = p.Start(t.Context()); err != nil {
				return 0, err
			}
		}
		status, _, err := p.process.Call(k, []string{fn}, args, process.Limits{})
		return status, err
	}
}

// Close ends the process of the Runners, if there is one, and says what sanitizers found.
func (p *Program) Close() error {
	if p.process == nil {
		return nil
	}
	return p.process.Close()
}
