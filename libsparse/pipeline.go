package libsparse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"libsparse/codegen"
	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/cin"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
	"libsparse/libsparse/ir"
	"libsparse/libsparse/lattice"
	"libsparse/libsparse/lower"
	"libsparse/libsparse/schedule"
)

// State is what the stages of one compilation hand on.
type State struct {
	Request *Request
	// VectorBytes is the width of the vector registers that the kernel may use.
	VectorBytes int

	// Program is what is asked for, Steps what that is split into; more than one where there are several assignments, or a
	// temporary makes it cheaper or possible.
	// The stages after that work on one step, Assignment.
	Program    []*index.Assignment
	Steps      []*index.Assignment
	Assignment *index.Assignment
	Operands   []*index.Tensor // in the order of the request
	Naive      *cin.Program
	Decision   *autoschedule.Decision
	Scheduled  *cin.Program
	Kernel     *lower.Kernel
	Loops      *ir.Module // after the passes
	Source     string
}

// Stage is one step of the compiler. Print shows its result to a person, Check verifies it.
type Stage struct {
	Name  string
	Run   func(*State) error
	Print func(*State) string
	Check func(*State) error
}

// Pipeline is the compiler: each stage runs on what the ones before it left in the State.
func Pipeline() []Stage {
	return []Stage{
		{"notation", parse, func(s *State) string { return lines(s.Program) }, verify},
		{"steps", split, func(s *State) string { return lines(s.Steps) }, nil},
		{"formats", inferFormats, printFormats, nil},
		{"concrete", concretize, func(s *State) string { return s.Naive.String() }, func(s *State) error { return s.Naive.Verify() }},
		{"schedule", decide, printDecision, nil},
		{"scheduled", apply, func(s *State) string { return s.Scheduled.String() }, func(s *State) error { return s.Scheduled.Verify() }},
		{"lattices", nothing, printLattices, nil},
		{"loops", lowerLoops, func(s *State) string { return s.Kernel.Module.String() }, func(s *State) error { return ir.Verify(s.Kernel.Module) }},
		{"simplified", optimize, func(s *State) string { return s.Loops.String() }, func(s *State) error { return ir.Verify(s.Loops) }},
		{"c", emit, func(s *State) string { return s.Source }, nil},
	}
}

// Lower runs the pipeline up to C, for a machine with vector registers of the given width in bytes. It stops after the
// split of a request that takes several steps.
func Lower(r *Request, vectorBytes int) (*State, error) {
	s := &State{Request: r, VectorBytes: vectorBytes}
	return s, run(s, Pipeline(), nil)
}

// run runs stages and hands each to visit. The checks are cheap, so they always run.
func run(s *State, stages []Stage, visit func(Stage)) error {
	for _, st := range stages {
		if len(s.Steps) > 1 {
			return nil
		}
		if err := st.Run(s); err != nil {
			return err
		}
		if st.Check != nil {
			if err := st.Check(s); err != nil {
				return err
			}
		}
		if visit != nil {
			visit(st)
		}
	}
	return nil
}

// Explain prints one stage of the compilation of r, or all of them where stage is empty.
func Explain(r *Request, stage string) (string, error) {
	s := &State{Request: r, VectorBytes: codegen.VectorBytes()}
	var b strings.Builder
	var known []string
	found := false
	visit := func(st Stage) {
		known = append(known, st.Name)
		switch stage {
		case "":
			fmt.Fprintf(&b, "== %s ==\n%s\n\n", st.Name, strings.TrimRight(st.Print(s), "\n"))
		case st.Name:
			found = true
			b.WriteString(st.Print(s))
		}
	}
	err := run(s, Pipeline(), visit)
	steps := s.Steps
	for i := 0; err == nil && len(steps) > 1 && i < len(steps); i++ {
		s = s.step(steps, i)
		err = run(s, Pipeline()[2:], visit)
	}
	if err == nil && stage != "" && !found {
		err = diag.Errorf(diag.Unsupported, "there is no stage %q; the stages are %s", stage, strings.Join(known, ", "))
	}
	return strings.TrimRight(b.String(), "\n") + "\n", err
}

