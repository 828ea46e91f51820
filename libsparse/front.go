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
	"libsparse/libsparse/lattice"
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
	// wide is a step with a loop over so many sets of operands that it can't be compiled, nil where there is none.
	wide *index.Assignment
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
	if before, rest := c.before(n); before != nil || rest[0] != c.Program[0] {
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
	steps = append(before, steps...)
	if n := c.byRows(steps, c.Request.Output); n != nil {
		c.Nests = []*Nest{n}
		return nil
	}
	return c.chain(steps)
}

// chain has a nest for each of several steps.
func (c *Compilation) chain(steps []*index.Assignment) error {
	steps = c.eachAtEntries(c.eachTabulated(steps))
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
			if t := c.patternOf(step); t == nil || !slices.Contains(step.Tensors(), t) {
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
		if len(program) > 1 {
			var sums []*index.Assignment
			sums, a = c.apart(a, names)
			steps = append(steps, sums...)
		}
		parts := a.StepsAmong(names, c.sparseLevels, c.Storage.Together)
		if c.single() && len(parts)+len(program) > 2 {
			return nil, diag.Errorf(diag.Unsupported, "schedule: %s takes several steps: %s; schedule each by itself", lines(program), lines(parts))
		}
		steps = append(steps, c.paths(parts, stepElems(parts, a.LHS.Tensor.Elem), a, names)...)
	}
	if c.wide != nil {
		return nil, diag.Errorf(diag.Unsupported, "%s: any of more than %d sets of operands may store an entry at a place; compute parts of it first", c.wide, mostPoints)
	}
	return steps, nil
}

// paths are the parts of a, whose results have the given types, divided further where that costs less.
func (c *Compilation) paths(parts []*index.Assignment, elems []dtype.T, a *index.Assignment, names map[string]bool) (steps []*index.Assignment) {
	for i, part := range parts {
		for _, step := range c.path(c.results.Assignment(part), names) {
			steps = append(steps, c.describeResult(c.results.Assignment(step), a, elems[i]))
		}
	}
	return steps
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

// path divides an assignment further where that costs less, unless it is a step already or must be one nest. Of several least terms each has a share of
// the gradient, so that steps that are differentiated are sums.
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
		if c.isWide(part) {
			c.wide = part
		}
		if c.wide != nil || c.Request.Output.Divided && part.Reduce != dtype.Add {
			out = append(out, part)
			continue
		}
		out = append(out, autoschedule.Path(c.bound(part), names, c.Request.Target.CPU, c.patternOf(part))...)
	}
	return out
}

// mostPoints is how many points the lattice of a loop may have: some more than of six operands that may each be missing, whose code takes a C compiler ten seconds.
const mostPoints = 128

// isWide reports whether one of the loops of an assignment, which no more steps make narrower, has more points than that.
func (c *Compilation) isWide(a *index.Assignment) bool {
	return slices.ContainsFunc(a.Vars(), func(v index.Var) bool { return lattice.IsWider(c.Storage, a.RHS, v, mostPoints) })
}

// patternOf is the operand whose pattern the result of a step is to have, nil where that is open.
func (c *Compilation) patternOf(step *index.Assignment) *index.Tensor {
	k := c.Request.Output.PatternOf
	if k == nil || *k < 0 || *k >= len(c.Operands) || step.LHS.Tensor.Name != c.Result().Tensor.Name {
		return nil
	}
	return c.Operands[*k]
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

// takesZeros reports whether zeros in t where it has no value leave the result of a step that reads it as it is, which may be dense.
func takesZeros(b *bind.Table, user *index.Assignment, t *index.Tensor, dense bool) bool {
	each := unlike // what becomes of each element where t has no value
	if len(user.Reduced()) == 0 {
		each = zeroOr(user.RHS, t)
	}
	if dense {
		return each != unlike || index.Added(user.RHS, t)
	}
	return each == alike && ignores(b, user.RHS, t)
}

// densifySums makes those temporaries dense that are dense as results and read where zero is as good as no value, for dense results, or where it
// is the same: what no term reaches is zero there. resultFormat is the format of the last step's result.
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
			added = added && user.Reduce == dtype.Add && takesZeros(c.Storage, user, t, f.Dense())
		}
		if added {
			s.Temporary = false
			c.Storage = c.Storage.With(t, s)
		}
	}
	return nil
}
