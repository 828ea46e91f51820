package command

import (
	"strings"

	"libsparse/libsparse/diag"
	"libsparse/libsparse/index"
)

// given is the shape of an operand by -d, which has to hold what is in its file, or by the file; nil if neither gives one.
func (p *program) given(name string, acc *index.Access) ([]int64, error) {
	shape, file := p.shapes[name], p.read[name]
	if file == nil {
		return shape, nil
	}
	if len(file.Shape) != len(acc.Vars) {
		return nil, diag.Errorf(diag.Shape, "%s has %d indices and %s %d modes", acc, len(acc.Vars), p.files[name], len(file.Shape))
	}
	if shape == nil {
		for _, n := range file.Shape {
			shape = append(shape, int64(n))
		}
	}
	for m, n := range shape {
		if n < int64(file.Shape[m]) {
			return nil, diag.Errorf(diag.Shape, "%s: mode %d of %s has %d coordinates, -d allows %d", acc, m+1, p.files[name], file.Shape[m], n)
		}
	}
	return shape, nil
}

// sizes gives every index its extent: from files, from -d, or the default.
func (p *program) sizes(assignments []*index.Assignment) error {
	owner := map[index.Var]string{}
	put := func(v index.Var, n int64, from string) error {
		if old, ok := p.size[v]; ok && old != n {
			return diag.Errorf(diag.Shape, "index %s has extent %d in %s and %d in %s", v, old, owner[v], n, from)
		}
		p.size[v], owner[v] = n, from
		return nil
	}
	for name, acc := range p.accesses {
		shape, err := p.given(name, acc)
		if err != nil {
			return err
		}
		for m, n := range shape {
			if acc.Window(m) != nil {
				continue
			}
			if err := put(acc.Vars[m], n, name); err != nil {
				return err
			}
		}
	}
	for _, a := range assignments {
		if err := p.windows(a, put); err != nil {
			return err
		}
		for _, v := range a.Vars() {
			if n, ok := p.extents[string(v)]; ok {
				if err := put(v, n, "-d"); err != nil {
					return err
				}
			}
			if _, ok := p.size[v]; !ok {
				p.size[v] = p.extent
			}
		}
	}
	return nil
}

// windows gives the indices of windows their extents.
func (p *program) windows(a *index.Assignment, put func(v index.Var, n int64, from string) error) error {
	for _, acc := range append(index.Accesses(a.RHS), a.LHS) {
		for m, v := range acc.Vars {
			if w := acc.Window(m); w != nil {
				if err := put(v, w.Extent(), acc.String()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// shape is that of the tensor of an access. A mode that is accessed through a window may be larger than its index.
func (p *program) shape(acc *index.Access) []int {
	out := make([]int, len(acc.Vars))
	for m, v := range acc.Vars {
		w := acc.Window(m)
		switch file := p.read[acc.Tensor.Name]; {
		case w == nil:
			out[m] = int(p.size[v])
		case p.shapes[acc.Tensor.Name] != nil:
			out[m] = int(max(p.shapes[acc.Tensor.Name][m], w.Hi))
		case file != nil:
			out[m] = int(max(int64(file.Shape[m]), w.Hi))
		default:
			out[m] = int(w.Hi)
		}
	}
	return out
}

// describe completes the operands of the request.
func (p *program) describe() {
	for i := range p.request.Operands {
		op := &p.request.Operands[i]
		shape := p.shape(p.accesses[op.Name])
		if op.Format == "" {
			op.Format = strings.Repeat("d", len(shape))
		}
		if op.Dtype == "" {
			op.Dtype = "f32"
		}
		for _, n := range shape {
			op.Shape = append(op.Shape, index.SizeClass(int64(n)))
		}
		op.NNZ = p.entries(op.Name)
	}
}

// entries is how many entries an operand has or will have.
func (p *program) entries(name string) int64 {
	if file := p.read[name]; file != nil {
		return int64(file.Len())
	}
	volume, n := 1.0, int64(defaultFill)
	for m, extent := range p.shape(p.accesses[name]) {
		volume *= float64(extent)
		if m == 0 {
			n *= int64(extent)
		}
	}
	if fill, ok := p.fills[name]; ok {
		return int64(min(fill*volume, 1<<62))
	}
	return int64(min(float64(n), volume))
}