// step is the state in which step i is compiled by itself; the request's wishes are for the last one.
func (s *State) step(steps []*index.Assignment, i int) *State {
	r := &Request{Target: s.Request.Target}
	if i == len(steps)-1 {
		r.Output = s.Request.Output
	}
	steps[i].LHS.Tensor.Extents = nil
	operands := steps[i].Tensors()
	for _, t := range operands {
		if t.SamePattern != nil && !slices.Contains(operands, t.Owner()) {
			t.SamePattern = nil
		}
	}
	return &State{Request: r, VectorBytes: s.VectorBytes, Assignment: steps[i], Operands: operands}
}

func nothing(*State) error { return nil }

func parse(s *State) error {
	program, operands, err := s.Request.program()
	if err != nil {
		return err
	}
	for _, a := range program {
		a.LHS.Tensor.Format = format.AllDense(len(a.LHS.Vars)) // until formats are inferred
		s.Assignment = a
	}
	s.Program, s.Operands = program, operands
	return nil
}

func verify(s *State) error {
	for _, a := range s.Program {
		if err := a.Verify(); err != nil {
			return err
		}
	}
	return nil
}

// split divides each assignment where its terms sum over different variables, and each part along a contraction path.
func split(s *State) error {
	names := index.Names(s.Program)
	for _, a := range s.Program {
		for _, part := range a.Steps(names) {
			s.Steps = append(s.Steps, autoschedule.Path(part, names)...)
			if part.LHS.Tensor != s.Assignment.LHS.Tensor {
				settle(part)
			}
		}
	}
	if len(s.Steps) == 1 {
		s.Assignment = s.Steps[0]
	}
	return nil
}

// settle says what the paths of later steps have to know of a result: its extents and the format that it will probably
// have.
func settle(a *index.Assignment) {
	t := a.LHS.Tensor
	volume := 1.0
	t.Extents = nil
	for _, v := range a.LHS.Vars {
		t.Extents = append(t.Extents, a.Extent(v))
		volume *= float64(max(a.Extent(v), 1))
	}
	t.Format, _ = infer.Output(a)
	if !t.Format.Dense() {
		volume *= infer.Density(a)
	}
	t.NNZ = int64(min(volume, 1<<60))
}

func lines(program []*index.Assignment) string {
	out := make([]string, len(program))
	for i, a := range program {
		out[i] = a.String()
	}
	return strings.Join(out, "\n")
}

// inferFormats fills in what the request leaves open about the result.
func inferFormats(s *State) error {
	a, out := s.Assignment, s.Request.Output
	result := a.LHS.Tensor
	result.Elem = infer.Elem(a)
	if out.Dtype != "" {
		t, ok := dtype.Parse(out.Dtype)
		if !ok {
			return diag.Errorf(diag.Dtype, "the result's dtype %q is none of %v", out.Dtype, dtype.All())
		}
		result.Elem = t
	}
	if out.Index != "" {
		t, err := indexType(out.Index)
		if err != nil {
			return err
		}
		result.Index = t
	}
	for _, v := range a.LHS.Vars {
		result.Extents = append(result.Extents, a.Extent(v))
	}
	inferred, pattern := infer.Output(a)
	switch {
	case out.PatternOf != nil && *out.PatternOf >= 0:
		return forcePattern(s, *out.PatternOf)
	case out.Format == "":
		result.Format, result.SamePattern = inferred, pattern
		return checkOperators(a.RHS, result.Elem)
	}
	f, err := format.Parse(out.Format)
	if err != nil {
		return err
	}
	if f.Order() != len(a.LHS.Vars) {
		return diag.Errorf(diag.Format, "the result %s has %d modes, but the format %q has %d", a.LHS, len(a.LHS.Vars), out.Format, f.Order())
	}
	result.Format = f
	if pattern != nil && pattern.Format.Equal(f) {
		result.SamePattern = pattern
	}
	return checkOperators(a.RHS, result.Elem)
}

