// Package frontier compares the asymptotic frontier of a request with what the online scheduler chooses for it.
//
// It must not take part in compilation: the command line and tests ask it.
package frontier

import (
	"libsparse/libsparse"
	"libsparse/libsparse/asymptotic"
	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/bind"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/infer"
)

// Frontier is the asymptotic frontier of one assignment, and where the online scheduler's choice stands.
type Frontier struct {
	*asymptotic.Frontier
	Online *asymptotic.Standing
}

// Of explores the loop nests of r. A request whose terms are summed over different indices has several frontiers.
func Of(r *libsparse.Request, o asymptotic.Options) ([]*Frontier, error) {
	steps, err := explored(r)
	if err != nil {
		return nil, err
	}
	var out []*Frontier
	for _, a := range steps {
		f, err := asymptotic.Explore(a, o)
		if err != nil {
			return nil, err
		}
		nests, err := online(a, r.Target.CPU)
		if err != nil {
			return nil, err
		}
		standing, err := f.Compare(nests)
		if err != nil {
			return nil, err
		}
		out = append(out, &Frontier{f, standing})
	}
	return out, nil
}

// explored is the assignments of r whose terms are summed over the same indices, with the formats of their results.
func explored(r *libsparse.Request) ([]bind.Assignment, error) {
	c, err := libsparse.Parse(r)
	if err != nil {
		return nil, err
	}
	result := c.Result()
	if r.Output.Format != "" { // else it is inferred
		f, err := format.Parse(r.Output.Format)
		if err != nil {
			return nil, err
		}
		if f.Order() != len(result.Vars) {
			return nil, diag.Errorf(diag.Format, "the result %s has %d modes, but the format %q has %d",
				result, len(result.Vars), r.Output.Format, f.Order())
		}
		s := *c.Storage.Of(result.Tensor)
		s.Format = f
		c.Storage = c.Storage.With(result.Tensor, s)
	}
	var steps []*index.Assignment
	for _, a := range c.Program {
		steps = append(steps, a.Steps(index.Names(c.Program))...)
	}
	out := make([]bind.Assignment, len(steps))
	for i, step := range steps {
		a := bind.Assignment{Assignment: step, Table: c.Storage}
		if i < len(steps)-1 || r.Output.Format == "" {
			a = described(a)
		}
		out[i], c.Storage = a, a.Table
	}
	return out, nil
}

// described is a with the format that its result would have.
func described(a bind.Assignment) bind.Assignment {
	s := bind.Storage{Index: dtype.I32}
	for _, v := range a.LHS.Vars {
		s.Extents = append(s.Extents, a.Extent(v))
	}
	s.Format, s.SamePattern = infer.Output(a)
	return a.With(a.LHS.Tensor, s)
}

// online is the loop nests that the online scheduler would run for a.
func online(a bind.Assignment, cpu string) ([]asymptotic.Nest, error) {
	var out []asymptotic.Nest
	steps := autoschedule.Path(a, index.Names([]*index.Assignment{a.Assignment}), cpu, nil)
	known := a.Table
	for i, notation := range steps {
		step := bind.Assignment{Assignment: notation, Table: known}
		if i < len(steps)-1 {
			step = described(step)
			volume := 1.0
			s := *step.Result()
			for _, n := range s.Extents {
				volume *= float64(max(n, 1))
			}
			s.NNZ = int64(min(volume*infer.Density(step), 1<<60))
			step = step.With(step.LHS.Tensor, s)
			known = step.Table
		}
		d, err := autoschedule.Decide(step, cpu)
		if err != nil {
			return nil, err
		}
		nest := asymptotic.Nest{Assignment: step, Order: d.Order, Converted: map[*index.Tensor]format.Format{}}
		for _, c := range d.Conversions {
			nest.Converted[c.Tensor] = c.To
		}
		out = append(out, nest)
	}
	return out, nil
}
