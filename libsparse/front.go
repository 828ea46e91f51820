package libsparse

import (
	"slices"

	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/backend"
	"libsparse/libsparse/bind"
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
	// Program is the assignments as they are written, Operands the tensors in the order of the request, and Storage how tensors are
	// stored, as far as the stages so far know.
	Program  []*index.Assignment
	Operands []*index.Tensor
	Storage  *bind.Table
	// Nests are what Program is divided into: several where there are several assignments, or a temporary makes it cheaper
	// or possible.
	Nests []*Nest

	whole bool // Program must be one nest
	// results are the results of steps with their types.
	results index.Binding
}

// bound is an assignment with how its tensors are stored.
func (c *Compilation) bound(a *index.Assignment) bind.Assignment {
	return bind.Assignment{Assignment: a, Table: c.Storage}
}

// Result is the left-hand side of the last assignment.
func (c *Compilation) Result() *index.Access { return c.Program[len(c.Program)-1].LHS }

// parse reads the request's text.
func parse(c *Compilation) error {
	program, operands, storage, err := c.Request.program()
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
		result := program[i].LHS
		if len(program) > 1 { // later assignments may read it
			c.results[a.LHS.Tensor] = result.Tensor
		}
		storage = storage.With(result.Tensor, bind.Storage{Format: format.AllDense(len(result.Vars)), Index: dtype.I32})
	}
	c.Program, c.Operands, c.Storage = program, operands, storage
	return nil
}

func verify(c *Compilation) error {
	for _, a := range c.Program {
		if err := c.bound(a).Verify(); err != nil {
			return err
		}
	}
	return nil
}

// split divides each assignment where its terms sum over different variables, and each part along a contraction path.
func split(c *Compilation) error {
	n, err := c.onePass()
	if err != nil {
		return err
	}
	if n != nil {
		c.Nests = []*Nest{n}
		return nil
	}
	steps, err := c.steps(c.Program)
	if err != nil {
		return err
	}
	if len(steps) > 1 {
		n = c.atOnce(steps)
	}
	if before, rest := c.tabulate(n); before != nil {
		return c.splitRest(before, rest)
	}
	switch {
	case n != nil:
		c.Nests = []*Nest{n}
		return nil
	case len(steps) == 1:
		c.Nests = []*Nest{c.nest(c.bound(steps[0]), c.Operands, c.Request.Output)}
		c.Nests[0].Schedule = c.Request.Schedule
		return nil
	default:
		return c.chain(steps)
	}
}

// atOnce is the only nest of several steps, nil where they need a nest each.
func (c *Compilation) atOnce(steps []*index.Assignment) *Nest {
	if n := c.together(c.Program, steps, c.Request.Output); n != nil {
		return n
	}
	return c.byRows(steps, c.Request.Output)
}

// splitRest divides what is left of a program whose first steps are known.
func (c *Compilation) splitRest(before, rest []*index.Assignment) error {
	steps, err := c.steps(rest)
	if err != nil {
		return err
	}
	if n := c.together(rest, steps, c.Request.Output); n != nil { // which the last step computes at once
		steps = rest
	}
	return c.chain(append(before, steps...))
}

// chain has a nest for each of several steps.
func (c *Compilation) chain(steps []*index.Assignment) error {
	output := c.Request.Output
	if output.Format == "" {
		output.Format = resultFormat(c.bound(steps[len(steps)-1]))
	}
	if err := c.densifySums(steps, output.Format); err != nil {
		return err
	}
	for i, step := range steps {
		own := Output{}
		if i == len(steps)-1 {
			own = output
			if k := own.PatternOf; k != nil && !(0 <= *k && *k < len(c.Operands) && slices.Contains(step.Tensors(), c.Operands[*k])) {
				own.PatternOf = nil // the caller brings the result to it
			}
		}
		own.Temporary, own.Step = c.Storage.Of(step.LHS.Tensor).Temporary, true
		c.Nests = append(c.Nests, c.nest(c.bound(step), step.Tensors(), own))
	}
	return nil
}

