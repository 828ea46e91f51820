// Package command is the compiler as a program: compile an expression, explain how, run it, or compare all its loop nests.
//
// Package capi exports it, and a program of a few lines of C beside the library calls it there: for processes that can't load the
// library, such as forked children, and for people at a terminal. cmd/libsparse is the same without cgo. It must not do anything
// to its process but read and write.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"libsparse/codegen/native"
	"libsparse/libsparse"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/prices"
	"libsparse/libsparse/schedule"
)

// Version is that of the package, which the linker sets.
var Version = "dev"

const usage = `usage: libsparse COMMAND [EXPRESSION] [OPTIONS...]
  explain          print the stages of the compilation
  compile          compile into the cache, print the kernel's description
  run              compile and run; print what came out
  functions        print the functions that expressions can call
  formats          describe, as JSON, the kinds of levels and the names of formats
  frontier         print the loop nests that no other stays asymptotically below; -taco for those that TACO can run, -json
  candidates       print, as JSON, every schedule that the compiler can carry out; -plain for one an order of the loops
  pack             compile requests ahead of time, for the Python package: libsparse pack FOLDER BUILD LEVEL... <requests
  tune             search a space for the point with the least value: libsparse tune -space=FILE -command='./program {tile} "{order}"'
  prices           the cost of every order of the loops of many requests, for programs that fit the model's constants
  read, write      the entries of a tensor's file, as they are in memory: what the Python package calls in forked children
  version          print the version
  help             print this

An expression is an assignment such as "y(i) = A(i,j) * x(j)"; indices that are only on the right are summed. Without
one, explain and compile read a request as JSON from standard input, and explain takes the name of a stage.
  -f=A:ds          the format of A: d dense, s compressed, b bitmap, u compressed not unique, q and c singletons
  -f=A:ds:1,0      the same with the modes in the order 1, 0; or a name: csr csc dcsr dcsc coo csf dense ell dia bsr(4,4) sell(32)
  -t=A:f64         the type of A's values (f32): bool, u8 i8 i16 i32 i64, f16 bf16 f32 f64, c64 c128
  -d=i:1000        the extent of index i; explain and compile use it as far as the schedule depends on it (4096)
  -d=A:100x200     the extents of A
  -s="SCHEDULE"    what to do in place of what the compiler would choose; may be given several times
  -u=f(a,b):a*b    a function; with @ behind it the region where it has a value, as in -u=f(a,b):a@a&~b
  -stage=NAME      explain: only this stage
  -priors          schedule as if nobody had counted the entries of operands
run also takes
  -i=A:FILE        read A from a .mtx, .ttx, .tns or .rb file, perhaps with .gz; other operands are random
  -fill=A:0.01     the density of a random sparse operand (16 entries a row)
  -o=FILE          write the result to such a file
  -threads=N       the number of threads (1)
  -time=N          run N times and say how long it takes
  -check           compare with a dense evaluation
tune takes
  -space=FILE      a scenario as BaCO has it, JSON: the parameters, the constraints between them, and the budget
  -command=TEXT    what measures a point, with {name} for the values: the last word that is a number is the value, and a point
                   for which it ends with another status than 0 can't be measured. Without it, points are asked for and told
                   on standard input, a line of JSON each: {"ask": 1}, {"point": {...}, "value": 1.5} or {"point": {...}, "failed": true}
  -budget=N        the number of measurements (of the scenario)
  -method=NAME     bayesian; or uniform or walk, which draw at random
  -timeout=TIME    of a measurement (10m)
  -log=FILE        where measurements are written, and read from to go on
  -known=FILE      the log of a search of this space for a similar objective, of which the shape is expected
  -seed=N          another sequence of random numbers

The commands of a schedule, separated by semicolons:
  COMMANDS

  libsparse explain "y(i) = A(i,j) * x(j)" -f=A:ds -stage=c
  libsparse run "y(i) = A(i,j) * x(j)" -f=A:ds -i=A:matrix.mtx -s="split(i, i0, i1, 64); parallelize(i0)" -threads=4 -check
  libsparse frontier "C(i,j) = A(i,k) * B(k,j)" -f=A:ds -f=B:ds

Errors end it with status 1, a wrong command line with status 2.`

// usageErr is a wrong command line.
type usageErr struct{ why *diag.Error }

func (e usageErr) Error() string { return e.why.Error() }
func (e usageErr) Unwrap() error { return e.why }

func usageError(format string, args ...any) error {
	return usageErr{diag.Errorf(diag.Syntax, format, args...)}
}

// Main runs the command that args name, without the program's own name, and returns the status that the process ends with.
func Main(args []string) int {
	err := run(args, os.Stdin, os.Stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, report(args, err))
	if _, ok := errors.AsType[usageErr](err); ok {
		return 2
	}
	return 1
}

