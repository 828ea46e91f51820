package libsparse

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/index"
)

// everyRequest is the step between the requests of the corpus that a test takes.
const everyRequest = 40

// corpusRequests is a sample of the corpus that the C is compared for.
func corpusRequests(t *testing.T) (out []*Request) {
	t.Helper()
	file, err := os.Open("../tests/corpus/requests.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(lines)
	for i := 0; scanner.Scan(); i++ {
		if i%everyRequest != 0 {
			continue
		}
		r, err := ParseRequest(scanner.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// stageInput is one value that stages may read: its text before a stage, and how to print it again.
type stageInput struct {
	then  string
	print func() string
}

// given is what stages may read.
type given []stageInput

func (g *given) add(print func() string) { *g = append(*g, stageInput{print(), print}) }

func (g *given) assignment(a bind.Assignment) {
	if a.Assignment == nil {
		return
	}
	g.add(a.String)
	for _, t := range append(a.Tensors(), a.LHS.Tensor) {
		g.tensor(a.Table, t)
	}
}

func (g *given) tensor(b *bind.Table, t *index.Tensor) {
	g.add(func() string { return fmt.Sprintf("%+v %+v", *t, *b.Of(t)) })
}

func (g *given) program(p *cin.Program) {
	if p == nil {
		return
	}
	g.assignment(p.Source)
	g.add(p.String)
	for t := range p.Workspaces {
		g.tensor(p.Source.Table, t)
	}
}

// nest adds what the stages of a nest have left so far.
func (g *given) nest(n *Nest) {
	g.assignment(n.Assignment)
	g.program(n.Naive)
	g.program(n.Scheduled)
	if n.Lattices != nil {
		scheduled := *n
		g.add(func() string { return printLattices(&scheduled) })
	}
	if n.Kernel != nil {
		g.add(n.Kernel.Module.String)
	}
	if n.Loops != nil {
		g.add(n.Loops.String)
	}
}

// check reports what a stage has changed in place.
func (g *given) check(t *testing.T, r *Request, stage string) {
	t.Helper()
	for _, in := range *g {
		if now := in.print(); now != in.then {
			t.Errorf("%s: the stage %q changes what it was given\nbefore:\n%s\nafter:\n%s", r.Expr, stage, in.then, now)
		}
	}
}

// Stages return values: expressions, tensors with their storage and statistics, programs and modules that a stage reads are as they were.
func TestStagesLeaveWhatTheyAreGiven(t *testing.T) {
	stages := 0
	for _, r := range corpusRequests(t) {
		c := &Compilation{Request: r, Backend: avx2}
		err := error(nil)
		for _, st := range FrontStages() {
			var before given
			for _, a := range c.Program {
				before.assignment(c.bound(a))
			}
			for _, n := range c.Nests {
				before.nest(n)
			}
			if err = st.Run(c); err != nil {
				break
			}
			before.check(t, r, st.Name)
			stages++
		}
		for _, n := range c.Nests {
			for _, st := range NestStages() {
				var before given
				before.nest(n)
				if err != nil {
					break
				}
				err = st.Run(n)
				before.check(t, r, st.Name)
				stages++
			}
		}
	}
	if stages < 1000 {
		t.Errorf("%d stages ran, which is hardly a test", stages)
	}
}