// steps is a program in steps that one nest each can compute; its assignments become those with the types of their results.
func (c *Compilation) steps(program []*index.Assignment) ([]*index.Assignment, error) {
	names := index.Names(program)
	var steps []*index.Assignment
	for i, a := range program {
		a = c.results.Assignment(a)
		if len(a.Reduced()) == 0 && !c.Request.Output.Step {
			a = &index.Assignment{LHS: a.LHS, Reduce: a.Reduce, RHS: index.Reducible(a.Reduce, a.RHS)} // of one term, too
		}
		program[i] = a
		parts := a.StepsAmong(names, c.sparseLevels, c.Storage.Together)
		if c.single() && len(parts)+len(program) > 2 {
			return nil, diag.Errorf(diag.Unsupported, "schedule: %s takes several steps: %s; schedule each by itself", lines(program), lines(parts))
		}
		elems := stepElems(parts, a.LHS.Tensor.Elem)
		for i, part := range parts {
			for _, step := range c.path(c.results.Assignment(part), names) {
				steps = append(steps, c.describeResult(c.results.Assignment(step), a, elems[i]))
			}
		}
	}
	return steps, nil
}

// single reports whether the program must be one nest, as a program with a schedule must.
func (c *Compilation) single() bool { return c.whole || c.Request.Schedule != "" }

// nest is a step before the stages of nests.
func (c *Compilation) nest(a bind.Assignment, operands []*index.Tensor, output Output) *Nest {
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
	parts := a.Narrow(names, c.sparseLevels)
	for i, part := range parts {
		if i < len(parts)-1 || c.Storage.Of(part.LHS.Tensor).Format.Order() < len(part.LHS.Vars) {
			s := bind.Storage{Format: format.AllDense(len(part.LHS.Vars)), Index: dtype.I32}
			for _, v := range part.LHS.Vars {
				s.Extents = append(s.Extents, c.bound(part).Extent(v))
			}
			c.Storage = c.Storage.With(part.LHS.Tensor, s) // until it is described
		}
		out = append(out, autoschedule.Path(c.bound(part), names, c.Request.Target.CPU)...)
	}
	return out
}

// sparseLevels is the number of levels of t that don't store every coordinate.
func (c *Compilation) sparseLevels(t *index.Tensor) (n int) {
	f := c.Storage.Of(t).Format
	for _, l := range f.Levels {
		if !l.Props().Full {
			n++
		}
	}
	if n == 0 && !f.Dense() {
		return 1
	}
	return n
}

// describeResult is a step towards a with the type of its result, where elem is the type of the sum that it is a part of. The storage
// of the result gets the statistics that the paths of later steps need.
func (c *Compilation) describeResult(step, a *index.Assignment, elem dtype.T) *index.Assignment {
	result := step.LHS.Tensor
	if result.Name == c.Result().Tensor.Name {
		return step
	}
	s := bind.Storage{Index: dtype.I32}
	if result.Name != a.LHS.Tensor.Name {
		t := *result
		t.Elem = stepElem(step, elem) // temporaries are not rounded to halves
		c.results[result] = &t
		step = step.Into(&t)
		s.Temporary = true
	}
	volume := 1.0
	bound := c.bound(step)
	for _, v := range step.LHS.Vars {
		s.Extents = append(s.Extents, bound.Extent(v))
		volume *= float64(max(bound.Extent(v), 1))
	}
	bound = bound.With(step.LHS.Tensor, s)
	s.Format, _ = infer.Output(bound)
	if !s.Format.Dense() {
		volume *= infer.Density(bound)
	}
	s.NNZ = int64(min(volume, 1<<60))
	c.Storage = c.Storage.With(step.LHS.Tensor, s)
	return step
}

// resultFormat is the format of the result of several steps where the request leaves it open. It follows from what is
// computed, never from the formats that the temporaries happen to have.
func resultFormat(last bind.Assignment) string {
	f, pattern := infer.Output(last)
	if pattern == nil {
		f = f.Writable()
	}
	return f.String()
}

// densifySums makes those temporaries dense that are dense as results and read for dense results where zero is as good as no
// value: what no term reaches is zero there. resultFormat is the format of the last step's result.
func (c *Compilation) densifySums(steps []*index.Assignment, resultFormat string) error {
	last := steps[len(steps)-1].LHS.Tensor
	for i, step := range steps[:len(steps)-1] {
		t := step.LHS.Tensor
		s := *c.Storage.Of(t)
		if !s.Temporary || !s.Format.Dense() || step.Reduce != dtype.Add {
			continue
		}
		added := true
		for _, user := range steps[i+1:] {
			f := c.Storage.Of(user.LHS.Tensor).Format
			if user.LHS.Tensor == last {
				var err error
				if f, err = format.Parse(resultFormat); err != nil {
					return err
				}
			}
			plain := index.Added(user.RHS, t) || len(user.Reduced()) == 0 && zeroOr(user.RHS, t) != unlike
			added = added && plain && f.Dense() && user.Reduce == dtype.Add
		}
		if added {
			s.Temporary = false
			c.Storage = c.Storage.With(t, s)
		}
	}
	return nil
}

