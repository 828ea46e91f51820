package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"libsparse/libsparse/asymptotic"
	"libsparse/libsparse/frontier"
)

// printed is how many programs of a class are printed.
const printed = 8

// printFrontier prints the asymptotic frontier of the expression that args describe.
func printFrontier(in io.Reader, out io.Writer, args []string) error {
	o := asymptotic.Options{TACO: slices.Contains(args, "-taco")}
	asJSON := slices.Contains(args, "-json")
	args = slices.DeleteFunc(args, func(a string) bool { return a == "-taco" || a == "-json" })
	r, _, err := request(in, args)
	if err != nil {
		return err
	}
	start := time.Now()
	fs, err := frontier.Of(r, o)
	if err != nil {
		return err
	}
	for _, f := range fs {
		if asJSON {
			err = writeJSON(out, f)
		} else {
			err = writeText(out, f, time.Since(start))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeText(out io.Writer, f *frontier.Frontier, took time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d programs with nests of at most %d loops; on the frontier %d, which cost %d different things (%.3g s)\n",
		f.Assignment, f.Universe, f.Depth, f.Programs(), len(f.Classes), took.Seconds())
	for i, c := range f.Classes {
		tasks := strings.Join(c.Tasks, " + ")
		if tasks == "" {
			tasks = "what is sunk: reading the sparse operands, and each dimension"
		}
		fmt.Fprintf(&b, "\n%d. %d programs: %s\n", i+1, len(c.Programs), tasks)
		for _, p := range c.Programs[:min(printed, len(c.Programs))] {
			fmt.Fprintf(&b, "  %s\n", p)
		}
		if n := len(c.Programs) - printed; n > 0 {
			fmt.Fprintf(&b, "  and %d more, which -json prints\n", n)
		}
	}
	fmt.Fprintf(&b, "\nthe online scheduler: %s\n  %s\n", f.Online.Program, standing(f))
	_, err := io.WriteString(out, b.String())
	return err
}

// standing says in words where the online scheduler's choice stands.
func standing(f *frontier.Frontier) string {
	switch {
	case f.Online.Below != nil:
		return fmt.Sprintf("above the frontier: %s never does more", f.Online.Below)
	case f.Online.Class >= 0:
		return fmt.Sprintf("of class %d", f.Online.Class+1)
	default:
		return fmt.Sprintf("of no class, with nests of %d loops", f.Online.Depth)
	}
}

type (
	classJSON struct {
		Tasks    []string      `json:"tasks"`
		Programs []programJSON `json:"programs"`
	}
	programJSON struct {
		Program string `json:"program"`
		// Kernels is how the compiler would run it; absent where it can't.
		Kernels []kernelJSON `json:"kernels,omitempty"`
	}
	kernelJSON struct {
		Assignment string            `json:"assignment"`
		Formats    map[string]string `json:"formats"`
		Commands   []string          `json:"commands"`
	}
)

func programToJSON(p *asymptotic.Program) programJSON {
	out := programJSON{Program: p.String()}
	kernels, err := p.Kernels()
	if err != nil {
		return out // it needs a level or a workspace that the compiler doesn't have
	}
	for _, k := range kernels {
		j := kernelJSON{Assignment: k.Assignment.String(), Formats: map[string]string{}}
		for _, t := range k.Assignment.Tensors() {
			j.Formats[t.Name] = k.Assignment.Of(t).Format.String()
		}
		for _, c := range k.Commands {
			j.Commands = append(j.Commands, c.String())
		}
		out.Kernels = append(out.Kernels, j)
	}
	return out
}

func writeJSON(out io.Writer, f *frontier.Frontier) error {
	doc := struct {
		Expression string      `json:"expression"`
		Depth      int         `json:"depth"`
		Universe   int64       `json:"universe"`
		Frontier   int         `json:"frontier"`
		Classes    []classJSON `json:"classes"`
		Online     string      `json:"online"`
		Standing   string      `json:"standing"`
	}{f.Assignment.String(), f.Depth, f.Universe, f.Programs(), nil, f.Online.Program.String(), standing(f)}
	for _, c := range f.Classes {
		j := classJSON{Tasks: append([]string{}, c.Tasks...)}
		for _, p := range c.Programs {
			j.Programs = append(j.Programs, programToJSON(p))
		}
		doc.Classes = append(doc.Classes, j)
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
