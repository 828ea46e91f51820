// Command libsparse is the compiler as an executable: compile a request, explain one, or
// compare all its loop nests.
//
// It must not do anything that the library can't: it is the same code for processes that can't load the library, such
// as forked children, and for people at a terminal.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"libsparse/libsparse"
	"libsparse/libsparse/diag"
)

var version = "dev"

const usage = `usage: libsparse COMMAND [STAGE] [EXPRESSION OPTIONS...]
  compile          compile, print the kernel's description
  explain [STAGE]  print one stage of the compilation, or all of them
  frontier         print the loop nests that no other stays asymptotically below; -taco for those that TACO can run, -json
  version          print the version

Without an expression the request is read as JSON from standard input. With one, options describe its tensors:
  -f=A:ds          the format of A: d dense, s compressed, b bitmap, u compressed not unique, q and c singletons
  -f=A:ds:1,0      the same with the modes in the order 1, 0
  -t=A:f64         the type of A's values (f32): bool, u8 i8 i16 i32 i64, f16 bf16 f32 f64, c64 c128
  -d=i:1000        the extent of index i, as far as the schedule depends on it (4096)

  libsparse explain "y(i) = A(i,j) * x(j)" -f=A:ds
  libsparse frontier "C(i,j) = A(i,k) * B(k,j)" -f=A:ds -f=B:ds`

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s\n", libsparse.ErrorJSON(err))
		os.Exit(1)
	}
}

// run turns a panic into an error, as the library does: the caller expects JSON.
func run(args []string, in io.Reader, out io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.Errorf(diag.Internal, "a bug in libsparse: %v", p).WithDetail(string(debug.Stack()))
		}
	}()
	if len(args) == 0 {
		_, err := fmt.Fprintln(out, usage)
		return err
	}
	switch args[0] {
	case "compile":
		r, err := request(in, args[1:])
		if err != nil {
			return err
		}
		return compile(r, out)
	case "explain":
		stage, rest := "", args[1:]
		if len(rest) > 0 && !strings.Contains(rest[0], "=") {
			stage, rest = rest[0], rest[1:]
		}
		r, err := request(in, rest)
		if err != nil {
			return err
		}
		return explain(r, out, stage)
	case "frontier":
		return frontier(in, out, args[1:])
	case "version":
		_, err := fmt.Fprintln(out, version)
		return err
	default:
		_, err := fmt.Fprintln(out, usage)
		return err
	}
}

// request is described by args, or by JSON on the standard input.
func request(in io.Reader, args []string) (*libsparse.Request, error) {
	if len(args) > 0 {
		return requestFromArgs(args[0], args[1:])
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	return libsparse.ParseRequest(text)
}

func compile(r *libsparse.Request, out io.Writer) error {
	c := &libsparse.Compiler{Version: version}
	k, err := c.Compile(context.Background(), r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", k.JSON())
	return err
}

func explain(r *libsparse.Request, out io.Writer, stage string) error {
	text, err := libsparse.Explain(r, stage)
	if _, werr := io.WriteString(out, text); err == nil {
		err = werr
	}
	return err
}
