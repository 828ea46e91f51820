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
)

// defaultExtent is the extent of an index that no -d names, defaultFill how many entries a row of a sparse operand has.
const (
	defaultExtent = 4096
	defaultFill   = 16
)

// options are what the flags say of an expression's tensors, by name.
type options struct {
	formats, types map[string]string
	extents        map[string]int64
	functions      []libsparse.Function
}

// requestFromArgs makes a request from an assignment in TACO's syntax and flags such as -f=A:ds:1,0.
func requestFromArgs(expr string, flags []string) (*libsparse.Request, error) {
	o := &options{formats: map[string]string{}, types: map[string]string{}, extents: map[string]int64{}}
	for _, flag := range flags {
		if err := o.set(flag); err != nil {
			return nil, err
		}
	}
	r := &libsparse.Request{Expr: expr, Functions: o.functions}
	functions, err := r.Library()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	program, err := index.Grammar{Functions: functions, Lookup: func(name string, order int, result bool) (*index.Tensor, error) {
		if result {
			r.Output.Format = o.formats[name]
			r.Output.Dtype = o.types[name]
		} else if order > 0 || o.formats[name] != "" || len(name) > 1 {
			if !seen[name] {
				seen[name] = true
				r.Operands = append(r.Operands, o.operand(name, order))
			}
		} else {
			return nil, diag.Errorf(diag.Syntax, "%s is no tensor", name) // an index variable as a value
		}
		return &index.Tensor{Name: name, Format: format.AllDense(order)}, nil
	}}.Parse(expr)
	if err != nil {
		return nil, err
	}
	for _, a := range program {
		o.shape(r, a)
	}
	folder, err := os.UserCacheDir()
	r.Target = libsparse.Target{Path: os.Getenv("PATH"), CC: os.Getenv("LIBSPARSE_CC"), CacheDir: filepath.Join(folder, "libsparse")}
	if dir := os.Getenv("LIBSPARSE_CACHE_DIR"); dir != "" || err != nil {
		r.Target.CacheDir = dir
	}
	return r, nil
}

// set reads one flag.
func (o *options) set(flag string) error {
	name, value, ok := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	key, rest, pair := strings.Cut(value, ":")
	if !ok || !pair || !strings.HasPrefix(flag, "-") {
		return diag.Errorf(diag.Syntax, "%q is no option; the options are -f=TENSOR:FORMAT[:MODES] -t=TENSOR:DTYPE -d=INDEX:EXTENT", flag)
	}
	switch name {
	case "f":
		o.formats[key] = rest
	case "t":
		o.types[key] = rest
	case "d":
		n, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || n < 0 {
			return diag.Errorf(diag.Syntax, "%q: %q is no extent", flag, rest)
		}
		o.extents[key] = n
	case "u":
		return o.function(key, rest)
	default:
		return diag.Errorf(diag.Syntax, "%q is no option; the options are -f -t -d -u", flag)
	}
	return nil
}

// function reads the definition of a function: f(a,b) and a * b, perhaps with @ and a region.
func (o *options) function(head, text string) error {
	name, params, ok := strings.Cut(strings.TrimSuffix(head, ")"), "(")
	if !ok {
		return diag.Errorf(diag.Syntax, "-u=%s:%s: expected a function such as -u=f(a,b):a*b@a&~b", head, text)
	}
	body, region, _ := strings.Cut(text, "@")
	f := libsparse.Function{Name: name, Cases: []index.CaseText{{Body: body, Region: region}}}
	for _, p := range strings.Split(params, ",") {
		f.Params = append(f.Params, strings.TrimSpace(p))
	}
	o.functions = append(o.functions, f)
	return nil
}

func (o *options) operand(name string, order int) libsparse.Operand {
	op := libsparse.Operand{Name: name, Format: o.formats[name], Dtype: o.types[name]}
	if op.Format == "" {
		op.Format = strings.Repeat("d", order)
	}
	if op.Dtype == "" {
		op.Dtype = "f32"
	}
	return op
}

// shape gives the operands of an assignment representative extents.
func (o *options) shape(r *libsparse.Request, a *index.Assignment) {
	for _, acc := range index.Accesses(a.RHS) {
		for i := range r.Operands {
			if r.Operands[i].Name == acc.Tensor.Name {
				o.fill(&r.Operands[i], acc)
			}
		}
	}
}

func (o *options) fill(op *libsparse.Operand, acc *index.Access) {
	op.Shape, op.NNZ = nil, defaultFill
	for m, v := range acc.Vars {
		n, ok := o.extents[string(v)]
		if !ok {
			n = defaultExtent
		}
		if w := acc.Window(m); w != nil {
			n = max(n, w.Hi)
		}
		op.Shape = append(op.Shape, autoschedule.SizeClass(n))
		if m == 0 {
			op.NNZ *= n
		}
	}
}