// report is an error as it is printed: JSON for programs, which hand over JSON, and text for people.
func report(args []string, err error) string {
	_, wrong := errors.AsType[usageErr](err)
	if !wrong && (len(args) < 2 || !strings.Contains(args[1], "=")) {
		return string(libsparse.ErrorJSON(err))
	}
	e := diag.From(err)
	text := "libsparse: " + e.Message
	if wrong {
		text += "\n(libsparse help says how it is used)"
	}
	if e.Detail != "" {
		text += "\n" + e.Detail
	}
	return text
}

// run turns a panic into an error, as the library does: the caller expects JSON.
func run(args []string, in io.Reader, out io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.Errorf(diag.Internal, "a bug in libsparse: %v", p).WithDetail(string(debug.Stack()))
		}
	}()
	if len(args) == 0 {
		return printUsage(out)
	}
	for _, a := range args[1:] {
		if a == "-h" || a == "-help" || a == "--help" {
			return printUsage(out)
		}
	}
	command, ok := commands[args[0]]
	if !ok {
		return usageError("there is no command %q; the commands are explain, compile, run, frontier, candidates, pack, prices, tune, functions, formats, version, help", args[0])
	}
	return command(args[1:], in, out)
}

// commands are what the executable does, by its first argument.
var commands = map[string]func(args []string, in io.Reader, out io.Writer) error{
	"compile":    compile,
	"explain":    explain,
	"run":        runProgram,
	"functions":  func(_ []string, _ io.Reader, out io.Writer) error { return printLine(out, libsparse.FunctionsJSON()) },
	"formats":    func(_ []string, _ io.Reader, out io.Writer) error { return printLine(out, libsparse.FormatsJSON()) },
	"frontier":   func(args []string, in io.Reader, out io.Writer) error { return printFrontier(in, out, args) },
	"candidates": func(args []string, in io.Reader, out io.Writer) error { return printCandidates(in, out, args) },
	"pack":       func(args []string, in io.Reader, _ io.Writer) error { return pack(in, args) },
	"tune":       func(args []string, in io.Reader, out io.Writer) error { return tune(in, out, args) },
	"prices":     func(_ []string, in io.Reader, out io.Writer) error { return prices.Serve(in, out, native.New()) },
	"read":       func(args []string, _ io.Reader, out io.Writer) error { return readTensor(out, args) },
	"write":      func(args []string, in io.Reader, _ io.Writer) error { return writeTensor(in, args) },
	"version":    func(_ []string, _ io.Reader, out io.Writer) error { return printLine(out, []byte(Version)) },
	"help":       printHelp,
	"-h":         printHelp,
	"-help":      printHelp,
	"--help":     printHelp,
}

func printHelp(_ []string, _ io.Reader, out io.Writer) error { return printUsage(out) }

func printLine(out io.Writer, text []byte) error {
	_, err := fmt.Fprintf(out, "%s\n", text)
	return err
}

// runProgram compiles an expression and runs it.
func runProgram(args []string, _ io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return usageError("run needs an expression, such as \"y(i) = A(i,j) * x(j)\"")
	}
	p, err := parse(args[0], args[1:], runExtent)
	if err != nil {
		return err
	}
	return p.run(context.Background(), out)
}

func printUsage(out io.Writer) error {
	_, err := fmt.Fprintln(out, strings.Replace(usage, "COMMANDS", strings.Join(schedule.Usage(), "\n  "), 1))
	return err
}

// request is described by args, or by JSON on the standard input; stage is what -stage says.
func request(in io.Reader, args []string) (r *libsparse.Request, stage string, err error) {
	if len(args) > 0 {
		p, err := parse(args[0], args[1:], defaultExtent)
		if err != nil {
			return nil, "", err
		}
		return p.request, p.stage, nil
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, "", err
	}
	r, err = libsparse.ParseRequest(text)
	return r, "", err
}

func compile(args []string, in io.Reader, out io.Writer) error {
	r, _, err := request(in, args)
	if err != nil {
		return err
	}
	c := &libsparse.Compiler{Version: Version, Backend: native.New()}
	k, err := c.Compile(context.Background(), r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", k.JSON())
	return err
}

// explain prints stages; the name of one may come first.
func explain(args []string, in io.Reader, out io.Writer) error {
	stage := ""
	if len(args) > 0 && !strings.Contains(args[0], "=") {
		stage, args = args[0], args[1:]
	}
	r, named, err := request(in, args)
	if err != nil {
		return err
	}
	if named != "" {
		stage = named
	}
	text, err := libsparse.Explain(r, stage, native.New())
	if _, werr := io.WriteString(out, text); err == nil {
		err = werr
	}
	return err
}
