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

	whole bool // Program has to be one nest
}

// Result is what the last assignment writes.
func (c *Compilation) Result() *index.Access { return c.Program[len(c.Program)-1].LHS }

// parse reads the request's text.
func parse(c *Compilation) error {
	program, operands, err := c.Request.program()
	if err != nil {
		return err
	}
	for i, a := range program {
		elem := ""
		if i == len(program)-1 {
			elem = c.Request.Output.Dtype
		}
		if err := typed(a, elem); err != nil {
			return err
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
	names := index.Names(c.Program)
	var steps []*index.Assignment
	for _, a := range c.Program {
		if len(a.Reduced()) == 0 && !c.Request.Output.Step {
			a.RHS = index.Reducible(a.Reduce, a.RHS) // of one term, too
		}
		parts := a.Steps(names)
		if c.single() && len(parts)+len(c.Program) > 2 {
			return diag.Errorf(diag.Unsupported, "schedule: %s takes several steps: %s; schedule each by itself", lines(c.Program), lines(parts))
		}
		for _, part := range parts {
			path := c.path(part, names)
			for _, step := range path {
				c.describeResult(step, a)
			}
			steps = append(steps, path...)
		}
	}
	output := c.Request.Output
	if len(steps) == 1 {
		c.Nests = []*Nest{c.nest(steps[0], c.Operands, output)}
		c.Nests[0].Schedule = c.Request.Schedule
		return nil
	}
	last := steps[len(steps)-1]
	if output.Format == "" {
		output.Format = resultFormat(last)
	}
	if err := densifySums(steps, output.Format); err != nil {
		return err
	}
	for _, step := range steps {
		own := Output{}
		if step == last {
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

// single reports whether the program has to be one nest, as what has a schedule of its own.
func (c *Compilation) single() bool { return c.whole || c.Request.Schedule != "" }

// nest is a step before the stages of nests.
func (c *Compilation) nest(a *index.Assignment, operands []*index.Tensor, output Output) *Nest {
	target := c.Request.Target
	return &Nest{
		Assignment: a, Operands: operands, Output: output, Backend: c.Backend,
		Machine: autoschedule.Machine{CPU: target.CPU, VectorBytes: c.Backend.VectorBytes(), Caches: target.Caches},
	}
}

// path divides an assignment further where that costs less, unless it is a step already or has to be one nest.
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

// describeResult says of the result of a step towards a what the paths of later steps have to know.
func (c *Compilation) describeResult(step, a *index.Assignment) {
	t := step.LHS.Tensor
	if t != a.LHS.Tensor {
		t.Elem = stepElem(step, a.LHS.Tensor.Elem) // temporaries are not rounded to halves
		t.Temporary = true
	}
	if t == c.Result().Tensor {
		return
	}
	volume := 1.0
	t.Extents = nil
	for _, v := range step.LHS.Vars {
		t.Extents = append(t.Extents, step.Extent(v))
		volume *= float64(max(step.Extent(v), 1))
	}
	t.Format, _ = infer.Output(step)
	if !t.Format.Dense() {
		volume *= infer.Density(step)
	}
	t.NNZ = int64(min(volume, 1<<60))
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
func densifySums(steps []*index.Assignment, resultFormat string) error {
	result := steps[len(steps)-1].LHS.Tensor
	for i, step := range steps[:len(steps)-1] {
		t := step.LHS.Tensor
		if !t.Temporary || !t.Format.Dense() || step.Reduce != dtype.Add {
			continue
		}
		added := true
		for _, user := range steps[i+1:] {
			f := user.LHS.Tensor.Format
			if user.LHS.Tensor == result {
				var err error
				if f, err = format.Parse(resultFormat); err != nil {
					return err
				}
			}
			added = added && index.Added(user.RHS, t) && f.Dense() && user.Reduce == dtype.Add
		}
		t.Temporary = !added
	}
	return nil
}

// inferFormats fills in what the request leaves open about results.
func inferFormats(c *Compilation) error {
	for i, n := range c.Nests {
		if len(c.Nests) > 1 {
			c.isolate(i)
		}
		if err := c.inferFormat(n); err != nil {
			return err
		}
	}
	return nil
}

// isolate describes the operands of one of several nests as they are for a request of its own.
func (c *Compilation) isolate(i int) {
	n := c.Nests[i]
	n.Assignment.LHS.Tensor.Extents = nil
	for _, earlier := range c.Nests[:i] {
		if t := earlier.Assignment.LHS.Tensor; slices.Contains(n.Operands, t) && t.NNZ == 0 && !t.Format.Dense() {
			t.NNZ = int64(infer.Predict(earlier.Assignment).Entries)
		}
	}
	for k, t := range n.Operands {
		if t.SamePattern == nil || slices.Contains(n.Operands, t.Owner()) {
			continue
		}
		alone := *t
		alone.SamePattern = nil
		n.Operands[k] = &alone
		n.Assignment.RHS = index.Replace(n.Assignment.RHS, func(a *index.Access) index.Expr {
			if a.Tensor != t {
				return nil
			}
			own := *a
			own.Tensor = &alone
			return &own
		})
	}
}

func (c *Compilation) inferFormat(n *Nest) error {
	a, out := n.Assignment, n.Output
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
	n.Inferred = pattern == nil && !infer.Everywhere(a)
	switch {
	case out.PatternOf != nil && *out.PatternOf >= 0:
		return c.forcePattern(a, *out.PatternOf)
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
	} else if !n.packs() || c.single() {
		result.Format = f.Writable() // the caller brings the result to the format of the request
	}
	return nil
}

// forcePattern gives the result of a the pattern of operand k of the request.
func (c *Compilation) forcePattern(a *index.Assignment, k int) error {
	for _, acc := range index.Accesses(a.RHS) {
		if k < len(c.Operands) && acc.Tensor == c.Operands[k] && !acc.Windowed() && slices.Equal(acc.Vars, a.LHS.Vars) {
			a.LHS.Tensor.Format, a.LHS.Tensor.SamePattern = acc.Tensor.Format, acc.Tensor.Owner()
			return nil
		}
	}
	return diag.Errorf(diag.Format, "the result %s can't have the pattern of operand %d: it has other indices", a.LHS, k)
}
