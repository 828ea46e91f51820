package libsparse

import (
	"slices"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
)

// Compilation is a request on its way through the front: from text to loop nests whose results have formats.
type Compilation struct {
	Request *Request
	Backend backend.Backend
	// Program is the assignments as they are written, Operands the tensors in the order of the request.
	Program  []*index.Assignment
	Operands []*index.Tensor
	// Nests are what Program is divided into: several where there are several assignments, or a temporary makes it cheaper
	// or possible.
	Nests []*Nest

	whole bool // Program must be one nest
	// results are the results of steps as the stages so far describe them.
	results index.Binding
}

// Result is the left-hand side of the last assignment.
func (c *Compilation) Result() *index.Access { return c.Program[len(c.Program)-1].LHS }

// parse reads the request's text.
func parse(c *Compilation) error {
	program, operands, err := c.Request.program()
	if err != nil {
		return err
	}
	c.results = index.Binding{}
	for i, a := range program {
		elem := ""
		if i == len(program)-1 {
			elem = c.Request.Output.Dtype
		}
		if program[i], err = typed(c.results.Assignment(a), elem); err != nil {
			return err
		}
		if len(program) > 1 { // later assignments may read it
			c.results[a.LHS.Tensor] = program[i].LHS.Tensor
		}
	}
	c.Program, c.Operands = program, operands
	return nil
}

func verify(c *Compilation) error {
	for _, a := range c.Program {
		if err := a.Verify(); err != nil {
			return err
		}
	}
	return nil
}

// split divides each assignment where its terms sum over different variables, and each part along a contraction path.
func split(c *Compilation) error {
	steps, err := c.steps()
	if err != nil {
		return err
	}
	output := c.Request.Output
	if len(steps) == 1 {
		c.Nests = []*Nest{c.nest(steps[0], c.Operands, output)}
		c.Nests[0].Schedule = c.Request.Schedule
		return nil
	}
	if output.Format == "" {
		output.Format = resultFormat(steps[len(steps)-1])
	}
	if err := c.densifySums(steps, output.Format); err != nil {
		return err
	}
	for i, step := range steps {
		step = c.results.Assignment(step)
		own := Output{}
		if i == len(steps)-1 {
			own = output
			if k := own.PatternOf; k != nil && !(0 <= *k && *k < len(c.Operands) && slices.Contains(step.Tensors(), c.Operands[*k])) {
				own.PatternOf = nil // the caller brings the result to it
			}
		}
		own.Temporary, own.Step = step.LHS.Tensor.Temporary, true
		c.Nests = append(c.Nests, c.nest(step, step.Tensors(), own))
	}
	return nil
}

// steps is the program in steps that one nest each can compute.
func (c *Compilation) steps() ([]*index.Assignment, error) {
	names := index.Names(c.Program)
	var steps []*index.Assignment
	for i, a := range c.Program {
		a = c.results.Assignment(a)
		if len(a.Reduced()) == 0 && !c.Request.Output.Step {
			a = &index.Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: index.Reducible(a.Reduce, a.RHS)} // of one term, too
		}
		c.Program[i] = a
		parts := a.Steps(names)
		if c.single() && len(parts)+len(c.Program) > 2 {
			return nil, diag.Errorf(diag.Unsupported, "schedule: %s takes several steps: %s; schedule each by itself", lines(c.Program), lines(parts))
		}
		for _, part := range parts {
			for _, step := range c.path(c.results.Assignment(part), names) {
				step = c.results.Assignment(step)
				result := c.describeResult(step, a)
				if result != step.LHS.Tensor {
					c.results[step.LHS.Tensor] = result
				}
				steps = append(steps, step.Into(result))
			}
		}
	}
	return steps, nil
}

// single reports whether the program must be one nest, as a program with a schedule must.
func (c *Compilation) single() bool { return c.whole || c.Request.Schedule != "" }

// nest is a step before the stages of nests.
func (c *Compilation) nest(a *index.Assignment, operands []*index.Tensor, output Output) *Nest {
	target := c.Request.Target
	return &Nest{
		Assignment: a, Operands: operands, Output: output, Backend: c.Backend,
		Machine: autoschedule.Machine{CPU: target.CPU, VectorBytes: c.Backend.VectorBytes(), Caches: target.Caches},
	}
}

// path divides an assignment further where that costs less, unless it is a step already or must be one nest.
func (c *Compilation) path(a *index.Assignment, names map[string]bool) []*index.Assignment {
	if c.single() || c.Request.Output.Step {
		return []*index.Assignment{a}
	}
	var out []*index.Assignment
	for _, narrow := range a.Narrow(names) {
		out = append(out, autoschedule.Path(narrow, names, c.Request.Target.CPU)...)
	}
	return out
}

// describeResult is the result of a step towards a with the statistics that the paths of later steps need.
func (c *Compilation) describeResult(step, a *index.Assignment) *index.Tensor {
	result := step.LHS.Tensor
	if result.Name == c.Result().Tensor.Name {
		return result
	}
	t := *result
	if t.Name != a.LHS.Tensor.Name {
		t.Elem = stepElem(step, a.LHS.Tensor.Elem) // temporaries are not rounded to halves
		t.Temporary = true
	}
	volume := 1.0
	t.Extents = nil
	for _, v := range step.LHS.Vars {
		t.Extents = append(t.Extents, step.Extent(v))
		volume *= float64(max(step.Extent(v), 1))
	}
	step = step.Into(&t)
	t.Format, _ = infer.Output(step)
	if !t.Format.Dense() {
		volume *= infer.Density(step)
	}
	t.NNZ = int64(min(volume, 1<<60))
	return &t
}

