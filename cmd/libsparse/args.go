package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"libsparse/libsparse"
	"libsparse/libsparse/autoschedule"
	"libsparse/libsparse/diag"
	"libsparse/libsparse/format"
	"libsparse/libsparse/index"
	"libsparse/libsparse/tensorfile"
)

// defaultExtent is the extent of an index that nothing else gives, defaultFill how many entries a row of a sparse operand
// has. An expression that is run with random operands has a smaller default.
const (
	defaultExtent = 4096
	runExtent     = 100
	defaultFill   = 16
)

// options are what the flags say; those of tensors and indices are by name.
type options struct {
	formats, types, files map[string]string
	extents               map[string]int64
	shapes                map[string][]int64
	fills                 map[string]float64
	schedule              []string
	stage, output         string
	repeat, threads       int
	check                 bool
	extent                int64 // of an index that nothing else gives
}

const allowed = "-f=TENSOR:FORMAT[:MODES] -t=TENSOR:DTYPE -d=INDEX:EXTENT -d=TENSOR:AxB -s=SCHEDULE -stage=NAME " +
	"-i=TENSOR:FILE -o=FILE -fill=TENSOR:DENSITY -time=N -threads=N -check"

func newOptions() *options {
	return &options{
		formats: map[string]string{}, types: map[string]string{}, files: map[string]string{}, extents: map[string]int64{},
		shapes: map[string][]int64{}, fills: map[string]float64{}, threads: 1, extent: defaultExtent,
	}
}

// set reads one flag.
func (o *options) set(flag string) error {
	name, value, ok := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	if !strings.HasPrefix(flag, "-") || !ok && name != "check" {
		return usageError("%q is no option; the options are %s", flag, allowed)
	}
	switch name {
	case "s":
		o.schedule = append(o.schedule, value)
		return nil
	case "stage":
		o.stage = value
		return nil
	case "o":
		o.output = value
		return nil
	case "check":
		o.check = true
		return nil
	case "time":
		return count(flag, value, &o.repeat)
	case "threads":
		return count(flag, value, &o.threads)
	default:
		return o.setNamed(flag, name, value)
	}
}

// count reads a positive number.
func count(flag, value string, into *int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 1<<20 {
		return usageError("%q: %q is no number of times", flag, value)
	}
	*into = n
	return nil
}

// setNamed reads a flag about one tensor or index.
func (o *options) setNamed(flag, name, value string) error {
	key, rest, pair := strings.Cut(value, ":")
	if !pair || key == "" {
		return usageError("%q is no option; the options are %s", flag, allowed)
	}
	switch name {
	case "f":
		o.formats[key] = rest
	case "t":
		o.types[key] = rest
	case "i":
		o.files[key] = rest
	case "d":
		return o.setExtents(flag, key, rest)
	case "fill":
		x, err := strconv.ParseFloat(rest, 64)
		if err != nil || x < 0 || x > 1 {
			return usageError("%q: %q is no density from 0 to 1", flag, rest)
		}
		o.fills[key] = x
	default:
		return usageError("%q is no option; the options are %s", flag, allowed)
	}
	return nil
}

// setExtents reads the extent of an index, or those of a tensor.
func (o *options) setExtents(flag, key, text string) error {
	var shape []int64
	for _, part := range strings.Split(text, "x") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 {
			return usageError("%q: %q is no extent", flag, text)
		}
		shape = append(shape, n)
	}
	o.shapes[key] = shape
	if len(shape) == 1 {
		o.extents[key] = shape[0]
	}
	return nil
}

// program is an expression with its operands, as the command line describes them.
type program struct {
	*options
	request *libsparse.Request
	// accesses are those of the operands, by name.
	accesses map[string]*index.Access
	read     map[string]*tensorfile.Tensor
	// size is the extent of each index.
	size map[index.Var]int64
}

