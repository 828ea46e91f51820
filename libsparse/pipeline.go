package libsparse

import (
	"cmp"
	"fmt"
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
	// Result is the format of the last of several steps where the request leaves it open. It follows from what is computed, never
	// from the formats that the temporaries happen to have.
	Result    string
	Operands  []*index.Tensor // in the order of the request
	Naive     *cin.Program
	Inferred  bool // the result has a format of its own, and not everywhere a value
	Decision  *autoschedule.Decision
	Script    *schedule.Script // the request's schedule, if it has one
	Scheduled *cin.Program
	Kernel    *lower.Kernel
	Loops     *ir.Module // after the passes
	Source    string
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
		{"formats", inferFormats, explainFormats, nil},
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
	r := &Request{Target: s.Request.Target, Priors: s.Request.Priors}
	if i == len(steps)-1 {
		r.Output = s.Request.Output
		r.Output.Format = cmp.Or(r.Output.Format, s.Result)
	}
	r.Output.Temporary, r.Output.Step = steps[i].LHS.Tensor.Temporary, true
	steps[i].LHS.Tensor.Extents = nil
	operands := steps[i].Tensors()
	for _, earlier := range steps[:i] {
		if t := earlier.LHS.Tensor; slices.Contains(operands, t) && t.NNZ == 0 && !t.Format.Dense() {
			t.NNZ = int64(infer.Predict(earlier).Entries)
		}
	}
	for _, t := range operands {
		if t.SamePattern != nil && !slices.Contains(operands, t.Owner()) {
			t.SamePattern = nil
		}
	}
	return &State{Request: r, VectorBytes: s.VectorBytes, Assignment: steps[i], Operands: operands}
}

// LowerStep is the state in which step i of s.Steps has been compiled, after those before it have: its own state where there
// is one step.
func (s *State) LowerStep(i int) (*State, error) {
	if len(s.Steps) < 2 {
		return s, nil
	}
	one := s.step(s.Steps, i)
	return one, run(one, Pipeline()[2:], nil)
}

func nothing(*State) error { return nil }

func parse(s *State) error {
	program, operands, err := s.Request.program()
	if err != nil {
		return err
	}
	for i, a := range program {
		asked := ""
		if i == len(program)-1 {
			asked = s.Request.Output.Dtype
		}
		if err := typed(a, asked); err != nil {
			return err
		}
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
		if len(a.Reduced()) == 0 && !s.Request.Output.Step {
			a.RHS = index.Reducible(a.Reduce, a.RHS) // of one term, too
		}
		parts := a.Steps(names)
		if s.Request.Schedule != "" && len(parts)+len(s.Program) > 2 {
			return diag.Errorf(diag.Unsupported, "schedule: %s takes several steps: %s; schedule each by itself", lines(s.Program), lines(parts))
		}
		for _, part := range parts {
			path := s.parts(part, names)
			for _, step := range path {
				if step.LHS.Tensor != a.LHS.Tensor {
					step.LHS.Tensor.Elem = stepElem(step, a.LHS.Tensor.Elem) // temporaries are not rounded to halves
					step.LHS.Tensor.Temporary = true
				}
				if step.LHS.Tensor != s.Assignment.LHS.Tensor {
					settle(step)
				}
			}
			s.Steps = append(s.Steps, path...)
		}
	}
	if len(s.Steps) == 1 {
		s.Assignment = s.Steps[0]
		return nil
	}
	if s.Request.Output.Format == "" {
		f, pattern := infer.Output(s.Steps[len(s.Steps)-1])
		if pattern == nil {
			f = f.Writable()
		}
		s.Result = f.String()
	}
	return s.settleSums()
}

// parts divides an assignment further where that costs less, unless it is such a part already or has a schedule of its own.
func (s *State) parts(a *index.Assignment, names map[string]bool) []*index.Assignment {
	if s.Request.Schedule != "" || s.Request.Output.Step {
		return []*index.Assignment{a}
	}
	var out []*index.Assignment
	for _, narrow := range a.Narrow(names) {
		out = append(out, autoschedule.Path(narrow, names, s.Request.Target.CPU)...)
	}
	return out
}

