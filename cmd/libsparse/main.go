// Command libsparse is the compiler as an executable: compile a request, or explain one.
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

	"libsparse/libsparse"
	"libsparse/libsparse/diag"
)

var version = "dev"

const usage = `usage: libsparse COMMAND < request.json
  compile          compile the request, print the kernel's description
  explain [STAGE]  print one stage of the compilation, or all of them
  version          print the version`

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
		return compile(in, out)
	case "explain":
		stage := ""
		if len(args) > 1 {
			stage = args[1]
		}
		return explain(in, out, stage)
	case "version":
		_, err := fmt.Fprintln(out, version)
		return err
	default:
		_, err := fmt.Fprintln(out, usage)
		return err
	}
}

func request(in io.Reader) (*libsparse.Request, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	return libsparse.ParseRequest(text)
}

func compile(in io.Reader, out io.Writer) error {
	r, err := request(in)
	if err != nil {
		return err
	}
	c := &libsparse.Compiler{Version: version}
	k, err := c.Compile(context.Background(), r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", k.JSON())
	return err
}

func explain(in io.Reader, out io.Writer, stage string) error {
	r, err := request(in)
	if err != nil {
		return err
	}
	text, err := libsparse.Explain(r, stage)
	if _, werr := io.WriteString(out, text); err == nil {
		err = werr
	}
	return err
}