// parse makes a program from an assignment in TACO's syntax and flags such as -f=A:ds:1,0.
func parse(expr string, flags []string, extent int64) (*program, error) {
	p := &program{
		options: newOptions(), accesses: map[string]*index.Access{}, read: map[string]*tensorfile.Tensor{}, size: map[index.Var]int64{},
		request: &libsparse.Request{Expr: expr, Target: target()},
	}
	p.extent = extent
	for _, flag := range flags {
		if err := p.set(flag); err != nil {
			return nil, err
		}
	}
	p.request.Schedule = strings.Join(p.schedule, "; ")
	a, err := index.ParseAssignment(expr, p.tensor)
	if err != nil {
		return nil, err
	}
	for _, acc := range index.Accesses(a.RHS) {
		p.accesses[acc.Tensor.Name] = acc
	}
	if err := p.known(a); err != nil {
		return nil, err
	}
	for name, file := range p.files {
		if p.read[name], err = tensorfile.Read(file); err != nil {
			return nil, err
		}
	}
	if err := p.sizes(a); err != nil {
		return nil, err
	}
	p.describe()
	return p, nil
}

// tensor notes an operand of the expression.
func (p *program) tensor(name string, order int, result bool) (*index.Tensor, error) {
	switch {
	case result:
		p.request.Output.Format = p.formats[name]
		p.request.Output.Dtype = p.types[name]
	case order == 0 && p.formats[name] == "" && len(name) == 1:
		return nil, diag.Errorf(diag.Syntax, "%s is no tensor", name) // an index variable as a value
	default:
		p.request.Operands = append(p.request.Operands, libsparse.Operand{Name: name, Format: p.formats[name], Dtype: p.types[name]})
	}
	return &index.Tensor{Name: name, Format: format.AllDense(order)}, nil
}

// known refuses flags about what is not in the expression.
func (p *program) known(a *index.Assignment) error {
	indices := map[string]bool{}
	for _, v := range a.Vars() {
		indices[string(v)] = true
	}
	for _, names := range []map[string]string{p.formats, p.types, p.files} {
		for name := range names {
			if p.accesses[name] == nil && name != a.LHS.Tensor.Name {
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

// sizes gives every index its extent: from files, from -d, or the default.
func (p *program) sizes(a *index.Assignment) error {
	owner := map[index.Var]string{}
	put := func(v index.Var, n int64, from string) error {
		if old, ok := p.size[v]; ok && old != n {
			return diag.Errorf(diag.Shape, "index %s has extent %d in %s and %d in %s", v, old, owner[v], n, from)
		}
		p.size[v], owner[v] = n, from
		return nil
	}
	for name, acc := range p.accesses {
		shape := p.shapes[name]
		if file := p.read[name]; file != nil {
			if len(file.Shape) != len(acc.Vars) {
				return diag.Errorf(diag.Shape, "%s has %d indices and %s %d modes", acc, len(acc.Vars), p.files[name], len(file.Shape))
			}
			if shape == nil {
				for _, n := range file.Shape {
					shape = append(shape, int64(n))
				}
			}
			for m, n := range shape {
				if n < int64(file.Shape[m]) {
					return diag.Errorf(diag.Shape, "%s: mode %d of %s has %d coordinates, -d allows %d", acc, m+1, p.files[name], file.Shape[m], n)
				}
			}
		}
		for m, n := range shape {
			if err := put(acc.Vars[m], n, name); err != nil {
				return err
			}
		}
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
	return nil
}

// describe completes the operands of the request.
func (p *program) describe() {
	for i := range p.request.Operands {
		op := &p.request.Operands[i]
		vars := p.accesses[op.Name].Vars
		if op.Format == "" {
			op.Format = strings.Repeat("d", len(vars))
		}
		if op.Dtype == "" {
			op.Dtype = "f32"
		}
		for _, v := range vars {
			op.Shape = append(op.Shape, autoschedule.SizeClass(p.size[v]))
		}
		op.NNZ = p.entries(op.Name)
	}
}

// entries is how many entries an operand has or will have.
func (p *program) entries(name string) int64 {
	if file := p.read[name]; file != nil {
		return int64(len(file.Entries))
	}
	volume, n := 1.0, int64(defaultFill)
	for m, v := range p.accesses[name].Vars {
		volume *= float64(p.size[v])
		if m == 0 {
			n *= p.size[v]
		}
	}
	if fill, ok := p.fills[name]; ok {
		return int64(min(fill*volume, 1<<62))
	}
	return int64(min(float64(n), volume))
}