// resultFormat is the format of the result of several steps where the request leaves it open. It follows from what is
// computed, never from the formats that the temporaries happen to have.
func resultFormat(last *index.Assignment) string {
	f, pattern := infer.Output(last)
	if pattern == nil {
		f = f.Writable()
	}
	return f.String()
}

// densifySums makes those temporaries dense that are dense as results and only added to what is dense: what no term reaches
// is zero there. resultFormat is the format of the last step's result.
func (c *Compilation) densifySums(steps []*index.Assignment, resultFormat string) error {
	last := steps[len(steps)-1].LHS.Tensor
	for i, step := range steps[:len(steps)-1] {
		t := step.LHS.Tensor
		if !t.Temporary || !t.Format.Dense() || step.Reduce != dtype.Add {
			continue
		}
		added := true
		for _, user := range steps[i+1:] {
			f := user.LHS.Tensor.Format
			if user.LHS.Tensor == last {
				var err error
				if f, err = format.Parse(resultFormat); err != nil {
					return err
				}
			}
			added = added && index.Added(user.RHS, t) && f.Dense() && user.Reduce == dtype.Add
		}
		if added {
			dense := *t
			dense.Temporary = false
			c.results[t] = &dense
		}
	}
	return nil
}

// inferFormats chooses the formats of results that the request leaves open.
func inferFormats(c *Compilation) error {
	for i, n := range c.Nests {
		result := n.Assignment.LHS.Tensor
		if len(c.Nests) > 1 {
			c.isolate(i)
		}
		bound, err := c.inferFormat(n)
		if err != nil {
			return err
		}
		n.Assignment = n.Assignment.Into(bound)
		if len(c.Nests) == 1 {
			c.Program[0] = c.Program[0].Into(bound)
			return nil
		}
		c.results[result] = bound
	}
	for i, a := range c.Program {
		c.Program[i] = c.results.Assignment(a)
	}
	return nil
}

// isolate describes the operands of one of several nests as they are for a request of its own.
func (c *Compilation) isolate(i int) {
	n := c.Nests[i]
	n.Assignment = c.results.Assignment(n.Assignment)
	operands, own := n.Assignment.Tensors(), index.Binding{}
	for _, earlier := range c.Nests[:i] {
		if t := earlier.Assignment.LHS.Tensor; slices.Contains(operands, t) && t.NNZ == 0 && !t.Format.Dense() {
			counted := *t
			counted.NNZ = int64(infer.Predict(earlier.Assignment).Entries)
			own[t] = &counted
		}
	}
	for _, t := range operands {
		if t.SamePattern != nil && !slices.Contains(operands, t.Owner()) {
			alone := *own.Of(t)
			alone.SamePattern = nil
			own[own.Of(t)] = &alone
		}
	}
	n.Assignment = own.Assignment(n.Assignment)
	n.Operands = n.Assignment.Tensors()
}

// inferFormat is the result of a nest with its format.
func (c *Compilation) inferFormat(n *Nest) (*index.Tensor, error) {
	result, out := *n.Assignment.LHS.Tensor, n.Output
	result.Extents = nil
	a := n.Assignment.Into(&result)
	if out.Index != "" {
		t, err := indexType(out.Index)
		if err != nil {
			return nil, err
		}
		result.Index = t
	}
	extents := make([]int64, len(a.LHS.Vars))
	for i, v := range a.LHS.Vars {
		extents[i] = a.Extent(v)
	}
	result.Extents = extents
	infers := infer.Output
	if out.Temporary {
		infers = infer.Temporary
	}
	inferred, pattern := infers(a)
	n.Inferred = pattern == nil && !infer.Everywhere(a)
	switch {
	case out.PatternOf != nil && *out.PatternOf >= 0:
		owner, err := c.forcedPattern(a, *out.PatternOf)
		if err == nil {
			result.Format, result.SamePattern = owner.Format, owner.Owner()
		}
		return &result, err
	case out.Format != "":
		return &result, c.giveFormat(n, &result, pattern)
	case pattern == nil:
		result.Format, result.SamePattern = inferred.Writable(), nil
	default:
		result.Format, result.SamePattern = inferred, pattern
	}
	return &result, nil
}

// giveFormat gives a result that is being described the format of the request. pattern is the operand that it would have the
// pattern of, or nil.
func (c *Compilation) giveFormat(n *Nest, result, pattern *index.Tensor) error {
	lhs := n.Assignment.LHS
	f, err := format.Parse(n.Output.Format)
	if err != nil {
		return err
	}
	if f.Order() != len(lhs.Vars) {
		return diag.Errorf(diag.Format, "the result %s has %d modes, but the format %q has %d", lhs, len(lhs.Vars), n.Output.Format, f.Order())
	}
	result.Format = f
	if pattern != nil && pattern.Format.Equal(f) {
		result.SamePattern = pattern
	} else if !packs(n.Assignment.Into(result)) || c.single() {
		result.Format = f.Writable() // the caller brings the result to the format of the request
	}
	return nil
}

// forcedPattern is operand k of the request, whose pattern the result of a has to have.
func (c *Compilation) forcedPattern(a *index.Assignment, k int) (*index.Tensor, error) {
	for _, acc := range index.Accesses(a.RHS) {
		if k < len(c.Operands) && acc.Tensor.Name == c.Operands[k].Name && !acc.Windowed() && slices.Equal(acc.Vars, a.LHS.Vars) {
			return acc.Tensor, nil
		}
	}
	return nil, diag.Errorf(diag.Format, "the result %s can't have the pattern of operand %d: it has other indices", a.LHS, k)
}