// settleSums has those temporaries be dense that are dense as results and only added to what is dense: what no term reaches is
// zero there.
func (s *State) settleSums() error {
	for i, step := range s.Steps[:len(s.Steps)-1] {
		t := step.LHS.Tensor
		if !t.Temporary || !t.Format.Dense() || step.Reduce != dtype.Add {
			continue
		}
		added := true
		for _, user := range s.Steps[i+1:] {
			f := user.LHS.Tensor.Format
			if user.LHS.Tensor == s.Assignment.LHS.Tensor {
				var err error
				if f, err = format.Parse(cmp.Or(s.Request.Output.Format, s.Result)); err != nil {
					return err
				}
			}
			added = added && index.Added(user.RHS, t) && f.Dense() && user.Reduce == dtype.Add
		}
		t.Temporary = !added
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
	if out.Temporary {
		inferred, pattern = infer.Temporary(a)
	}
	s.Inferred = pattern == nil && !infer.Everywhere(a)
	switch {
	case out.PatternOf != nil && *out.PatternOf >= 0:
		return forcePattern(s, *out.PatternOf)
	case out.Format == "":
		result.Format, result.SamePattern = inferred, pattern
		if pattern == nil {
			result.Format = inferred.Writable()
		}
		return nil
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
	} else {
		if _, laid := lower.Laid(a); !laid || s.Request.Schedule != "" {
			result.Format = f.Writable() // the caller brings the result to what it asked for
		}
	}
	return nil
}

func forcePattern(s *State, k int) error {
	a := s.Assignment
	for _, acc := range index.Accesses(a.RHS) {
		if k < len(s.Operands) && acc.Tensor == s.Operands[k] && !acc.Windowed() && fmt.Sprint(acc.Vars) == fmt.Sprint(a.LHS.Vars) {
			a.LHS.Tensor.Format, a.LHS.Tensor.SamePattern = acc.Tensor.Format, acc.Tensor.Owner()
			return nil
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
	if text := s.Request.Schedule; text != "" {
		script, err := schedule.Parse(text)
		if err != nil {
			return err
		}
		s.Script = script
		s.Decision = &autoschedule.Decision{Summary: "the schedule is the caller's", Commands: script.Commands}
		for _, c := range script.Commands {
			if c, ok := c.(schedule.Convert); ok {
				t, err := c.Of(s.Assignment)
				if err != nil {
					return err
				}
				s.Decision.Conversions = append(s.Decision.Conversions, autoschedule.Conversion{Tensor: t, To: c.To})
			}
		}
		autoschedule.Convert(s.Assignment, s.Decision.Conversions)
		return nil
	}
	if level, ok := lower.Laid(s.Assignment); ok {
		s.Decision = &autoschedule.Decision{Summary: fmt.Sprintf("positions are copied, and level %d is laid out", level)}
		return nil
	}
	d, err := autoschedule.DecideFor(s.Assignment, s.machine())
	s.Decision = d
	return err
}

// machine is what is known of where the kernel will run.
func (s *State) machine() autoschedule.Machine {
	return autoschedule.Machine{CPU: s.Request.Target.CPU, VectorBytes: s.VectorBytes, Caches: s.Request.Target.Caches}
}

func printDecision(s *State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", s.Decision.Summary)
	if s.Decision.Densities != "" {
		fmt.Fprintf(&b, "# densities: %s; constants: %s\n", s.Decision.Densities, s.Decision.Profile)
	}
	for _, n := range s.Decision.Notes {
		fmt.Fprintf(&b, "# %s\n", n)
	}
	b.WriteString(printConsidered(s.Decision))
	for _, c := range s.Decision.Commands {
		fmt.Fprintln(&b, c)
	}
	return b.String()
}

func apply(s *State) (err error) {
	s.Naive.Team = autoschedule.Team(s.Assignment, s.machine())
	if s.Script != nil {
		s.Scheduled, err = s.Script.Apply(s.Naive)
		return err
	}
	s.Scheduled, err = schedule.Apply(s.Naive, s.Decision.Commands)
	return err
}

// printLattices shows how each loop visits coordinates.
func printLattices(s *State) string {
	var b strings.Builder
	var walk func(st cin.Stmt)
	walk = func(st cin.Stmt) {
		switch st := st.(type) {
		case *cin.Forall:
			fmt.Fprintf(&b, "%s: %s\n", st.Var, lattice.Loop(cin.Value(st.Body), s.Scheduled.Original(st.Var)))
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
	simple := ir.Simplify(s.Kernel.Module)
	if s.Loops = ir.Vectorize(ir.Hoist(simple), s.VectorBytes); s.Loops != simple {
		s.Loops = ir.Simplify(s.Loops)
	}
	return nil
}

func emit(s *State) (err error) {
	s.Source, err = codegen.Emit(s.Loops, codegen.Options{})
	return err
}
