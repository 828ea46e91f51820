package libsparse

import (
	"fmt"
	"strings"

	"libsparse/libsparse/backend"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
	"libsparse/libsparse/ir"
)

// Stage is one step of the compiler on a subject of type S. Print shows its result to a person, Check verifies it.
type Stage[S any] struct {
	Name  string
	Run   func(S) error
	Print func(S) string
	Check func(S) error
}

// FrontStages is the stages that a request goes through as a whole: they divide it into loop nests.
func FrontStages() []Stage[*Compilation] {
	return []Stage[*Compilation]{
		{"notation", parse, func(c *Compilation) string { return lines(c.Program) }, verify},
		{"steps", split, printSteps, nil},
		{"formats", inferFormats, explainFormats, nil},
	}
}

// NestStages is the stages that turn one loop nest into a kernel.
func NestStages() []Stage[*Nest] {
	return []Stage[*Nest]{
		{"concrete", concretize, func(n *Nest) string { return n.Naive.String() }, func(n *Nest) error { return n.Naive.Verify() }},
		{"schedule", decide, printDecision, nil},
		{"scheduled", apply, func(n *Nest) string { return n.Scheduled.String() }, func(n *Nest) error { return n.Scheduled.Verify() }},
		{"lattices", buildLattices, printLattices, nil},
		{"loops", lowerLoops, func(n *Nest) string { return n.Kernel.Module.String() }, func(n *Nest) error { return ir.Verify(n.Kernel.Module) }},
		{"simplified", optimize, func(n *Nest) string { return n.Loops.String() }, func(n *Nest) error { return ir.Verify(n.Loops) }},
		{"c", emit, func(n *Nest) string { return n.Source }, nil},
	}
}

// run runs stages on a subject and hands each to visit. The checks are cheap, so they always run.
func run[S any](subject S, stages []Stage[S], visit func(Stage[S])) error {
	for _, st := range stages {
		if err := st.Run(subject); err != nil {
			return err
		}
		if st.Check != nil {
			if err := st.Check(subject); err != nil {
				return err
			}
		}
		if visit != nil {
			visit(st)
		}
	}
	return nil
}

// Divide runs the front: what remains is to lower each nest.
func Divide(r *Request, b backend.Backend) (*Compilation, error) {
	c := &Compilation{Request: r, Backend: b}
	return c, run(c, FrontStages(), nil)
}

// Lower runs the stages of the nest.
func (n *Nest) Lower() error { return run(n, NestStages(), nil) }

// Lower compiles a request up to the text that the backend emits. Several nests are left as the front divides them: each is
// compiled as a request of its own.
func Lower(r *Request, b backend.Backend) (*Compilation, error) {
	c, err := Divide(r, b)
	if err != nil || len(c.Nests) > 1 {
		return c, err
	}
	return c, c.Nests[0].Lower()
}

// Parse runs the stage "notation" only.
func Parse(r *Request) (*Compilation, error) {
	c := &Compilation{Request: r}
	return c, run(c, FrontStages()[:1], nil)
}

// Single is the nest of a request before it is scheduled, without a search for a contraction path. It is an error if the
// request can't be computed by one nest.
func Single(r *Request, b backend.Backend) (*Nest, error) {
	c := &Compilation{Request: r, Backend: b, whole: true}
	if err := run(c, FrontStages(), nil); err != nil {
		return nil, err
	}
	return c.Nests[0], nil
}

// Explain prints one stage of the compilation of r, or all stages where stage is empty.
func Explain(r *Request, stage string, b backend.Backend) (string, error) {
	p := &explanation{stage: stage}
	c := &Compilation{Request: r, Backend: b}
	err := run(c, FrontStages(), func(st Stage[*Compilation]) { p.visit(st.Name, func() string { return st.Print(c) }) })
	for i := 0; err == nil && i < len(c.Nests); i++ {
		n := c.Nests[i]
		err = run(n, NestStages(), func(st Stage[*Nest]) { p.visit(st.Name, func() string { return st.Print(n) }) })
	}
	if err == nil && stage != "" && !p.found {
		err = diag.Errorf(diag.Unsupported, "there is no stage %q; the stages are %s%s", stage, strings.Join(stageNames(), ", "), meant(stage))
	}
	return strings.TrimRight(p.String(), "\n") + "\n", err
}

// meant is the stage that begins as a mistyped one does, as the end of a message; empty where none does.
func meant(stage string) string {
	const alike = 3 // letters
	best, most := "", alike-1
	for _, name := range stageNames() {
		n := 0
		for n < min(len(name), len(stage)) && name[n] == stage[n] {
			n++
		}
		if n > most {
			best, most = name, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

func stageNames() (names []string) {
	for _, st := range FrontStages() {
		names = append(names, st.Name)
	}
	for _, st := range NestStages() {
		names = append(names, st.Name)
	}
	return names
}

// lines is a program as text, one assignment a line.
func lines(program []*index.Assignment) string {
	out := make([]string, len(program))
	for i, a := range program {
		out[i] = a.String()
	}
	return strings.Join(out, "\n")
}