// checkOperators refuses operators that values of type t don't have.
func checkOperators(e index.Expr, t dtype.T) error {
	if l, ok := e.(*index.Literal); ok && !t.IsFloat() && (l.Value != math.Trunc(l.Value) || math.Abs(l.Value) >= 1<<63) {
		return diag.Errorf(diag.Dtype, "the number %s does not fit values of type %s; convert the operands with .to(torch.float32)", l, t)
	}
	c, ok := e.(*index.Call)
	if !ok {
		return nil
	}
	if c.Function != nil {
		for _, k := range c.Function.Cases {
			if err := checkOperators(k.Body, t); err != nil {
				return err
			}
		}
	}
	if c.Function == nil && c.Op.NeedsFloat() && !t.IsFloat() {
		return diag.Errorf(diag.Dtype, "%s needs floating values, not %s; convert the operands with .to(torch.float32)", c, t)
	}
	if t == dtype.Bool && (c.Op == dtype.Neg || c.Op == dtype.Sub) {
		return diag.Errorf(diag.Dtype, "%s is not defined for bool; convert the operands first", c)
	}
	for _, arg := range c.Args {
		if err := checkOperators(arg, t); err != nil {
			return err
		}
	}
	return nil
}

func forcePattern(s *State, k int) error {
	a := s.Assignment
	for _, acc := range index.Accesses(a.RHS) {
		if k < len(s.Operands) && acc.Tensor == s.Operands[k] && !acc.Windowed() && fmt.Sprint(acc.Vars) == fmt.Sprint(a.LHS.Vars) {
			a.LHS.Tensor.Format, a.LHS.Tensor.SamePattern = acc.Tensor.Format, acc.Tensor.Owner()
			return checkOperators(a.RHS, a.LHS.Tensor.Elem)
		}
	}
	return diag.Errorf(diag.Format, "the result %s can't have the pattern of operand %d: it has other indices", a.LHS, k)
}

func printFormats(s *State) string {
	var b strings.Builder
	for _, t := range append(s.Operands[:len(s.Operands):len(s.Operands)], s.Assignment.LHS.Tensor) {
		fmt.Fprintf(&b, "%s: %q of %s", t.Name, t.Format, t.Elem)
		if t.PatternOnly {
			b.WriteString(", pattern only")
		}
		if t.SamePattern != nil {
			fmt.Fprintf(&b, ", pattern of %s", t.Owner().Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func concretize(s *State) error {
	s.Naive = cin.Concretize(s.Assignment)
	return nil
}

func decide(s *State) error {
	d, err := autoschedule.Decide(s.Assignment)
	s.Decision = d
	return err
}

func printDecision(s *State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", s.Decision.Summary)
	for _, n := range s.Decision.Notes {
		fmt.Fprintf(&b, "# %s\n", n)
	}
	for _, c := range s.Decision.Commands {
		fmt.Fprintln(&b, c)
	}
	return b.String()
}

func apply(s *State) error {
	p, err := schedule.Apply(s.Naive, s.Decision.Commands)
	s.Scheduled = p
	return err
}

// printLattices shows how each loop visits coordinates.
func printLattices(s *State) string {
	var b strings.Builder
	var walk func(st cin.Stmt)
	walk = func(st cin.Stmt) {
		switch st := st.(type) {
		case *cin.Forall:
			fmt.Fprintf(&b, "%s: %s\n", st.Var, lattice.Build(cin.Value(st.Body), st.Var))
			walk(st.Body)
		case *cin.Where:
			walk(st.Producer)
			walk(st.Consumer)
		}
	}
	walk(s.Scheduled.Body)
	return b.String()
}

func lowerLoops(s *State) error {
	k, err := lower.Lower(s.Scheduled)
	if err != nil {
		return err
	}
	k.Module.Doc = s.doc()
	s.Kernel = k
	return nil
}

// doc is the header of the generated C.
func (s *State) doc() []string {
	lines := []string{s.Assignment.String()}
	lines = append(lines, strings.Split(strings.TrimSpace(printFormats(s)), "\n")...)
	for _, c := range s.Decision.Commands {
		lines = append(lines, c.String())
	}
	return append(lines, s.Decision.Notes...)
}

func optimize(s *State) error {
	s.Loops = ir.Simplify(ir.Vectorize(ir.Simplify(s.Kernel.Module), s.VectorBytes))
	return nil
}

func emit(s *State) (err error) {
	s.Source, err = codegen.Emit(s.Loops, codegen.Options{})
	return err
}
