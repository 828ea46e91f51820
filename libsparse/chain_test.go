package libsparse

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"libsparse/libsparse/bind"
	"libsparse/libsparse/dtype"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
)

// agreeSteps runs the steps of a request as callers do, each as a request made of its text, and compares the meanings of
// each, and the last result with that of the assignments without paths. It returns what is left to compare, the C of the steps.
func (p *program) agreeSteps(t testing.TB, r *Request, z sizes, rng *rand.Rand) (checks []compiledCheck) {
	t.Helper()
	known := map[string]*index.Dense{}
	formats := map[string]Operand{}
	for i, o := range r.Operands {
		known[o.Name], formats[o.Name] = p.data[p.unit.Operands[i]], o
		formats[o.Name] = Operand{Name: o.Name, Format: o.Format, Dtype: o.Dtype, PatternOnly: o.PatternOnly, Shape: o.Shape, NNZ: o.NNZ}
	}
	var last *index.Dense
	for i, n := range p.unit.Nests {
		step := n.Assignment
		q := &Request{Expr: step.String(), Functions: r.Functions}
		for _, operand := range step.Tensors() {
			q.Operands = append(q.Operands, formats[operand.Name])
		}
		if i == len(p.unit.Nests)-1 {
			q.Output = r.Output
			q.Output.Format = cmp.Or(q.Output.Format, n.Output.Format)
		}
		q.Output.Temporary, q.Output.Step = step.Result().Temporary, true
		q.Output.Dtype = string(step.LHS.Tensor.Elem)
		one := newProgram(t, q, z, 1, rng, known)
		if len(one.unit.Nests) > 1 {
			t.Fatalf("%s: step %s takes several steps", describe(r), step)
		}
		checks = append(checks, one.agree(t, q))
		a := one.nest.Assignment
		last = filled(a.Assignment, a.Evaluate(z.vars, one.shape, one.data))
		elem, f := a.LHS.Tensor.Elem, a.Result().Format
		for at, v := range last.Vals {
			last.Vals[at] = dtype.Convert(v, elem.Wide(), elem)
		}
		if f.Dense() {
			setStored(last)
		}
		name := a.LHS.Tensor.Name
		known[name] = last
		formats[name] = Operand{Name: name, Format: f.String(), Dtype: string(a.LHS.Tensor.Elem), Shape: classes(a, r.Spec != ""), NNZ: 10}
	}
	elem := p.unit.Result().Tensor.Elem
	if len(p.unit.Program) > 1 && elem.IsHalf() {
		return checks // results in between are rounded, which the last one may magnify
	}
	if diff := different(elem, elem, last, p.meaning(z, formats)); diff != "" {
		t.Fatalf("%s: steps: %s\n%s", describe(r), diff, printSteps(p.unit))
	}
	return checks
}

func setStored(d *index.Dense) {
	for at := range d.Stored {
		d.Stored[at] = true
	}
}

// classes are those of the extents of a result. Windows have extents of their own.
func classes(a bind.Assignment, known bool) (out []int64) {
	for _, v := range a.LHS.Vars {
		n := a.Extent(v)
		if !known {
			n = index.SizeClass(n)
		}
		out = append(out, n)
	}
	return out
}

// meaning evaluates the program without contraction paths.
func (p *program) meaning(z sizes, formats map[string]Operand) *index.Dense {
	data := map[*index.Tensor]*index.Dense{}
	for t, d := range p.data {
		data[t] = d
	}
	var last *index.Dense
	names := index.Names(p.unit.Program)
	for _, a := range p.unit.Program {
		parts := a.Steps(names)
		elems := stepElems(parts, a.LHS.Tensor.Elem)
		for i, part := range parts {
			if part.LHS.Tensor != a.LHS.Tensor {
				part.LHS.Tensor.Elem = elems[i]
			}
			last = filled(part, part.Evaluate(z.vars, z.shape(part.LHS), data))
			data[part.LHS.Tensor] = last
			if f := format.MustParse(formats[a.LHS.Tensor.Name].Format); f.Dense() && part.LHS.Tensor == a.LHS.Tensor || len(part.LHS.Vars) == 0 {
				setStored(last)
			}
		}
	}
	return last
}
