package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"libsparse/libsparse"
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
	functions             []libsparse.Function
	stage, output         string
	repeat, threads       int
	check, priors         bool
	extent                int64 // of an index that nothing else gives
}

const allowed = "-f=TENSOR:FORMAT[:MODES] -t=TENSOR:DTYPE -d=INDEX:EXTENT -d=TENSOR:AxB -s=SCHEDULE -stage=NAME " +
	"-i=TENSOR:FILE -o=FILE -fill=TENSOR:DENSITY -time=N -threads=N -check -priors " +
	"-u=FUNCTION:BODY[@REGION]"

func newOptions() *options {
	return &options{
		formats: map[string]string{}, types: map[string]string{}, files: map[string]string{}, extents: map[string]int64{},
		shapes: map[string][]int64{}, fills: map[string]float64{}, threads: 1, extent: defaultExtent,
	}
}

// set reads one flag.
func (o *options) set(flag string) error {
	name, value, ok := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	if !strings.HasPrefix(flag, "-") || !ok && name != "check" && name != "priors" {
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
	case "priors":
		o.priors = true
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
	case "u":
		return o.function(key, rest)
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

// function reads the definition of a function: f(a,b) and a * b, perhaps with @ and a region.
func (o *options) function(head, text string) error {
	name, params, ok := strings.Cut(strings.TrimSuffix(head, ")"), "(")
	if !ok {
		return usageError("-u=%s:%s: expected a function such as -u=f(a,b):a*b@a&~b", head, text)
	}
	body, region, _ := strings.Cut(text, "@")
	f := libsparse.Function{Name: name, Cases: []index.CaseText{{Body: body, Region: region}}}
	for p := range strings.SplitSeq(params, ",") {
		f.Params = append(f.Params, strings.TrimSpace(p))
	}
	o.functions = append(o.functions, f)
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
	if err := p.known(assignments); err != nil {
		return nil, err
	}
	for name, file := range p.files {
		if p.read[name], err = tensorfile.Read(file); err != nil {
			return nil, err
		}
	}
	if err := p.sizes(assignments); err != nil {
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
	case p.operand(name) != nil:
	default:
		p.request.Operands = append(p.request.Operands, libsparse.Operand{Name: name, Format: p.formats[name], Dtype: p.types[name]})
	}
	return &index.Tensor{Name: name, Format: format.AllDense(order)}, nil
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
		return int64(len(file.Entries))
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
