package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"libsparse/libsparse"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/tensorfile"
)

// program is an expression with its operands, as the command line describes them.
type program struct {
	*options
	request *libsparse.Request
	// accesses are those of the operands, by name.
	accesses map[string]*index.Access
	read     map[string]*tensorfile.Tensor
	// size is the extent of each index.
	size map[index.Var]int64
	// again are the names under which an operand is read once more: a request has one for each access.
	again map[string]string
}

// parse makes a program from an assignment in TACO's syntax and flags such as -f=A:ds:1,0.
func parse(expr string, flags []string, extent int64) (*program, error) {
	p := &program{
		options: newOptions(), accesses: map[string]*index.Access{}, read: map[string]*tensorfile.Tensor{}, size: map[index.Var]int64{},
		again:   map[string]string{},
		request: &libsparse.Request{Expr: expr, Target: target()},
	}
	p.extent = extent
	for _, flag := range flags {
		if err := p.set(flag); err != nil {
			return nil, err
		}
	}
	p.request.Schedule = strings.Join(p.schedule, "; ")
	p.request.Functions, p.request.Priors = p.functions, p.priors
	functions, err := p.request.Library()
	if err != nil {
		return nil, err
	}
	assignments, err := index.Grammar{Functions: functions, Lookup: p.tensor}.Parse(expr)
	if err != nil {
		return nil, err
	}
	for _, a := range assignments {
		for _, acc := range index.Accesses(a.RHS) {
			if p.operand(acc.Tensor.Name) != nil {
				p.accesses[acc.Tensor.Name] = acc
			}
		}
	}
	if len(p.again) > 0 {
		p.request.Expr = text(assignments)
	}
	if err := p.known(assignments); err != nil {
		return nil, err
	}
	for name, file := range p.files {
		if p.read[name], err = tensorfile.Read(file, tensorfile.Options{}); err != nil {
			return nil, err
		}
	}
	if err := p.sizes(assignments); err != nil {
		return nil, err
	}
	p.widen()
	for name, first := range p.again {
		if one, other := p.shape(p.accesses[first]), p.shape(p.accesses[name]); !slices.Equal(one, other) {
			return nil, diag.Errorf(diag.Shape, "%s is read with the extents %v and %v", first, one, other)
		}
	}
	p.describe()
	return p, nil
}

// text is assignments as a request has them.
func text(assignments []*index.Assignment) string {
	out := make([]string, len(assignments))
	for i, a := range assignments {
		out[i] = a.String()
	}
	return strings.Join(out, "; ")
}

// tensor notes an operand of the expression.
func (p *program) tensor(name string, order int, result bool) (*index.Tensor, error) {
	switch {
	case result:
		p.request.Output.Format = format.Spell(p.formats[name], order)
		p.request.Output.Dtype = p.types[name]
	case order == 0 && p.formats[name] == "" && len(name) == 1:
		return nil, diag.Errorf(diag.Syntax, "%s is no tensor", name) // an index variable as a value
	case p.operand(name) != nil:
		name = p.once(name)
		fallthrough
	default:
		p.request.Operands = append(p.request.Operands, libsparse.Operand{Name: name, Format: format.Spell(p.formats[name], order), Dtype: p.types[name]})
	}
	return &index.Tensor{Name: name}, nil
}

// once is a name of its own for an operand that has been read before.
func (p *program) once(name string) string {
	n := 2
	other := func() string { return fmt.Sprintf("%s_%d", name, n) }
	for p.operand(other()) != nil || strings.Contains(p.request.Expr, other()) {
		n++
	}
	again := other()
	p.again[again] = name
	copied(p.formats, again, name)
	copied(p.types, again, name)
	copied(p.files, again, name)
	copied(p.shapes, again, name)
	copied(p.fills, again, name)
	return again
}

// widen gives an operand that is read several times, and has no extents of its own, those that all its windows fit into.
func (p *program) widen() {
	longest := map[string][]int64{}
	for again, first := range p.again {
		if p.read[first] != nil || p.shapes[first] != nil {
			continue
		}
		for _, name := range []string{first, again} {
			for m, n := range p.shape(p.accesses[name]) {
				if m == len(longest[first]) {
					longest[first] = append(longest[first], 0)
				}
				longest[first][m] = max(longest[first][m], int64(n))
			}
		}
	}
	for again, first := range p.again {
		if shape := longest[first]; shape != nil {
			p.shapes[first], p.shapes[again] = shape, shape
		}
	}
}

func copied[T any](m map[string]T, to, from string) {
	if v, ok := m[from]; ok {
		m[to] = v
	}
}

func (p *program) operand(name string) *libsparse.Operand {
	for i := range p.request.Operands {
		if p.request.Operands[i].Name == name {
			return &p.request.Operands[i]
		}
	}
	return nil
}

// known refuses flags about what is not in the expression.
func (p *program) known(assignments []*index.Assignment) error {
	indices, results := map[string]bool{}, map[string]bool{}
	for _, a := range assignments {
		results[a.LHS.Tensor.Name] = true
		for _, v := range a.Vars() {
			indices[string(v)] = true
		}
	}
	for _, names := range []map[string]string{p.formats, p.types, p.files} {
		for name := range names {
			if p.accesses[name] == nil && !results[name] {
				return usageError("%s is no tensor of %s", name, p.request.Expr)
			}
		}
	}
	for name := range p.files {
		if p.accesses[name] == nil {
			return usageError("%s is the result; -o=FILE says where it goes", name)
		}
	}
	for name, shape := range p.shapes {
		acc := p.accesses[name]
		switch {
		case acc == nil && !indices[name]:
			return usageError("%s is no index and no operand of %s", name, p.request.Expr)
		case acc != nil && len(acc.Vars) != len(shape):
			return usageError("%s has %d indices, -d gives %d extents", acc, len(acc.Vars), len(shape))
		}
	}
	return nil
}

// target is this machine with the options of the environment.
func target() libsparse.Target {
	t := libsparse.Target{Path: os.Getenv("PATH"), CC: os.Getenv("LIBSPARSE_CC"), CacheDir: os.Getenv("LIBSPARSE_CACHE_DIR")}
	if folder, err := os.UserCacheDir(); t.CacheDir == "" && err == nil {
		t.CacheDir = filepath.Join(folder, "libsparse")
	}
	return t
}