// inferFormats chooses the formats of results that the request leaves open.
func inferFormats(c *Compilation) error {
	for i, n := range c.Nests {
		if len(c.Nests) > 1 {
			c.isolate(i)
		}
		result := n.Assignment.LHS.Tensor
		if n.rowwise != nil { // whose result has a format already
			c.Storage = c.Storage.With(result, *n.Assignment.Result())
			continue
		}
		s, err := c.inferFormat(n)
		if err != nil {
			return err
		}
		n.Assignment, c.Storage = n.Assignment.With(result, s), c.Storage.With(result, s)
	}
	return nil
}

// isolate describes the operands of one of several nests as they are for a request of its own.
func (c *Compilation) isolate(i int) {
	n := c.Nests[i]
	a := c.bound(n.Assignment.Assignment)
	for _, earlier := range c.Nests[:i] {
		t := earlier.Assignment.LHS.Tensor
		if s := *a.Of(t); slices.Contains(n.Operands, t) && s.NNZ == 0 && !s.Format.Dense() {
			s.NNZ = int64(infer.Predict(earlier.Assignment).Entries)
			a = a.With(t, s)
		}
	}
	first := map[*index.Tensor]*index.Tensor{} // of those that share a pattern whose owner is no operand
	for _, t := range n.Operands {
		owner := c.Storage.Owner(t)
		if s := *a.Of(t); s.SamePattern != nil && !slices.Contains(n.Operands, owner) {
			s.SamePattern = first[owner]
			a = a.With(t, s)
			if first[owner] == nil {
				first[owner] = t
			}
		}
	}
	n.Assignment = a
}

// inferFormat is the storage of the result of a nest with its format.
func (c *Compilation) inferFormat(n *Nest) (bind.Storage, error) {
	a, out := n.Assignment, n.Output
	result := *a.Result()
	if out.Index != "" {
		t, err := indexType(out.Index)
		if err != nil {
			return result, err
		}
		result.Index = t
	}
	result.Extents, result.Counted, result.Few = nil, out.Counted, out.Few
	a = a.With(a.LHS.Tensor, result)
	for _, v := range a.LHS.Vars {
		result.Extents = append(result.Extents, a.Extent(v))
	}
	a = a.With(a.LHS.Tensor, result)
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
			result.Format, result.SamePattern = a.Of(owner).Format, a.Owner(owner)
		}
		return result, err
	case out.Format != "":
		return c.giveFormat(a, out.Format, result)
	case pattern == nil:
		result.Format, result.SamePattern = inferred.Writable(), nil
	default:
		result.Format, result.SamePattern = inferred, pattern
	}
	return result, nil
}

// giveFormat is the storage of the result of a with a format that the request names.
func (c *Compilation) giveFormat(a bind.Assignment, name string, result bind.Storage) (bind.Storage, error) {
	f, err := format.Parse(name)
	if err != nil {
		return result, err
	}
	if f.Order() != len(a.LHS.Vars) {
		return result, diag.Errorf(diag.Format, "the result %s has %d modes, but the format %q has %d", a.LHS, len(a.LHS.Vars), name, f.Order())
	}
	result.Format = f
	if pattern := infer.Pattern(a, f); pattern != nil {
		result.SamePattern = pattern
	} else if !packs(a.With(a.LHS.Tensor, result)) || c.single() {
		result.Format = f.Writable() // the caller brings the result to the format of the request
	}
	return result, nil
}

// forcedPattern is operand k of the request, whose pattern the result of a has to have.
func (c *Compilation) forcedPattern(a bind.Assignment, k int) (*index.Tensor, error) {
	for _, acc := range index.Accesses(a.RHS) {
		if k < len(c.Operands) && acc.Tensor.Name == c.Operands[k].Name && !acc.Windowed() && slices.Equal(acc.Vars, a.LHS.Vars) {
			return acc.Tensor, nil
		}
	}
	return nil, diag.Errorf(diag.Format, "the result %s can't have the pattern of operand %d: it has other indices", a.LHS, k)
}
